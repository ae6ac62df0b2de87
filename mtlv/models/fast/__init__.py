"""Faster computation of the same vectors and gradients, up to rounding and random numbers."""
