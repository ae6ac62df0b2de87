"""Finished and unfinished units by content key, in a local folder; copies of them elsewhere."""
