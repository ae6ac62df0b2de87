"""Figures of each kind of task, as functions of arrays; benchmarks' own figures in `benchmark`.

Each file has a function per metric, under the metric's name, and `figures`: all of them, by that name, which
is also what a task's `main_metric` says. All are fractions in [0, 1], correlations in [-1, 1]; where a
denominator is 0, so is the figure (scikit-learn's `zero_division=0`).
"""
