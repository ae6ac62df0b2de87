"""Compile a figure as a reader would see it, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mtlv.comparison import vega
from mtlv.comparison.blocks import FigureBlock, Section
from mtlv.comparison.drawing import draw


def block(section: Section, id: str) -> Any:
    """The block of that id."""
    return next(one for one in section.blocks if getattr(one, "id", None) == id)


def svg(figure: FigureBlock, rows: Iterable[Mapping[str, Any]] | None = None) -> str:
    """The figure drawn with its own rows, or with some of them."""
    spec = vega.as_file(figure, [dict(row) for row in (figure.rows if rows is None else rows)])
    return draw(spec).svg


def of_runs(rows: Sequence[Mapping[str, Any]], *keys: str) -> list[Mapping[str, Any]]:
    """Rows of these runs, as the page leaves them when the others are switched off."""
    return [row for row in rows if row["run"] in keys and row.get("other", row["run"]) in keys]
