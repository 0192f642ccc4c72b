"""Hints that there is something to do. They may be lost: polling finds the same, later."""
