"""Helpers for sections: rows of runs, channels and axes of figures, panels, size limits."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from mtlv.evaluation.comparison import ComparedRun, Comparison, Curve, mean_and_sd
from mtlv.formatting import enumerated

PANELS = 24  # maximum panels of a figure; the task filter of the page shows others
ROWS = 30_000  # maximum of a figure; it leaves out further runs, to keep the page small
NAMED = 3  # maximum of runs that a caveat names; more are counted
STEPS = 50  # maximum points of a curve in small multiples

LETTER = 7.5  # pixels of a bold letter in headers
GREY = "#7F7F7F"  # visible on light and dark backgrounds
ZERO = "datum.value === 0 ? '0' : datum.label"  # label of a signed number; 0 has no sign


def of_run(run: ComparedRun) -> dict[str, Any]:
    """Return the fields that connect rows to a run's switch and colour."""
    return {"run": run.key, "name": run.name}


def known(value: float | None) -> float | None:
    """Return the number, or None if it is not finite: rows contain no NaN."""
    return value if value is not None and math.isfinite(value) else None


def finite_mean_and_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return mean and standard deviation (ddof 1) for rows: None if unknown or not finite."""
    mean, sd = mean_and_sd(values)
    return known(mean), known(sd)


def finite_mean(values: Sequence[float]) -> float | None:
    """Return the mean for rows: None if unknown or not finite."""
    return finite_mean_and_sd(values)[0]


def capital(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return f"{text[:1].upper()}{text[1:]}"


def number(field: str, **more: Any) -> dict[str, Any]:
    """Return a channel of numbers."""
    return {"field": field, "type": "quantitative"} | more


def label(field: str, **more: Any) -> dict[str, Any]:
    """Return a channel of texts."""
    return {"field": field, "type": "nominal"} | more


def of_rows(test: str, layer: dict[str, Any]) -> dict[str, Any]:
    """Return a layer of the rows for which an expression is true."""
    return {"transform": [{"filter": test}]} | layer


def with_value(field: str, layer: dict[str, Any]) -> dict[str, Any]:
    """Return a layer of the rows that have a value."""
    return of_rows(f"isValid(datum.{field})", layer)


def tip(field: str, title: str = "", number: str = "") -> dict[str, str]:
    """Return a line of a tooltip; `number` is a format such as `.3f`."""
    line = {"field": field, "title": title or field, "type": "quantitative" if number else "nominal"}
    return line | ({"format": number} if number else {})


def run_names(comparison: Comparison) -> list[str]:
    """Return the run names in display order, for sorting axes."""
    return [run.name for run in comparison.runs]


# A run's name; a long name is split into two lines at a separator near its middle.
TWO_LINES = (
    "length(datum.label) > 44 ? split(replace(datum.label, "
    "regexp('^(.{' + floor(length(datum.label) / 2 - 8) + ',}?(?:,| ·)) '), '$1\\n'), '\\n') : datum.label"
)


def name_lines(letters: int) -> str:
    """Return an expression for the name of a run, with line breaks if it has more than `letters` letters."""
    least = max(8, letters - 16)
    return (
        f"length(datum.label) > {letters} ? "
        f"split(replace(datum.label, regexp('(.{{{least},}}?(?:,| ·)) ', 'g'), '$1\\n'), '\\n') : datum.label"
    )


def run_axis(**changes: Any) -> dict[str, Any]:
    """Return a vertical axis of run names; long names have several lines."""
    return {
        "title": None,
        "labelExpr": TWO_LINES,
        "labelLimit": 320,
        "ticks": False,
        "domain": False,
    } | changes


def run_header(width: int) -> dict[str, Any]:
    """Return the header of small multiples with run names; long names have several lines."""
    lines = name_lines(int(width / LETTER))
    return {"title": None, "labelLimit": width, "labelAnchor": "start", "labelExpr": lines}


def task_axis(**changes: Any) -> dict[str, Any]:
    """Return a vertical axis of task names."""
    return {"title": None, "labelLimit": 220, "ticks": False, "domain": False} | changes


def small_multiples(
    inner: Mapping[str, Any],
    field: str,
    size: tuple[int, int],
    *,
    columns: int = 4,
    header: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a chart with a panel (`size` in pixels) for each value of a field, in the order of `order`."""
    width, height = size
    line = {"title": None, "labelLimit": width + 20, "labelAnchor": "start"}
    return {
        "columns": columns,
        "transform": first_panels(),
        "facet": label(field, sort={"field": "order", "op": "min"}, header=header or line),
        "spacing": {"row": 16, "column": 20},
        "spec": {"width": width, "height": height, **inner},
    }


def first_panels() -> list[dict[str, Any]]:
    """Return transforms that keep the first panels by their `order`, among those switched on."""
    rank = {"window": [{"op": "dense_rank", "as": "panel"}], "sort": [{"field": "order"}]}
    return [rank, {"filter": f"datum.panel <= {PANELS}"}]


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


def shown_first(comparison: Comparison) -> list[ComparedRun]:
    """Return all runs, those shown at first before the others."""
    first = set(comparison.shown)
    return sorted(comparison.runs, key=lambda run: run.key not in first)


def whole_runs(
    comparison: Comparison, rows: Mapping[str, Sequence[Mapping[str, Any]]]
) -> tuple[list[Mapping[str, Any]], str]:
    """Return the rows of as many runs as fit in a figure, those shown at first before others; and a note."""
    total = 0
    kept: set[str] = set()
    for run in shown_first(comparison):
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
    which = enumerated(names) if len(names) <= NAMED else f"{len(names)} of {len(comparison.runs)} runs"
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


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def whole_ticks(first: int, last: int, most: int) -> list[int]:
    """Return at most `most` + 1 integers from `first` to `last` for an axis; Vega would also place halves."""
    return list(range(first, last + 1, max(1, -(-(last - first) // most))))
