"""Comparison of runs: tables, figures and the page."""
