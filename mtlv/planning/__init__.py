"""Conversion of settings and data to plans, and of plans to jobs; a config is checked before it is run."""
