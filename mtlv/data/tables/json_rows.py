"""JSON: values that can be written again, and tables as arrays, as columns or as an object a line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mtlv.data.tables.decoding import TextFile, need_size
from mtlv.errors import DataError, shorten

MOST_BYTES = 1_000_000_000  # maximum bytes of a file that is one JSON value
Row = tuple[int, dict[str, Any]]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"a duplicate key `{shorten(twice)}` in one object")
    return fields


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


def json_lines(file: Path, content: str) -> list[Any]:
    """Return the value of each line of a file that is not blank.

    Raises:
        DataError: a line is invalid JSON.
    """
    lines = enumerate(content.split("\n"), start=1)
    return [json_at(f"{file.name}:{number}", line) for number, line in lines if line.strip()]


def json_row(path: Path, line: int, text: str) -> dict[str, Any]:
    """Return the object in a line of JSON.

    Raises:
        DataError: there is none.
    """
    then = "each line must be one JSON object"
    try:
        row = read_json(text)
    except ValueError as error:
        got = str(error).replace("line 1 column", "column")  # of the line
        raise DataError(f"`{path.name}` has invalid JSON at line {line}", got=got, then=then) from error
    if not isinstance(row, dict):
        raise DataError(f"`{path.name}` has no JSON object at line {line}", got=text, then=then)
    return row


def json_rows(file: TextFile) -> Iterator[Row]:
    """Yield (line or number from 1, cells) of a file with an object in each line, or with one JSON value.

    Raises:
        DataError: it is neither, or a row is no object.
    """
    if _has_lines(file):
        with file.lines() as lines:
            for line, text in enumerate(lines, start=1):
                if text.strip():
                    yield line, json_row(file.path, line, text.rstrip("\r\n"))
        return
    need_size(file.path, file.path.stat().st_size, MOST_BYTES)
    for number, row in enumerate(_rows_in(file.path, json_at(file.path.name, file.text())), start=1):
        if not isinstance(row, dict):
            raise DataError(
                f"`{file.path.name}` has no JSON object at row {number}",
                got=shorten(str(row)),
                then="write an array of objects, or an object in each line (.jsonl)",
            )
        yield number, row


def _has_lines(file: TextFile) -> bool:
    """Whether there is a value in each line, not one over several lines."""
    with file.lines() as lines:
        texts = [text for _, text in zip(range(100), lines, strict=False) if text.strip()][:2]
    if not texts or texts[0].lstrip().startswith("["):
        return False
    if len(texts) == 1:
        return file.path.name.lower().partition(".json")[2].startswith("l")
    try:
        read_json(texts[0])
    except ValueError:
        return len(texts[0].strip()) > 1 and not texts[0].strip().endswith(("{", "[", ","))
    return True


def _rows_in(path: Path, value: Any) -> list[Any]:
    """Return the rows of an array, of an array in an object, or of columns, as pandas writes them."""
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        names, rows = value.get("columns"), value.get("data")
        if isinstance(names, list) and isinstance(rows, list) and all(isinstance(row, list) for row in rows):
            return [dict(zip(map(str, names), row, strict=False)) for row in rows]
        lists = [inner for inner in value.values() if isinstance(inner, list) and inner]
        lists = [inner for inner in lists if all(isinstance(row, dict) for row in inner)]
        if len(lists) == 1:
            return list(lists[0])
        if value and all(isinstance(inner, Mapping) for inner in value.values()):
            if not all(key.isdecimal() for inner in value.values() for key in inner):
                return list(value.values())  # rows by id
            value = {name: list(inner.values()) for name, inner in value.items()}
        sizes = {len(cells) if isinstance(cells, list) else None for cells in value.values()}
        if len(sizes) == 1 and None not in sizes:
            return [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
    raise DataError(
        f"`{path.name}` has no rows",
        allowed="an array of objects, an object with one, columns of equal length, or an object in each line",
    )
