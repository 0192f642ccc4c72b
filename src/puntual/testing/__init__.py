"""What users and the makers of stores test with; nothing here is imported by the product itself."""
