"""Texts of any size: sequences whose values are read when they are needed."""
