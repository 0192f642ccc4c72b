"""Between rows and values, for every store: what the tables hold, and what to do if it cannot be read."""
