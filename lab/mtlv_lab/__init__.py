"""Learned grouping for mtlv: features of tasks, predictions of groups, a section of the page."""
