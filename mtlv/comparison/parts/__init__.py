"""Helpers for sections: rows of runs, their curves and panels, caveats, size limits."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from mtlv.evaluation.compared_runs import ComparedRun, Comparison, Curve, mean_and_sd
from mtlv.formatting import list_first

ROWS = 30_000  # maximum of a figure; it leaves out further runs, to keep the page small
NAMED = 3  # maximum of runs that a caveat names; more are counted
STEPS = 50  # maximum points of a curve in small multiples


def of_run(run: ComparedRun) -> dict[str, Any]:
    """Return the fields that connect rows to a run's switch and colour."""
    return {"run": run.key, "name": run.name}


def finite_or_none(value: float | None) -> float | None:
    """Return the number, or None if it is not finite: rows contain no NaN."""
    return value if value is not None and math.isfinite(value) else None


def finite_mean_and_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return mean and standard deviation (ddof 1) for rows: None if unknown or not finite."""
    mean, sd = mean_and_sd(values)
    return finite_or_none(mean), finite_or_none(sd)


def finite_mean(values: Sequence[float]) -> float | None:
    """Return the mean for rows: None if unknown or not finite."""
    return finite_mean_and_sd(values)[0]


def capital(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return f"{text[:1].upper()}{text[1:]}"


def band(curves: Sequence[Curve], most: int = 0) -> list[dict[str, Any]]:
    """Return mean, minimum and maximum of the children's curves after each epoch of any, from epoch 1.

    At most `most` evenly spaced steps are kept, with the first and last; 0 keeps all.
    """
    at: dict[int, list[float]] = defaultdict(list)
    for curve in curves:
        for step, value in curve:
            if math.isfinite(value):
                at[step].append(value)
    return [_spread(step, at[step]) for step in _thinned(sorted(at), most)]


def _spread(step: int, values: Sequence[float]) -> dict[str, Any]:
    several = len(values) > 1
    low, high = (min(values), max(values)) if several else (None, None)
    return {"epoch": step + 1, "value": fmean(values), "low": low, "high": high, "children": len(values)}


def _thinned(steps: Sequence[int], most: int) -> list[int]:
    if not most or len(steps) <= most:
        return list(steps)
    last = len(steps) - 1
    return [steps[round(n * last / (most - 1))] for n in range(most)]


def order_shown_first(comparison: Comparison) -> list[ComparedRun]:
    """Return all runs, those shown at first before the others."""
    first = set(comparison.shown)
    return sorted(comparison.runs, key=lambda run: run.key not in first)


def runs_that_fit(
    comparison: Comparison, rows: Mapping[str, Sequence[Mapping[str, Any]]]
) -> tuple[list[Mapping[str, Any]], str]:
    """Return the rows of as many runs as fit in a figure, those shown at first before others; and a note."""
    total = 0
    kept: set[str] = set()
    for run in order_shown_first(comparison):
        total += len(rows.get(run.key, ()))
        if kept and total > ROWS:
            break
        kept.add(run.key)
    out = [row for run in comparison.runs if run.key in kept for row in rows.get(run.key, ())]
    left = len(comparison.runs) - len(kept)
    note = f" {left} of {len(comparison.runs)} runs are left out here, to limit the number of lines."
    return out, note if left else ""


def curves_of(run: ComparedRun, key: str) -> list[Curve]:
    """Return the curve of each child that has it."""
    return [child.curves[key] for child in run.children if child.curves.get(key)]


def learned_nothing(comparison: Comparison) -> list[ComparedRun]:
    """Return the runs that no conclusion may rank: they predict no task better than a constant answer."""
    return [run for run in comparison.runs if comparison.learning(run).nothing]


def open_ends(comparison: Comparison) -> str:
    """Name or count the runs not trained to the end, as a caveat of a conclusion; empty without any."""
    names = [f"“{run.name}”" for run in comparison.runs if not comparison.learning(run).ended]
    if not names:
        return ""
    which = list_first(names) if len(names) <= NAMED else f"{len(names)} of {len(comparison.runs)} runs"
    return f" Not trained to the end: {which}; longer training may change this."


def shared_panels(
    runs: Sequence[ComparedRun], same: Callable[[ComparedRun], Hashable]
) -> dict[str, dict[str, Any]]:
    """Return the fields `title` and `order` of each run's panel; runs for which `same` is equal share one."""
    sharing: dict[Hashable, list[ComparedRun]] = {}
    for run in runs:
        sharing.setdefault(same(run), []).append(run)
    return {
        run.key: {"title": name if len(shared) == 1 else f"{name} and {len(shared) - 1} more", "order": order}
        for order, shared in enumerate(sharing.values())
        for name in [shared[0].name]
        for run in shared
    }


def join_with_and(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
