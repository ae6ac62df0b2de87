"""Rows of a table file with their line numbers, for messages."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from mtlv.errors import DataError, nearest, shorten
from mtlv.formatting import enumerated

MOST_BYTES = 4_000_000_000  # maximum bytes of a table; it needs several times this in memory
MOST_COLUMNS = 10_000
LINES = (".csv", ".tsv", ".jsonl", ".txt")
FORMATS = (*LINES, ".parquet")
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
SEPARATORS = ("\t", ";", ",")
TEXT = "text"  # column of a text file
# The default limit of the csv module is 128 KiB per field; documents may be longer.
csv.field_size_limit(2**30)


@dataclass(frozen=True)
class Table:
    """A table in memory."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[int, Mapping[str, Any]], ...]  # (line or row number from 1, column -> cell)

    @property
    def unit(self) -> str:
        """Unit of a row's number."""
        return "line" if self.path.suffix.lower() in LINES else "row"

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
                    then=_nearest(name, self.columns),
                )


def read_table(path: Path) -> Table:
    """Read a CSV, TSV, JSONL, Parquet or text file, by its suffix; a text file has a document per line.

    Raises:
        DataError: no file, an unknown suffix, invalid UTF-8, an invalid row, or no rows.
    """
    suffix = path.suffix.lower()
    if not os.path.exists(path):
        raise DataError("there is no such file", got=str(path), then="check its name and folder")
    if suffix not in FORMATS or not os.path.isfile(path):  # Path.is_file raises an error for too long names
        kind = "an unknown file type" if os.path.isfile(path) else "not a file"
        then = "unpack it first" if suffix in PACKED else ""
        raise DataError(f"`{path}` is {kind}", allowed=f"a file ending in {', '.join(FORMATS)}", then=then)
    need_size(path, path.stat().st_size, MOST_BYTES)
    if suffix == ".parquet":
        table = _parquet(path)
    elif suffix == ".jsonl":
        table = _jsonl(path)
    elif suffix == ".txt":
        table = _plain(path)
    else:
        table = _delimited(path, "," if suffix == ".csv" else "\t")
    need_rows(path, len(table.rows))
    return table


def need_rows(path: Path, count: int) -> None:
    """Raise an error for a table without rows."""
    if not count:
        raise DataError(f"`{path.name}` has no rows", then="check the file")


def need_size(path: Path, size: int, most: int) -> None:
    """Raise an error for a file of more than `most` bytes."""
    if size > most:
        raise DataError(f"`{path.name}` is too large", got=f"{size:,} bytes", allowed=f"up to {most:,} bytes")


def _need_separator(path: Path, header: Sequence[str], delimiter: str) -> None:
    """Raise an error for a header of one field that is separated in another way."""
    others = [mark for mark in SEPARATORS if mark != delimiter and len(header) == 1 and mark in header[0]]
    if others:
        mark = "a tab" if others[0] == "\t" else f"`{others[0]}`"
        raise DataError(
            f"`{path.name}` seems to be separated by {mark}",
            got=header[0],
            then="save it with commas as .csv, or with tabs as .tsv",
        )


def need_header(path: Path, header: Sequence[str]) -> None:
    """Raise an error for an invalid header, before its columns are processed."""
    if len(header) > MOST_COLUMNS:
        raise DataError(
            f"`{path.name}` has too many columns", got=len(header), allowed=f"up to {MOST_COLUMNS}"
        )
    twice = sorted(name for name, count in Counter(header).items() if count > 1)
    if twice:
        raise DataError(f"`{path.name}` has a duplicate column", got=", ".join(twice), then="rename one")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"a duplicate key `{shorten(twice)}` in one object")
    return found


_JSON = json.JSONDecoder(object_pairs_hook=_object)


def read_json(text: str) -> Any:
    """Parse one JSON value that can be encoded as UTF-8 again.

    Raises:
        ValueError: invalid JSON, nested too deeply, a duplicate key in one object, or a lone surrogate
            (`\\ud83d`).
    """
    try:
        value = _JSON.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("a lone surrogate, which is not a character") from None
    return value


def json_at(place: str, text: str) -> Any:
    """Return the value of `read_json`.

    Raises:
        DataError: the text at `place` is no such JSON.
    """
    try:
        return read_json(text)
    except ValueError as error:
        raise DataError(f"`{place}` is invalid JSON", got=str(error)) from error


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, with or without a byte order mark.

    Raises:
        DataError: it cannot be opened, or is not valid UTF-8; with line and offset.
    """
    try:
        return decode(path.read_bytes(), path.name)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"`{path}` cannot be read", got=error.strerror)


def decode(data: bytes, name: str) -> str:
    """Decode `data` as UTF-8; `name` is used in messages."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        start = error.start
        line = error.object[:start].count(b"\n") + 1
        raise DataError(
            f"`{name}` has unreadable bytes at line {line}, offset {start}",
            got=f"0x{error.object[start]:02x}",
            allowed="UTF-8",
            then="save the file as UTF-8",
        ) from error


def _nearest(name: str, columns: Sequence[str]) -> str:
    """Return the column that differs only in case, else the nearest."""
    same = next((column for column in columns if column.strip().lower() == name.strip().lower()), None)
    return f"did you mean `{same}`?" if same else nearest(name, columns)


def _plain(path: Path) -> Table:
    with _lines(path, newline="") as file:
        rows = tuple((number, {TEXT: line.strip()}) for number, line in enumerate(file, 1) if line.strip())
    return Table(path, (TEXT,), rows)


def _delimited(path: Path, delimiter: str) -> Table:
    lines = _records(path, delimiter)
    try:
        _, header = next(lines)
    except StopIteration:
        raise DataError(f"`{path.name}` is empty", then="its first line must name the columns") from None
    _need_separator(path, header, delimiter)
    need_header(path, header)
    rows: list[tuple[int, dict[str, str]]] = []
    broken: list[tuple[int, int]] = []  # lines with another number of fields, and this number
    for line, cells in lines:
        if len(cells) == len(header):
            rows.append((line, dict(zip(header, cells, strict=True))))
        else:
            broken.append((line, len(cells)))
    if broken:
        line, fields = broken[0]
        raise DataError(
            f"`{path.name}` has an invalid row at line {line}",
            got=f"{fields} fields",
            allowed=f"{len(header)} fields, as in its first line",
            then="put quotes around values with a separator, a quote or a line break"
            + also("line", [line for line, _ in broken[1:]]),
        )
    return Table(path, tuple(header), tuple(rows))


def also(unit: str, lines: Sequence[int]) -> str:
    """Return e.g. `; also at line 4, 9`, the other positions of an error; empty if there are none."""
    return f"; also at {unit} {enumerated(lines, 10)}" if lines else ""


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line of the record, its fields), without blank lines, without loading the whole file."""
    with _lines(path, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        line = 1
        try:
            for cells in reader:
                if cells:
                    yield line, cells
                line = reader.line_num + 1
        except csv.Error as error:
            raise DataError(
                f"`{path.name}` has an invalid row at line {line}",
                got=str(error),
                then="check its quotes: a quote inside a quoted value must be doubled",
            ) from error


@contextmanager
def _lines(path: Path, newline: str) -> Iterator[TextIO]:
    """Open a UTF-8 file for reading line by line, with the errors of `read_text`."""
    try:
        with path.open(encoding="utf-8-sig", newline=newline) as file:
            yield file
    except UnicodeDecodeError:
        read_text(path)
        raise
    except OSError as error:
        raise _unreadable(path, error) from error


def _jsonl(path: Path) -> Table:
    rows = []
    columns: dict[str, None] = {}
    with _lines(path, newline="\n") as file:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            row = json_row(path, line, text.removesuffix("\n"))
            columns.update(dict.fromkeys(row))
            rows.append((line, row))
    need_header(path, tuple(columns))
    return Table(path, tuple(columns), tuple(rows))


def json_row(path: Path, line: int, text: str) -> dict[str, Any]:
    """Return the object in a line of JSON.

    Raises:
        DataError: there is none.
    """
    try:
        row = read_json(text)
    except ValueError as error:
        got = str(error).replace("line 1 column", "column")  # of the line
        fault = f"`{path.name}` has invalid JSON at line {line}"
        raise DataError(fault, got=got, then=_object_per_line(text)) from error
    if not isinstance(row, dict):
        fault = f"`{path.name}` has no JSON object at line {line}"
        raise DataError(fault, got=text, then=_object_per_line(text))
    return row


def _object_per_line(text: str) -> str:
    found = ", and this looks like a JSON array" if text.lstrip().startswith("[") else ""
    return f"each line must be one JSON object{found}"


def _parquet(path: Path) -> Table:
    import pyarrow.parquet

    try:
        # Check its metadata before anything is decompressed.
        about = pyarrow.parquet.read_metadata(path)
        size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        need_size(path, size, MOST_BYTES)
        need_header(path, about.schema.to_arrow_schema().names)
        table = pyarrow.parquet.read_table(path)
        rows = tuple(enumerate(table.to_pylist(), start=1))
    # Cells may have values that Python does not support: invalid UTF-8, dates after the year 9999.
    except (OSError, ValueError, OverflowError, pyarrow.ArrowException) as error:
        raise DataError(f"`{path.name}` cannot be read as Parquet", got=str(error)) from error
    return Table(path, tuple(table.column_names), rows)
