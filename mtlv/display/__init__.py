"""Output on a terminal or in a log file: progress and tables."""
