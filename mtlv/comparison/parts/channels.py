"""Channels, axes, layers and panels of figures: parts of Vega-Lite specifications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mtlv.evaluation.compared_runs import Comparison

PANELS = 24  # maximum panels of a figure; the task filter of the page shows others
LETTER = 7.5  # pixels of a bold letter in headers
GREY = "#7F7F7F"  # visible on light and dark backgrounds
ZERO = "datum.value === 0 ? '0' : datum.label"  # label of a signed number; 0 has no sign


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


def only(field: str, value: str, layer: dict[str, Any]) -> dict[str, Any]:
    """Return a layer of the rows with this text in a field."""
    return of_rows(f"datum.{field} === '{value}'", layer)


def dots(size: float | Mapping[str, str], **more: Any) -> dict[str, Any]:
    """Return the mark of filled points with this area in square pixels, or an expression for it."""
    return {"type": "point", "filled": True, "size": size, "opacity": 1} | more


def tip(field: str, title: str = "", number: str = "") -> dict[str, str]:
    """Return a line of a tooltip; `number` is a format such as `.3f`."""
    line = {"field": field, "title": title or field, "type": "quantitative" if number else "nominal"}
    return line | ({"format": number} if number else {})


def count_runs() -> dict[str, Any]:
    """Return a transform that adds the number of runs shown, `runs`, to each row."""
    return {"joinaggregate": [{"op": "distinct", "field": "run", "as": "runs"}]}


def run_names(comparison: Comparison) -> list[str]:
    """Return the run names in display order, for sorting axes."""
    return [run.name for run in comparison.runs]


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
        "labelExpr": name_lines(44),
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
    rows = f"replace(datum.label, regexp('(.{{1,{int(width / LETTER)}}})( |$)', 'g'), '$1\\n')"
    line = {"title": None, "labelLimit": width + 20, "labelAnchor": "start"}
    line["labelExpr"] = f"split(trim({rows}), '\\n')"
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


def integer_ticks(last: int, most: int) -> list[int]:
    """Return at most `most` + 1 integers from 1 to `last` for an axis; Vega would also place halves."""
    return list(range(1, last + 1, max(1, -(-(last - 1) // most))))
