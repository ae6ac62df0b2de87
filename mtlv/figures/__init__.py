"""Figures drawn by Matplotlib, and the geometry that they share with the page."""
