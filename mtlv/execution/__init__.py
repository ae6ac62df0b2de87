"""Executors: the processes that train units, and how many run at once."""
