"""Corpora of texts alone, from files with a document in each line that are never held in memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtlv.data.options import Columns
from mtlv.data.parts import part_of, title_of
from mtlv.data.repeats import digests_of, first_rows
from mtlv.data.source import Corpus, duplicate_id, text_task
from mtlv.data.tables.bad_cells import Cells, ColumnCheck
from mtlv.data.tables.corpus import (
    document_checks,
    is_blank,
    no_documents,
    settings_faults,
)
from mtlv.data.tables.delimited import also
from mtlv.data.tables.json_rows import json_row
from mtlv.data.tables.readers import KINDS
from mtlv.data.tables.rows import MOST_COLUMNS, TEXT, Table, need_header, need_rows
from mtlv.data.targets import TARGETS
from mtlv.data.texts.files import JsonText, Lines, Version, line_text, lines, open_unchanged
from mtlv.data.texts.lazy import Made, chain_lazily
from mtlv.errors import DataError
from mtlv.formatting import many

ENDINGS = (".txt", ".jsonl")
KEPT: dict[str, Callable[[object], str]] = {"part": part_of, "group": str}  # columns that are kept in memory


@dataclass
class _File:
    """What is kept of a file: numbers, and the values of a few columns."""

    path: Path
    columns: Columns  # settings
    names: dict[str, None] = field(default_factory=dict)  # names of its columns
    blank: array[int] = field(default_factory=lambda: array("Q"))  # lines of rows without a text
    # starts, numbers: position and number of the line of each document
    starts: array[int] = field(default_factory=lambda: array("Q"))
    numbers: array[int] = field(default_factory=lambda: array("Q"))
    # values of each document by key of `data.columns`
    values: dict[str, list[str]] = field(default_factory=dict)
    # by number of the check, the first invalid cell and the lines of the others
    bad: dict[int, tuple[tuple[int, Any, str], array[int]]] = field(default_factory=dict)
    version: Version = field(init=False)  # the file as it was read

    def read(self, checks: Sequence[ColumnCheck]) -> None:
        """Read the file, line by line.

        Raises:
            DataError: a line is invalid, or there is none.
            UnicodeError: a line is not UTF-8.
        """
        kept = [key for key in KEPT if getattr(self.columns, key) is not None]
        self.values = {key: [] for key in kept}
        shared: dict[str, str] = {}  # equal values are kept once
        for number, at, row in self._rows():
            if is_blank(row.get(self.columns.text)):
                self.blank.append(number)
                continue
            self.starts.append(at)
            self.numbers.append(number)
            for place, check in enumerate(checks):
                fault = check.fault_in(row)
                if fault and place in self.bad:
                    self.bad[place][1].append(number)
                elif fault:
                    self.bad[place] = (number, row.get(check.column), fault), array("Q")
            for key in kept:
                value = KEPT[key](row.get(getattr(self.columns, key)))
                self.values[key].append(shared.setdefault(value, value))
        need_rows(self.path, len(self.starts) + len(self.blank))

    def _rows(self) -> Iterator[tuple[int, int, Cells]]:
        """Yield number, position and cells of the lines that are not blank."""
        plain = self.path.suffix.lower() == ".txt"
        with open_unchanged(self.path) as file:
            self.version = Version.of(self.path, file)
            for number, at, line in lines(file, universal=plain):
                if b"\0" in line:
                    raise UnicodeError("a NUL byte, as UTF-16 and binary files have")
                text = line.decode()
                if not text.strip():
                    continue
                row = {TEXT: text.strip()} if plain else json_row(self.path, number, text.removesuffix("\n"))
                self.names.update(dict.fromkeys(row))
                if len(self.names) > MOST_COLUMNS:
                    need_header(self.path, tuple(self.names))
                yield number, at, row
            self.version.need(file)

    @property
    def table(self) -> Table:
        """The table without its rows, for messages."""
        return Table(self.path, tuple(self.names), ())

    def faults(self, checks: Sequence[ColumnCheck]) -> Iterator[DataError]:
        """Yield all errors, as for a table in memory."""
        for check in checks:
            yield from check.absence(self.table)
        if self.columns.text in self.names and not self.starts:
            yield no_documents(self.table, self.columns.text)
        for place, check in enumerate(checks):
            if place in self.bad and check.column in self.names:
                yield check.error(self.table, *self.bad[place])

    @property
    def dropped(self) -> str:
        """A note on the rows without a text, with the first lines; empty if there are none."""
        where = also("line", self.blank).removeprefix("; also at ")
        if not where:
            return ""
        return f"{many(len(self.blank), 'row')} without text dropped: `{self.path.name}`, {where}"

    def texts(self, column: str) -> Lines:
        """Return the texts of a column; those of documents without spaces around them."""
        is_text = column == self.columns.text
        plain = self.path.suffix.lower() == ".txt"
        text = line_text if plain else JsonText(column, stripped=is_text)
        return Lines(self.version, _array(self.starts), text)


def can_stream(files: Mapping[str, Path], columns: Columns) -> bool:
    """Whether the documents of files can be left on disk."""
    if columns.encoding is not None:
        return False
    return KINDS[columns.kind].streamed and all(file.suffix.lower() in ENDINGS for file in files.values())


def text_corpus(name: str, files: Mapping[str, Path], columns: Columns, *notes: str) -> Corpus:
    """Build the corpus of one file, or of a file for each part, like `table_corpus`; texts stay on disk.

    Raises:
        DataError: as for `table_corpus`; a file cannot be read, or has an invalid line.
        UnicodeError: a file is not UTF-8.
    """
    kind = KINDS[columns.kind]
    checks = list(document_checks(columns, kind))
    parts = {part: _File(path, columns) for part, path in files.items()}
    for file in parts.values():
        file.read(checks)
    faults = [*settings_faults(kind, columns, {part: file.table for part, file in parts.items()})]
    faults = faults or [fault for file in parts.values() for fault in file.faults(checks)]
    if faults:
        raise DataError.all_of(faults)
    texts = chain_lazily([file.texts(columns.text) for file in parts.values()])
    task = text_task(f"{name}.text", name)
    parts_of_files = [file.values.get("part", [part] * len(file.starts)) for part, file in parts.items()]
    groups = [file.values["group"] for file in parts.values() if "group" in file.values]
    return Corpus(
        name=name,
        tasks=(task,),
        ids=_ids(name, parts.values(), columns.id),
        texts=texts,
        targets={task.name: TARGETS[task.kind].none(len(texts))},
        parts=tuple(chain(*parts_of_files)) if any(map(any, parts_of_files)) else None,
        groups=tuple(chain(*groups)) if groups else None,
        notes=tuple(note for note in (*notes, *(file.dropped for file in parts.values())) if note),
    )


def _ids(name: str, files: Collection[_File], column: str | None) -> Sequence[str]:
    """Return the ids of documents: the numbers of their lines, or the values of a column.

    Raises:
        DataError: two are equal.
    """
    if column is None:
        several = [f"{title_of(file.path)}." if len(files) > 1 else "" for file in files]
        return chain_lazily([Made(_array(file.numbers), str) for file in files], several)
    ids = chain_lazily([file.texts(column) for file in files])
    first, which = first_rows(digests_of(ids, len(ids)))
    if len(first) < len(ids):
        raise duplicate_id(name, ids[int(np.flatnonzero(first[which] != np.arange(len(ids)))[0])])
    return ids


def _array(numbers: array[int]) -> NDArray[np.uint64]:
    return np.frombuffer(numbers, np.uint64)
