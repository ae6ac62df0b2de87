"""Tables in memory: rows with their line numbers, for messages."""

from __future__ import annotations

import os
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mtlv.data.tables.arrow import arrow_rows
from mtlv.data.tables.decoding import PACKED, TextFile, most_unpacked, need_size, text_file
from mtlv.data.tables.delimited import Record, also, records_of
from mtlv.data.tables.header import looks_like_data, unique_names
from mtlv.data.tables.json_rows import json_rows
from mtlv.errors import DataError, nearest, shorten

MOST_COLUMNS = 10_000
LINES = (".csv", ".tsv", ".jsonl", ".ndjson", ".txt")
ARROW = (".parquet", ".feather", ".arrow")
UNPACKED = (*LINES, ".json", ".xlsx", *ARROW)
FORMATS = (*UNPACKED, *(f"{one}{packed}" for one in (*LINES, ".json") for packed in PACKED), ".zip")
ALLOWED = f"a file ending in {', '.join(UNPACKED)}; those of text also packed ({', '.join(PACKED)})"
OTHERS = {
    ".xls": "save it as .xlsx or .csv",
    ".ods": "save it as .xlsx or .csv",
    ".zst": "unpack it first",
    ".7z": "unpack it first",
    ".rar": "unpack it first",
    ".pkl": "write it with pandas: frame.to_parquet('table.parquet')",
}
NO_NAMES = (
    "if its first line is data, name its columns: `data.columns.names` in a config, or a first line of names"
)
TEXT = "text"  # column of a text file


@dataclass(frozen=True)
class Table:
    """A table in memory."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[int, Mapping[str, Any]], ...]  # (line or row number from 1, column -> cell)
    notes: tuple[str, ...] = ()  # on how it was read
    is_headless: bool = False  # whether no row has the names of the columns
    is_suspect: bool = False  # whether the row with the names looks like data

    @property
    def unit(self) -> str:
        """Unit of a row's number."""
        return "line" if suffix_of(self.path) in LINES else "row"

    def column(self, name: str) -> tuple[Any, ...]:
        """Return the N cells of a column; None where a row has none."""
        return tuple(row.get(name) for _, row in self.rows)

    def need(self, columns: Sequence[str], setting: str) -> None:
        """Raise an error if the table lacks one of `columns`.

        Raises:
            DataError: with the missing columns, the existing ones and the nearest names.
        """
        missing = list(self.missing(columns, setting))
        if missing:
            raise DataError.all_of(missing)

    def missing(self, columns: Sequence[str], setting: str) -> Iterator[DataError]:
        """Yield an error for each missing column of `columns`; `setting` is the key that requires them."""
        for name in columns:
            if name not in self.columns:
                yield DataError(
                    f"`{self.path.name}` has no column `{shorten(name)}` ({setting})",
                    allowed=", ".join(self.columns),
                    then=NO_NAMES if self.is_suspect else _nearest(name, self.columns),
                )


def suffix_of(path: Path) -> str:
    """Return the suffix of a file in lower case, without that of its packing."""
    last = path.suffix.lower()
    if last not in PACKED:
        return last
    inner = Path(path.stem).suffix.lower()
    if not inner and last == ".zip" and path.is_file():
        try:
            with zipfile.ZipFile(path) as archive:
                return Path(next(iter(archive.namelist()), "")).suffix.lower()
        except (OSError, zipfile.BadZipFile):
            return last
    return inner


def read_table(
    path: Path,
    *,
    names: Sequence[str] | None = None,
    encoding: str | None = None,
    header: bool | None = True,
) -> Table:
    """Read a table by its suffix, one of `FORMATS`; a text file has a document per line.

    Args:
        path: the file.
        names: columns of a file without a header; a first row with all of these is its header after all.
        encoding: of a file of text; None for that of its byte order mark, UTF-8, or one that is recognised.
        header: whether the first row has the names; None to decide by whether it looks like the others.

    Raises:
        DataError: no file, an unknown suffix, bytes of an unknown encoding, an invalid row, or no rows.
    """
    if not os.path.exists(path):
        raise DataError("there is no such file", got=str(path), then="check its name and folder")
    suffix = suffix_of(path)
    is_file = os.path.isfile(path)  # Path.is_file raises an error for too long names
    is_packed = path.suffix.lower() in PACKED
    if not is_file or suffix not in UNPACKED or (is_packed and suffix in (".xlsx", *ARROW)):
        kind = "an unknown file type" if is_file else "not a file"
        raise DataError(f"`{path}` is {kind}", allowed=ALLOWED, then=OTHERS.get(path.suffix.lower(), ""))
    need_size(path, path.stat().st_size, most_unpacked(path))
    if suffix in ARROW:
        columns, cells = arrow_rows(path, suffix)
        need_header(path, columns)
        table = _unnested(Table(path, columns, tuple(enumerate(cells, start=1))))
    elif suffix == ".xlsx":
        records, notes = _sheet(path)
        table = _named(path, records, notes, names=names, header=header)
    else:
        file = text_file(path, encoding)
        notes = [file.note] if file.note else []
        if suffix in (".json", ".jsonl", ".ndjson"):
            rows = tuple(json_rows(file))
            columns = tuple(dict.fromkeys(name for _, row in rows for name in row))
            table = _unnested(Table(path, columns, rows, tuple(notes)))
            need_header(path, table.columns)
        elif suffix == ".txt":
            table = Table(path, (TEXT,), tuple(_plain_rows(file)), tuple(notes))
        else:
            records, notes = records_of(file, "," if suffix == ".csv" else "\t")
            table = _named(path, records, notes, names=names, header=header)
    need_rows(path, len(table.rows))
    return table


def _unnested(table: Table) -> Table:
    """Return a table without objects: the cell `{"age": 70}` of `patient` is the cell 70 of `patient.age`."""
    nested = {name for _, row in table.rows for name, cell in row.items() if isinstance(cell, dict)}
    if not nested:
        return table
    rows = tuple((line, dict(_fields(row, nested))) for line, row in table.rows)
    columns = tuple(dict.fromkeys(name for _, row in rows for name in row))
    return _unnested(replace(table, columns=columns, rows=rows))


def _fields(row: Mapping[str, Any], nested: Collection[str]) -> Iterator[tuple[str, Any]]:
    for name, cell in row.items():
        if name not in nested:
            yield name, cell
        elif cell is not None:
            inner = cell if isinstance(cell, dict) else {"": cell}
            yield from ((f"{name}.{key}" if key else name, value) for key, value in inner.items())


def _plain_rows(file: TextFile) -> Iterator[tuple[int, dict[str, str]]]:
    with file.lines() as lines:
        for number, line in enumerate(lines, start=1):
            if "\0" in line:
                where = f"`{file.path.name}` has a NUL byte at line {number}, as binary files have"
                raise DataError(where, then="write a text in each line")
            if line.strip():
                yield number, {TEXT: line.strip()}


def _named(
    path: Path, records: list[Record], notes: list[str], *, names: Sequence[str] | None, header: bool | None
) -> Table:
    """Return records as a table, with the names of its columns, and without rows that repeat them.

    Raises:
        DataError: there are no records, or other numbers of names than of columns.
    """
    if not records:
        raise DataError(f"`{path.name}` is empty", then="its first line must name the columns")
    need_columns(path, len(records[0][1]))
    first = [str(cell if cell is not None else "").strip() for cell in records[0][1]]
    others = [cells for _, cells in records[1:301]]
    is_data = bool(others) and looks_like_data(first, others)
    has_header = set(names) <= set(first) if names else not is_data if header is None else header
    if has_header:
        raw = [str(cell if cell is not None else "") for cell in records[0][1]]
        columns, note = unique_names(raw)
        notes = [*notes, f"`{path.name}`: {note}"] if note else notes
        repeated = [line for line, cells in records[1:] if [str(cell).strip() for cell in cells] == first]
        if repeated:
            where = f"line {repeated[0]}{also('line', repeated[1:])}"
            notes = [*notes, f"`{path.name}` has its header again, left out: {where}"]
        again = set(repeated)
        records = [record for record in records[1:] if record[0] not in again]
    else:
        columns = tuple(names or (f"column{place}" for place in range(1, len(first) + 1)))
        if len(columns) != len(first):
            raise DataError(
                f"`{path.name}` has {len(first)} columns, but `data.columns.names` has {len(columns)} names",
                got=", ".join(columns),
                then="name each of its columns, in order",
            )
    is_suspect = has_header and is_data and not names
    if is_suspect and header is not None:
        notes = [
            *notes,
            f"the first line of `{path.name}`, taken as names of its columns, looks like data; {NO_NAMES}",
        ]
    need_header(path, columns)
    rows = tuple((line, dict(zip(columns, cells, strict=True))) for line, cells in records)
    return Table(path, columns, rows, tuple(notes), not has_header, is_suspect)


def need_rows(path: Path, count: int) -> None:
    """Raise an error for a table without rows."""
    if not count:
        raise DataError(f"`{path.name}` has no rows", then="check the file")


def need_columns(path: Path, count: int) -> None:
    """Raise an error for too many columns."""
    if count > MOST_COLUMNS:
        raise DataError(f"`{path.name}` has too many columns", got=count, allowed=f"up to {MOST_COLUMNS}")


def need_header(path: Path, header: Sequence[str]) -> None:
    """Raise an error for an invalid header, before its columns are processed."""
    need_columns(path, len(header))
    twice = sorted(name for name, count in Counter(header).items() if count > 1)
    if twice:
        raise DataError(f"`{path.name}` has a duplicate column", got=", ".join(twice), then="rename one")


def _nearest(name: str, columns: Sequence[str]) -> str:
    """Return the column that differs only in case, else the nearest."""
    same = next((column for column in columns if column.strip().lower() == name.strip().lower()), None)
    return f"did you mean `{same}`?" if same else nearest(name, columns)


def _sheet(path: Path) -> tuple[list[Record], list[str]]:
    """Return the rows of the first sheet of an Excel file that are not empty, and notes.

    Raises:
        DataError: `openpyxl` is missing, or the file is invalid, or too large.
    """
    try:
        import openpyxl
    except ImportError:
        then = "install it: pip install 'mtlv[excel]'; or save it as .csv"
        raise DataError(
            f"`{path.name}` is an Excel file, which needs the package openpyxl", then=then
        ) from None
    try:
        with zipfile.ZipFile(path) as archive:
            need_size(path, sum(one.file_size for one in archive.infolist()), most_unpacked(path))
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        rows = [
            (number, [cell if isinstance(cell, str | int | float | None) else str(cell) for cell in row])
            for number, row in enumerate(sheet.iter_rows(values_only=True), start=1)
            if any(cell is not None for cell in row)
        ]
        titles = [one.title for one in book.worksheets]
        book.close()
    except DataError:
        raise
    except Exception as error:  # errors of the package have no common class
        raise DataError(f"`{path.name}` cannot be read as an Excel file", got=str(error)) from error
    width = max((1 + max(n for n, cell in enumerate(row) if cell is not None) for _, row in rows), default=0)
    records = [(number, (row + [None] * width)[:width]) for number, row in rows]
    left = ", ".join(titles[1:])
    return records, [f"`{path.name}`: sheet `{titles[0]}` is read, not {left}"] if left else []
