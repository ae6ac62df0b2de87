"""Pairs of comparable runs, and short names of runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from mtlv.evaluation.compared_runs import ComparedFold, ComparedRun, Comparison

PART = " · "  # between the parts of a run's name


def tasks_of(run: ComparedRun) -> frozenset[str]:
    """Return the names of the tasks on which the run was tested."""
    return frozenset(name for child in run.children for name in child.tasks)


def comparable(run: ComparedRun, other: ComparedRun) -> bool:
    """Whether the two runs have the same documents, targets, splits and tasks."""
    return run.data_digest == other.data_digest and tasks_of(run) == tasks_of(other)


def alike(run: ComparedRun, other: ComparedRun, but: Sequence[str]) -> bool:
    """Whether two comparable runs have the same settings, except those of `but`.

    Args:
        run, other: the runs.
        but: keys, and sections that end with a dot, in which they may differ.
    """
    sections = tuple(key for key in but if key.endswith("."))

    def kept(one: ComparedRun) -> dict[str, str]:
        return {k: value for k, value in one.params.items() if k not in but and not k.startswith(sections)}

    return comparable(run, other) and kept(run) == kept(other)


def different_tasks(comparison: Comparison) -> bool:
    """Whether the runs were tested on different tasks, so that means over tasks are not comparable."""
    return len({tasks_of(run) for run in comparison.runs if run.children}) > 1


def siblings(run: ComparedRun, other: ComparedRun) -> list[tuple[ComparedFold, ComparedFold]]:
    """Return the children of both runs with the same fold and seed, in the order of `run`."""
    others = {child.pair: child for child in other.children}
    return [(child, others[child.pair]) for child in run.children if child.pair in others]


def pairs_of(comparison: Comparison) -> list[tuple[ComparedRun, ComparedRun]]:
    """Return (run, other) for all comparable runs shown at first, and for every run with the baseline.

    With many runs, all pairs would be too many to compute and to correct for. The baseline is always `other`;
    otherwise `other` is the earlier run.
    """
    base = comparison.run(comparison.baseline)
    shown = [run for run in comparison.runs if run.key in comparison.shown and run is not base]
    rest = [run for run in comparison.runs if run.key not in comparison.shown]
    pairs = [(run, base) for run in shown] + [(b, a) for a, b in combinations(shown, 2)]
    pairs += [(run, base) for run in rest]
    return [(run, other) for run, other in pairs if comparable(run, other) and siblings(run, other)]


def short_names(runs: Sequence[ComparedRun]) -> dict[str, str]:
    """Return names by run key without the parts shared by all runs, such as the encoder; whole for one run.

    A name that would become empty or ambiguous stays whole.
    """
    parts = {run.key: run.name.split(PART) for run in runs}
    common = set.intersection(*map(set, parts.values())) if len(runs) > 1 else set()
    short = {key: PART.join(part for part in words if part not in common) for key, words in parts.items()}
    taken = list(short.values())
    return {
        run.key: short[run.key] if short[run.key] and taken.count(short[run.key]) == 1 else run.name
        for run in runs
    }
