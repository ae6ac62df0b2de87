"""The table of a suite: one row per member, mean ± standard deviation over its children."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mtlv.evaluation.compared_runs import mean_and_sd
from mtlv.evaluation.metrics import SHOWN_OF_PLANS
from mtlv.formatting import csv_text, plain, with_spread
from mtlv.reporting.metric_titles import metric_title


@dataclass(frozen=True)
class SuiteColumn:
    """A column of the table."""

    key: str  # name of the metric
    title: str
    best: str = "high"  # whether the highest or the lowest value is marked
    digits: int = 4


COLUMNS = (
    *(SuiteColumn(name, metric_title(name)) for name in SHOWN_OF_PLANS),
    SuiteColumn("train_seconds", "training s", best="low", digits=1),
    SuiteColumn("documents_per_second", "documents/s", digits=0),
)


@dataclass(frozen=True)
class SuiteMember:
    """A member of a suite and the metrics of its children (fold x seed)."""

    name: str
    children: tuple[Mapping[str, float], ...]


@dataclass(frozen=True)
class Cell:
    """One metric of one member."""

    mean: float  # mean over the n children that have the metric; NaN if none has it
    sd: float | None  # standard deviation with ddof 1; None for n = 1
    n: int
    best: bool = False  # whether no other member's mean is better (several can be equal)


@dataclass(frozen=True)
class Row:
    """A member and its cells by column key."""

    name: str
    cells: Mapping[str, Cell]


def used_columns(rows: Sequence[Row]) -> list[SuiteColumn]:
    """Return the columns with a value in at least one row."""
    return [column for column in COLUMNS if any(row.cells[column.key].n for row in rows)]


def make_rows(members: Sequence[SuiteMember]) -> tuple[Row, ...]:
    """Return rows in the order of `members`; with several members, the best of each column is marked."""
    rows = [{column.key: _cell(member, column.key) for column in COLUMNS} for member in members]
    for column in COLUMNS:
        means = [row[column.key].mean for row in rows]
        known = [mean for mean in means if not math.isnan(mean)]
        if len(known) < 2:
            continue
        top = max(known) if column.best == "high" else min(known)
        for row in rows:
            row[column.key] = replace(row[column.key], best=row[column.key].mean == top)
    return tuple(Row(member.name, cells) for member, cells in zip(members, rows, strict=True))


def _cell(member: SuiteMember, key: str) -> Cell:
    """Return the cell; a time is that of all stages, as on the comparison page."""
    more = "earlier_stages_seconds" if key == "train_seconds" else ""
    numbers = (float(child[key] + child.get(more, 0.0)) for child in member.children if key in child)
    values = [value for value in numbers if not math.isnan(value)]
    mean, sd = mean_and_sd(values)
    return Cell(math.nan if mean is None else mean, sd, len(values))


def format_cell(cell: Cell, column: SuiteColumn) -> str:
    """Format a cell: `0.9123 ± 0.0045`, `0.9123` for one child, `-` for none."""
    return with_spread(cell.mean, cell.sd, column.digits) if cell.n else "-"


def as_text(members: Sequence[SuiteMember]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return header and rows for a terminal."""
    rows = make_rows(members)
    columns = used_columns(rows)
    header = ("run", *(column.title for column in columns))
    return header, tuple((row.name, *(format_cell(row.cells[c.key], c) for c in columns)) for row in rows)


def as_csv(rows: Sequence[Row]) -> str:
    """Return CSV with `member`, and `KEY`, `KEY_std`, `KEY_n`, `KEY_best` of each column, in full precision;
    unknown values are empty.
    """
    records = []
    for row in rows:
        record: dict[str, object] = {"member": row.name}
        for column in used_columns(rows):
            cell = row.cells[column.key]
            record |= {column.key: cell.mean, f"{column.key}_std": cell.sd}
            record |= {f"{column.key}_n": cell.n, f"{column.key}_best": cell.best}
        records.append(record)
    return csv_text(records)


def as_markdown(rows: Sequence[Row]) -> str:
    """Return a Markdown table, with the best of each column in bold."""
    columns = used_columns(rows)
    lines = ["| run | " + " | ".join(column.title for column in columns) + " |"]
    lines.append("| --- |" + " ---: |" * len(columns))
    for row in rows:
        cells = []
        for column in columns:
            text = format_cell(row.cells[column.key], column)
            cells.append(f"**{text}**" if row.cells[column.key].best else text)
        lines.append(f"| {plain(row.name)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
