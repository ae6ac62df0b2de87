"""Executors: which processes train units, and how many at once."""
