"""Metrics of each kind of task, as functions of arrays; metrics defined by benchmarks are in `benchmark`.

`sums` of each file returns its metrics by name, as functions of sums over documents; a task's `main_metric`
uses the same names. Metrics are fractions in [0, 1], correlations are in [-1, 1]; with a denominator of 0 a
metric is 0 (scikit-learn's `zero_division=0`).
"""
