"""Finished and unfinished units by content key, in a folder; `remote` has those at an address."""
