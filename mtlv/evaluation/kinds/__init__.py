"""Metrics of each kind of task, as functions of arrays; metrics defined by benchmarks are in `benchmark`.

Each file has one function per metric, named like the metric, and `figures`, which returns all of them by
name; a task's `main_metric` uses the same names. Metrics are fractions in [0, 1], correlations are in [-1,
1]; with a denominator of 0 a metric is 0 (scikit-learn's `zero_division=0`).
"""
