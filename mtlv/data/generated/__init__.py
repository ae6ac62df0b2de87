"""Corpora that are generated: for the quickstart, examples and tests."""
