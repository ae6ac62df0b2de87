"""Evaluation of saved scores: thresholds fitted on validation, then metrics of the plan and of each task."""
