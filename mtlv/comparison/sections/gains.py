"""Gains of the recommended run over the other ways to learn the tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mtlv.comparison.verdicts import signed
from mtlv.evaluation.comparison import ComparedRun
from mtlv.evaluation.pairs import tasks_of

ALL, EACH, GROUPS = "one model for all tasks", "one model per task", "groups"
Interval = tuple[float, float]


def way_of(run: ComparedRun) -> str:
    """Return how a run learns its tasks: together, apart or in groups."""
    if len(run.plan) == 1 and not run.groups:
        return ALL
    return EACH if len(run.plan) == len(tasks_of(run)) else GROUPS


def gains(
    chosen: tuple[ComparedRun, float],
    others: Sequence[tuple[ComparedRun, float]],
    interval: Callable[[ComparedRun], Interval | None],
) -> str:
    """Return a sentence on the gain over the best run of each other way; empty without any.

    Args:
        chosen: the recommended run and its score.
        others: runs with their scores, highest first, without random groups and runs already spoken of.
        interval: ends of the interval of the chosen run's score minus that of a run, if known.
    """
    best: dict[str, tuple[ComparedRun, float]] = {}
    for run, score in others:
        best.setdefault(way_of(run), (run, score))
    parts = [
        f"over {way} (“{run.name}”) {signed(chosen[1] - score)}{_between(interval(run))}"
        for way in (ALL, EACH, GROUPS)
        if way in best and way != way_of(chosen[0])
        for run, score in [best[way]]
    ]
    return f" Its gain {', '.join(parts)}." if parts else ""


def _between(interval: Interval | None) -> str:
    return f" ({signed(interval[0])} to {signed(interval[1])})" if interval else ""
