"""Runs read back from a store, for a comparison."""
