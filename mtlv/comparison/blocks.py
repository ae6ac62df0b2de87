"""What a comparison page is made of: blocks of plain data, drawn by the page, as files, and as CSV.

A figure is a Vega-Lite specification with one named dataset, `rows`. Page and files fill it by the same rule:
rows of runs and tasks that are switched off are left out, and where `baseline` is set, each row gets the
difference to the baseline run's row. So what is toggled on the page is data, and no figure needs code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mtlv.plan.spans import Span

Row = Mapping[str, Any]
"""Plain values: text, numbers, booleans, None. Never NaN: None stands for what is not known."""


@dataclass(frozen=True)
class Baseline:
    """Each row gets `out` = its `value` - the `value` of the baseline run's row with the same `by` fields.

    Rows without such a partner get None.
    """

    value: str
    by: tuple[str, ...]
    out: str = "delta"


@dataclass(frozen=True)
class TextBlock:
    """A paragraph; `tone` says how it is set."""

    text: str
    tone: Literal["plain", "finding", "warning"] = "plain"


@dataclass(frozen=True)
class TableColumn:
    """A column of a table.

    Args:
        key: field of the rows.
        title: what people read.
        kind: `text`, or `number` with `digits` decimals.
        best: whether the highest, the lowest or no visible value is set in bold.
        spread: field with the standard deviation, shown as `± 0.012`.
        signed: numbers carry their sign.
        scale: what a value is multiplied with to be shown.
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
    """A sortable table. Rows with a `run` field go with that run's switch, rows with `task` with the filter.

    Rows with both `run` and `other` (pairs) show while both runs are on.
    """

    id: str
    title: str
    caption: str
    columns: Sequence[TableColumn]
    rows: Sequence[Row]
    baseline: Baseline | None = None


@dataclass(frozen=True)
class FigureBlock:
    """An interactive figure.

    Args:
        id: ASCII; the name of its PNG, SVG and CSV.
        title: above it.
        caption: what it shows and how to read it, in full sentences.
        spec: Vega-Lite 6 without data, title or config; it reads `{"data": {"name": "rows"}}`. Its width is
            `"container"` or a number. Texts and axes take their colours from the page's theme (light, dark,
            print), so a spec names colours for marks only.
        rows: `run` (key) and `task` (name) fields make them follow switches and filter.
        baseline: differences to compute.
        wide: takes the page's whole width.
    """

    id: str
    title: str
    caption: str
    spec: Mapping[str, Any]
    rows: Sequence[Row]
    baseline: Baseline | None = None
    wide: bool = False


Said = float | bool | str | tuple[Span, ...]
"""What is said of a document: a probability, yes or no, words, or spans of its words."""


@dataclass(frozen=True)
class DocumentRow:
    """A document on which two runs disagree.

    Args:
        id: of the document.
        distance: mean over tasks of the distance between the two runs' outputs.
        scores: (task, run's output, other's output, target) of the tasks that differ most or are positive.
    """

    id: str
    distance: float
    scores: Sequence[tuple[str, Said, Said, Said]]


@dataclass(frozen=True)
class Disagreement:
    """For pairs of runs, the documents on which they differ most.

    Args:
        pairs: (run key, other run key) -> documents, the largest distance first.
        texts: of these documents, by id; where one is missing the page says why in `missing`.
    """

    id: str
    title: str
    caption: str
    pairs: Mapping[tuple[str, str], Sequence[DocumentRow]]
    texts: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""


Block = TextBlock | TableBlock | FigureBlock | Disagreement


@dataclass(frozen=True)
class Section:
    """A part of the page with its own heading and entry in the menu."""

    id: str
    title: str
    intro: str
    blocks: Sequence[Block]
