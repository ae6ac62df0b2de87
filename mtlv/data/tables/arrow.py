"""Rows of Parquet, Feather and Arrow files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from mtlv.data.tables.decoding import most_unpacked, need_size
from mtlv.data.tables.json_rows import read_json
from mtlv.errors import DataError

ROW_BYTES, CELL_BYTES = 200, 64  # what rows and cells take besides their content, roughly
NO_CLASS = -1  # value of `datasets` for a missing class


def arrow_rows(path: Path, suffix: str) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Read a Parquet, Feather or Arrow file, whose size in memory is limited.

    Returns the names of its columns, and its rows. Classes that Hugging Face's `datasets` wrote as numbers
    have their names.

    Raises:
        DataError: it is invalid or too large, or has cells that are no values of Python.
    """
    import pyarrow

    try:
        schema, batches = _parquet(path) if suffix == ".parquet" else _feather(path)
        columns, classes = tuple(schema.names), _classes(schema)
        rows: list[dict[str, Any]] = []
        size, most = 0, most_unpacked(path)
        for batch in batches:
            size += batch.num_rows * ROW_BYTES + sum(map(_size, batch.columns))
            need_size(path, size, most)  # before its cells are Python values
            cells_of_rows = zip(*map(_cells, batch.columns), strict=True)
            rows += [dict(zip(columns, cells, strict=True)) for cells in cells_of_rows]
        for name, names in classes.items():
            for row in rows:
                row[name] = class_name(row[name], names)
    # Cells may have values that Python does not support: invalid UTF-8, dates after the year 9999.
    except (OSError, ValueError, OverflowError, pyarrow.ArrowException) as error:
        raise DataError(
            f"`{path.name}` cannot be read as {suffix[1:].capitalize()}", got=str(error)
        ) from error
    return columns, rows


def class_name(value: Any, names: Sequence[str]) -> Any:
    """Return the name of a class, or the names of a list of them; None for no class (-1).

    A number without a name stays a number.
    """
    if isinstance(value, list):
        return [class_name(item, names) for item in value]
    if value == NO_CLASS:
        return None
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else value


def _classes(schema: Any) -> dict[str, Sequence[str]]:
    """Return the class names of columns, as `datasets` writes them into the schema."""
    written = read_json((schema.metadata or {}).get(b"huggingface", b"{}").decode())
    features = written.get("info", {}).get("features", {})
    classes = {}
    for name, feature in features.items():
        inner = feature.get("feature") or feature if isinstance(feature, dict) else {}  # of a list of classes
        if name in schema.names and isinstance(inner, dict) and inner.get("_type") == "ClassLabel":
            classes[name] = inner["names"]
    return classes


def _parquet(path: Path) -> tuple[Any, Iterator[Any]]:
    import pyarrow
    from pyarrow.parquet import ParquetFile

    about = ParquetFile(path)
    sizes = [about.metadata.row_group(i).total_byte_size for i in range(about.num_row_groups)]
    need_size(path, sum(sizes), most_unpacked(path))
    texts = [
        f.name
        for f in about.schema_arrow
        if pyarrow.types.is_string(f.type) or pyarrow.types.is_large_string(f.type)
    ]
    # Equal texts are read once, also where millions of rows have them.
    return about.schema_arrow, ParquetFile(path, read_dictionary=texts).iter_batches(4096)


def _feather(path: Path) -> tuple[Any, Iterator[Any]]:
    import pyarrow

    def reader(file: IO[bytes]) -> Any:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        return pyarrow.ipc.open_file(file) if is_file else pyarrow.ipc.open_stream(file)

    def batches() -> Iterator[Any]:
        with path.open("rb") as file:
            read = reader(file)
            count = getattr(read, "num_record_batches", None)  # streams do not know it
            yield from read if count is None else map(read.get_batch, range(count))

    with path.open("rb") as file:
        return reader(file).schema, batches()


def _size(column: Any) -> int:
    """Return the bytes of a column as Python values, without making them; equal texts are counted each."""
    import pyarrow.compute

    size = column.nbytes + CELL_BYTES * len(column)
    if isinstance(column, pyarrow.DictionaryArray) and pyarrow.types.is_string(column.dictionary.type):
        lengths = pyarrow.compute.binary_length(column.dictionary).take(column.indices)
        size += pyarrow.compute.sum(lengths).as_py() or 0
    return int(size)


def _cells(column: Any) -> list[Any]:
    import pyarrow

    if isinstance(column, pyarrow.DictionaryArray):
        values = [*column.dictionary.to_pylist(), None]
        return [values[-1 if place is None else place] for place in column.indices.to_pylist()]
    return list(column.to_pylist())
