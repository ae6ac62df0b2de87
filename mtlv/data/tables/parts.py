"""Tables of the parts of one corpus: files beside each other, and which of them have a header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mtlv.data.parts import absent, part_files, part_named
from mtlv.data.tables.hugging_face import was_saved
from mtlv.data.tables.rows import FORMATS, Table, read_table
from mtlv.errors import DataError


def table_files(path: Path) -> dict[str, Path]:
    """Return the file of each part of a folder, or {"": path} for a file.

    Raises:
        DataError: as for `part_files`; or `save_to_disk` wrote the folder.
    """
    if path.is_dir() and was_saved(path):
        then = (
            f"set `data: {{name: huggingface, path: {path}}}`, with the same `columns` "
            "(it needs the package datasets: pip install 'mtlv[huggingface]')"
        )
        raise DataError(f"`{path}` is a data set that `save_to_disk` wrote, not a table", then=then)
    return part_files(path, FORMATS) if path.is_dir() else {"": path}


def beside(path: Path) -> tuple[Path, str]:
    """Return the folder of a file whose name and neighbours are named like parts, and a note; else the file.

    Example: `train.csv` with `test.csv` beside it is a folder of two parts.
    """
    if not path.is_file() or not part_named(path):
        return path, ""
    try:
        files = part_files(path.parent, FORMATS)
    except DataError as error:
        return path, f"only `{path.name}` is read: {error}"
    if len(files) < 2 or path not in files.values():
        return path, ""
    names = ", ".join(file.name for file in files.values())
    return path.parent, f"parts of one corpus, as they are named: {names}"


def look_at(
    path: Path, *, names: Sequence[str] | None = None, header: bool | None = None
) -> tuple[Table, tuple[str, ...] | None]:
    """Read an unknown table, or a folder with one for each part; and return its rows together, and the names
    of columns that a config must have, if files have no header.

    Notes say what was decided.

    Args:
        path: a file, or a folder.
        names: the columns of files without a header.
        header: whether the files have one; None to decide by their first rows.

    Raises:
        DataError: as for `read_table`, or a part lacks columns of the training part.
    """
    files = table_files(path)
    tables = {part: read_table(file, names=names, header=header) for part, file in files.items()}
    without = [table for table in tables.values() if table.is_headless]
    if without and names is None:
        names = _names_for(without, [table for table in tables.values() if not table.is_headless])
        tables = {part: _rename_columns(table, names) for part, table in tables.items()}
    joined = _join_rows(path, tables)
    notes = (missing,) if (missing := absent(files)) else ()
    if without:
        what = ", ".join(f"`{table.path.name}`" for table in without)
        notes = (
            *notes,
            f"{what}: no header, as the first line looks like data; the columns are called "
            f"{', '.join(names or ())} (`--columns a,b,c` names them, `--header` takes the first "
            "line as their names)",
        )
    return replace(joined, notes=(*joined.notes, *notes)), tuple(names) if without and names else None


def _names_for(without: Sequence[Table], others: Sequence[Table]) -> tuple[str, ...]:
    """Return names for tables without a header: those of another part, without its column of row numbers."""
    count = len(without[0].columns)
    for other in others:
        kept = [name for name in other.columns if not _is_index(other.column(name))]
        for names in (other.columns, tuple(kept)):
            if len(names) == count:
                return names
    return without[0].columns


def _is_index(cells: Sequence[object]) -> bool:
    """Whether these are whole numbers that go up by one."""
    texts = [str(cell).strip() for cell in cells]
    if len(texts) < 3 or not texts[0].isdecimal():
        return False
    start = int(texts[0])
    return texts == [str(start + place) for place in range(len(texts))]


def _rename_columns(table: Table, names: Sequence[str]) -> Table:
    if not table.is_headless or len(table.columns) != len(names):
        return table
    rows = tuple((line, dict(zip(names, row.values(), strict=True))) for line, row in table.rows)
    return replace(table, columns=tuple(names), rows=rows)


def _join_rows(path: Path, tables: Mapping[str, Table]) -> Table:
    """Return the rows of all parts, with the columns of the first one.

    Raises:
        DataError: a part lacks some of them.
    """
    first, *rest = tables.values()
    if not rest:
        return first
    for table in rest:
        lacks = [name for name in first.columns if name not in table.columns]
        if lacks and not all(_is_index(first.column(name)) for name in lacks):
            raise DataError(
                f"`{table.path.name}` does not have all columns of `{first.path.name}`",
                got=", ".join(table.columns),
                allowed=", ".join(first.columns),
                then=f"add `{lacks[0]}`; or, if it has no answers, move it elsewhere, and predict it with "
                "the trained model (`mtlv predict RUN --file`)",
            )
    common = tuple(name for name in first.columns if all(name in table.columns for table in rest))
    rows = tuple(
        (line, {name: row.get(name) for name in common})
        for table in tables.values()
        for line, row in table.rows
    )
    notes = tuple(note for table in tables.values() for note in table.notes)
    return Table(path, common, rows, notes)
