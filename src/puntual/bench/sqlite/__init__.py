"""Benchmarks on SQLite: files in a folder of their own."""
