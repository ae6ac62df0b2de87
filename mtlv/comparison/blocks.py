"""Blocks of a comparison page: plain data, shown on the page and written as pictures and CSV files.

A figure is a Vega-Lite specification with one named dataset, `rows`. The page and the files fill it by the
same rule: rows of runs and tasks that are switched off are left out, and if `baseline` is set, each row gets
the difference to the baseline run's row. So the page's switches are data, and no figure needs its own code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from mtlv.plan.spans import Span

Row = Mapping[str, Any]
"""Plain values: text, numbers, booleans, None. Never NaN; None is an unknown value."""


@dataclass(frozen=True)
class Baseline:
    """Each row's `delta` = its `value` - the `value` of the baseline run's row with the same `by` fields.

    Rows without a matching baseline row get None.
    """

    value: str
    by: tuple[str, ...]


@dataclass(frozen=True)
class TextBlock:
    """A paragraph; `tone` sets its style."""

    kind: ClassVar[str] = "text"
    text: str
    tone: Literal["plain", "answer", "finding", "warning"] = "plain"


@dataclass(frozen=True)
class TableColumn:
    """A column of a table.

    Args:
        key: field of the rows.
        title: heading of the column.
        kind: `text`, or `number` with `digits` decimals.
        best: whether the highest, the lowest or no visible value is set in bold.
        spread: field with the standard deviation, shown as `± 0.012`.
        signed: whether numbers are shown with their sign.
        scale: factor applied to a value before it is shown.
    """

    key: str
    title: str
    kind: Literal["text", "number"] = "number"
    digits: int = 3
    best: Literal["high", "low", ""] = ""
    spread: str = ""
    signed: bool = False
    scale: float = 1.0


@dataclass(frozen=True)
class TableBlock:
    """A sortable table. Rows with a `run` field follow that run's switch, rows with `task` the filter.

    Rows with both `run` and `other` (pairs) are shown while both runs are switched on.
    """

    kind: ClassVar[str] = "table"
    id: str
    title: str
    caption: str
    columns: Sequence[TableColumn]
    rows: Sequence[Row]
    baseline: Baseline | None = None


@dataclass(frozen=True)
class GroupsBlock:
    """Groups of tasks as chips with the groups' numbers and colours."""

    kind: ClassVar[str] = "groups"
    is_key: ClassVar[bool] = True
    id: str
    title: str
    rows: Sequence[Row]  # `group` (number as text), `colour`, `task`; the tasks of a group follow each other


@dataclass(frozen=True)
class FigureBlock:
    """An interactive figure."""

    kind: ClassVar[str] = "figure"
    id: str  # ASCII name of its PNG, SVG and CSV files
    title: str
    caption: str  # what it shows and how to read it, in full sentences
    # Vega-Lite 6 without data, title or config; it reads `{"data": {"name": "rows"}}`. Its width is
    # `"container"` or a number. Texts and axes take their colours from the page's theme (light, dark, print),
    # so a spec names colours for marks only
    spec: Mapping[str, Any]
    rows: Sequence[Row]  # `run` (key) and `task` (name) fields make them follow switches and filter
    baseline: Baseline | None = None
    wide: bool = False
    # A figure that a section stands for: always open. Those of the answer stand side by side
    is_key: bool = False
    # Keys of the runs that were trained with each choice of k. Rows with the field `choice` are shown while
    # it is chosen, 0 at first
    choices: Mapping[int, Sequence[str]] = field(default_factory=dict)


ShownOutput = float | bool | str | tuple[Span, ...]
"""Value shown for a document: a probability, yes or no, text, or spans of its words."""


@dataclass(frozen=True)
class DocumentRow:
    """A document on which two runs disagree."""

    id: str
    distance: float  # mean distance between the two runs' outputs, over tasks
    # (task, run's output, other's output, target) of the tasks that differ most or are positive
    scores: Sequence[tuple[str, ShownOutput, ShownOutput, ShownOutput]]


@dataclass(frozen=True)
class Disagreement:
    """The documents on which pairs of runs differ most."""

    kind: ClassVar[str] = "disagreement"
    id: str
    title: str
    caption: str
    # (run key, other run key) -> documents, sorted by distance, largest first
    pairs: Mapping[tuple[str, str], Sequence[DocumentRow]]
    # texts of these documents by id; `missing` is shown if one is missing
    texts: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""


Block = TextBlock | TableBlock | GroupsBlock | FigureBlock | Disagreement


@dataclass(frozen=True)
class Section:
    """A part of the page with its own heading and entry in the menu."""

    id: str
    title: str
    intro: str
    blocks: Sequence[Block]
