"""Figures drawn with Matplotlib, and layouts shared with the comparison page."""
