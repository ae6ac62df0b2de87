"""Rows of tables separated by commas, tabs, semicolons or bars, and what their columns are called."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from mtlv.data.tables.decoding import TextFile
from mtlv.errors import DataError
from mtlv.formatting import list_first

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
MOST_CELL = 20_000_000  # characters of a cell
LOOKED_AT = 200  # lines, of up to so many characters together:
SAMPLE = 1_000_000
# Quotes are doubled within a quoted value, or have a backslash; or, with tabs, they are as other characters.
DOUBLED = {"strict": True}
QUOTINGS: dict[str, dict[str, Any]] = {
    "doubled": DOUBLED,
    "escaped": {"strict": True, "doublequote": False, "escapechar": "\\"},
    "none": {"quoting": csv.QUOTE_NONE},
}
# The default limit of the csv module is 128 KiB per field; documents may be longer.
csv.field_size_limit(MOST_CELL)
Record = tuple[int, list[Any]]
"""(its first line, its cells)"""


def records_of(file: TextFile, usual: str) -> tuple[list[Record], list[str]]:
    """Return the rows of a file, all with as many cells, and notes; `usual` is the separator of its suffix.

    Raises:
        DataError: a row has another number of cells, or invalid quotes.
    """
    delimiter = _delimiter(file, usual)
    first: DataError | None = None
    for name, quoting in QUOTINGS.items():
        if (name == "none" and delimiter != "\t") or (name == "escaped" and not _has_escapes(file)):
            continue
        try:
            records = list(_records(file, {"delimiter": delimiter, **quoting}))
            _square(file.path, records)
        except DataError as error:
            first = first or error
            continue
        notes = [file.note] if file.note else []
        if delimiter != usual:
            notes.append(f"`{file.path.name}` is separated by {SEPARATORS[delimiter]}")
        return records, notes
    raise first or DataError(f"`{file.path.name}` is empty")


def _has_escapes(file: TextFile) -> bool:
    with file.lines() as lines:
        return any('\\"' in line for line in lines)


def _delimiter(file: TextFile, usual: str) -> str:
    """Return the separator that divides the first lines into equally many cells, best the usual one."""
    with file.lines() as lines:
        size, sample = 0, list[str]()
        for line in islice(lines, LOOKED_AT):
            size += len(line)
            if size > SAMPLE and sample:
                break
            sample.append(line)
    scores = {mark: _score(sample, mark) for mark in dict.fromkeys([usual, *SEPARATORS])}
    best = max(scores, key=lambda mark: scores[mark])
    return usual if scores[usual] > 0.5 or not scores[best] else best


def _score(sample: Sequence[str], mark: str) -> float:
    """Return the share of records with as many cells as the first one; 0 if that is one cell."""
    try:
        records = [len(cells) for cells in csv.reader(sample, delimiter=mark) if cells]
    except csv.Error:
        return 0.0
    records = records[:-1] if len(records) > 2 else records  # the last may be cut
    usual, count = Counter(records).most_common(1)[0] if records else (1, 0)
    if usual < 2 or records[0] < 2:
        return 0.0
    return count / len(records)


def _records(file: TextFile, layout: dict[str, Any]) -> Iterator[Record]:
    """Yield (first line of the record, its cells), without blank lines."""
    with file.lines() as lines:
        reader = csv.reader(lines, **layout)
        line = 1
        try:
            for cells in reader:
                if cells:
                    yield line, cells
                line = reader.line_num + 1
        except csv.Error as error:
            then = "check its quotes: a quote inside a quoted value must be doubled"
            if "field larger" in str(error):
                then = f"a cell may have {MOST_CELL:,} characters; c{then[1:]}"
            raise DataError(
                f"`{file.path.name}` has an invalid row at line {line}", got=str(error), then=then
            ) from error


def _square(path: Path, records: list[Record]) -> None:
    """Take away the empty cells at the end of each line, or name a first column without a name.

    Raises:
        DataError: rows have another number of cells than the first.
    """
    if not records:
        return
    header = records[0][1]
    rest = records[1:]
    if len(header) > 1 and all(not cells[-1].strip() for _, cells in records):
        if len({len(cells) for _, cells in records}) == 1:
            for _, cells in records:
                cells.pop()
    elif rest and all(len(cells) == len(header) + 1 for _, cells in rest):
        if all(not cells[-1].strip() for _, cells in rest):
            for _, cells in rest:
                cells.pop()
        elif len(rest) > 1 and len({cells[0] for _, cells in rest}) == len(
            rest
        ):  # names of rows, as R writes
            header.insert(0, "")
    broken = [(line, len(cells)) for line, cells in rest if len(cells) != len(header)]
    if broken:
        line, fields = broken[0]
        raise DataError(
            f"`{path.name}` has an invalid row at line {line}",
            got=f"{fields} fields",
            allowed=f"{len(header)} fields, as in its first line",
            then="put quotes around values with a separator, a quote or a line break"
            + also("line", [line for line, _ in broken[1:]]),
        )


def also(unit: str, lines: Sequence[int]) -> str:
    """Return e.g. `; also at line 4, 9`, the other positions of an error; empty if there are none."""
    return f"; also at {unit} {list_first(lines, 10)}" if lines else ""
