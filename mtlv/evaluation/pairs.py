"""Which runs may be laid beside each other pair by pair, and how to call them shortly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from mtlv.evaluation.comparison import ComparedFold, ComparedRun, Comparison

PART = " · "  # between the parts of a run's name


def tasks_of(run: ComparedRun) -> frozenset[str]:
    """Names of the tasks that the run was tested on."""
    return frozenset(name for child in run.children for name in child.tasks)


def comparable(run: ComparedRun, other: ComparedRun) -> bool:
    """Whether the two had the same documents, targets, splits and tasks."""
    return run.data_digest == other.data_digest and tasks_of(run) == tasks_of(other)


def different_tasks(comparison: Comparison) -> bool:
    """Whether not all runs were tested on the same tasks, so that means over tasks differ in kind."""
    return len({tasks_of(run) for run in comparison.runs if run.children}) > 1


def siblings(run: ComparedRun, other: ComparedRun) -> list[tuple[ComparedFold, ComparedFold]]:
    """The children of both with the same fold and seed, in the order of `run`."""
    others = {child.pair: child for child in other.children}
    return [(child, others[child.pair]) for child in run.children if child.pair in others]


def pairs_of(comparison: Comparison) -> list[tuple[ComparedRun, ComparedRun]]:
    """(run, other) of all comparable runs that are shown at first, and of every run with the baseline.

    With many runs all pairs would be too many to compute and to correct for. The baseline is always `other`;
    else it is the run that comes first.
    """
    base = comparison.run(comparison.baseline)
    shown = [run for run in comparison.runs if run.key in comparison.shown and run is not base]
    rest = [run for run in comparison.runs if run.key not in comparison.shown]
    pairs = [(run, base) for run in shown] + [(b, a) for a, b in combinations(shown, 2)]
    pairs += [(run, base) for run in rest]
    return [(run, other) for run, other in pairs if comparable(run, other) and siblings(run, other)]


def short_names(runs: Sequence[ComparedRun]) -> dict[str, str]:
    """Names by run key without the parts that all runs share, such as the encoder; the whole name if alone.

    A name that would be empty or stand for two runs stays whole.
    """
    parts = {run.key: run.name.split(PART) for run in runs}
    common = set.intersection(*map(set, parts.values())) if len(runs) > 1 else set()
    short = {key: PART.join(part for part in own if part not in common) for key, own in parts.items()}
    taken = list(short.values())
    return {
        run.key: short[run.key] if short[run.key] and taken.count(short[run.key]) == 1 else run.name
        for run in runs
    }
