"""Benchmarks on PostgreSQL: databases of their own on the server that ``DATABASE_URL`` names."""
