"""Results that a run writes to its tracker: metrics, tables, figures, descriptions."""
