"""Tasks of a user's table: a reader for each kind of task.

A new kind needs one more entry in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from mtlv.data.options import Columns
from mtlv.data.source import targets_of, text_task
from mtlv.data.tables.bad_cells import Cells, ColumnCheck, readable
from mtlv.data.tables.cells import class_of, is_missing, list_of, number_of, tags_of
from mtlv.data.tables.labels import (
    MEANINGS,
    are_whole,
    by_number,
    flag_of,
    labels_of,
    position_names,
    positions_of,
)
from mtlv.data.targets import TARGETS, spans_column
from mtlv.errors import DataError, nearest, shorten
from mtlv.plan.task import UNKNOWN, Task
from mtlv.plan.word_tags import IGNORED, are_classes, named_tags, spans_of_rows, unknown_tags

MOST_LABELS = 2000  # maximum labels, classes or types; more indicate a wrong column or separator
TAG_METRICS = ("entity_f1", "entity_precision", "entity_recall", "word_f1_macro")
UNTYPED = "entity"  # type of bare tags (`B`, `I`)
OR_UNKNOWN = "or set `data.columns.missing_labels: unknown` if empty cells mean that it is not known"
NO_ANSWER = f"a label must not be missing: fill it, such as with 0 for no, {OR_UNKNOWN}"
NO_TARGET = f"fill it, leave the row out, {OR_UNKNOWN}"
Learned = tuple[tuple[Task, ...], Mapping[str, NDArray]]
"""The tasks, and task name -> targets [N]."""


class TableKind(Protocol):
    """Reader for one kind of task.

    Args:
        reads: keys of `data.columns` for the targets; other target keys are errors.
        text_keys: keys of additional columns of a document.
        by_word: whether documents are lists of words.
        streamed: whether only texts are read, so that lines of a file need not be held in memory.
    """

    reads: tuple[str, ...]
    text_keys: tuple[str, ...] = ("text_pair", "mentions", "subgroups")
    by_word: bool = False
    streamed: bool = False

    def problems(self, columns: Columns, there: str) -> Iterator[DataError]:
        """Yield errors of missing or contradictory settings; `there` lists the existing columns."""
        yield from ()

    def checks(self, columns: Columns) -> Iterator[ColumnCheck]:
        """Yield the checks of target columns, if there are no errors in the settings."""
        yield from ()

    def learned(self, rows: Sequence[Cells], columns: Columns, source: str) -> Learned:
        """Return tasks and targets of N valid rows.

        Raises:
            DataError: too many classes, or one that is not in the settings.
        """


class LabelColumns(TableKind):
    """Yes/no tasks: a column of 0 and 1 for each, or one column of lists."""

    reads = ("labels", "label_list", "separator", "missing_labels", "uncertain", "classes")

    def problems(self, columns: Columns, there: str) -> Iterator[DataError]:
        if (columns.labels is None) == (columns.label_list is None):
            yield DataError(
                "`data.columns` must have a column for the labels",
                allowed="either `labels`, a list of 0/1 columns, or `label_list`, one column of label lists",
                then=f"{there}; for classes, numbers or tags set `data.columns.kind`",
            )
        if columns.label_list is not None and columns.missing_labels != "error":
            yield DataError(
                f"`data.columns.missing_labels: {columns.missing_labels}` is for columns of `labels`",
                then="remove it: an empty cell of `label_list` means no labels",
            )
        if columns.labels is not None and columns.classes is not None:
            yield DataError(
                "`data.columns.classes` names the labels of `label_list`",
                then="remove it: columns of `labels` are their own names",
            )

    def checks(self, columns: Columns) -> Iterator[ColumnCheck]:
        for name in columns.labels or ():
            kind = partial(_other_kind, name, alone=columns.labels == (name,))
            allowed = "0, 1, true, false, yes, no"
            yield ColumnCheck("labels", name, _flag_fault, allowed, NO_ANSWER, kind)
        if columns.label_list is not None:
            lists = f'a JSON list such as ["a", "b"], or names joined by `{columns.separator}`'
            name = columns.label_list
            yield ColumnCheck("label_list", name, lambda cell: labels_of(cell, columns.separator)[1], lists)

    def learned(self, rows: Sequence[Cells], columns: Columns, source: str) -> Learned:
        read = _flags if columns.label_list is None else _of_lists
        targets = read(rows, columns)
        then = "check `data.columns.label_list` and `data.columns.separator`"
        _need_few("labels", targets, columns.label_list, then)
        return tuple(Task(name, source=source, description=name) for name in targets), targets


class ClassColumn(TableKind):
    """One class of several: names or integers."""

    reads = ("task", "target", "classes", "negative", "metric", "missing_labels")

    def problems(self, columns: Columns, there: str) -> Iterator[DataError]:
        yield from _unset(columns.target, "target", "the column with the class of a document", there)
        yield from bad_metric(columns, self._metrics(columns))

    def checks(self, columns: Columns) -> Iterator[ColumnCheck]:
        name = str(columns.target)
        allowed = ", ".join(columns.classes or ()) or "a name or a whole number"
        yield ColumnCheck("target", name, partial(_class_fault, columns.classes), allowed, NO_TARGET)

    def learned(self, rows: Sequence[Cells], columns: Columns, source: str) -> Learned:
        answers = _column(rows, str(columns.target), class_of, None)
        classes = _classes(columns, set(answers) - {None}, "target")
        metric = self._metrics(columns)[0]
        task = _task(columns, "multiclass", source, str(columns.target), metric, classes)
        place = {None: UNKNOWN} | {name: number for number, name in enumerate(classes)}
        return (task,), {task.name: np.array([place[answer] for answer in answers], np.int64)}

    def _metrics(self, columns: Columns) -> tuple[str, ...]:
        return (*(("f1_micro_positive",) if columns.negative else ()), "accuracy", "f1_micro", "f1_macro")


class NumberColumn(TableKind):
    """One number per document."""

    reads = ("task", "target", "metric", "missing_labels")
    metrics = ("pearson", "spearman")

    def problems(self, columns: Columns, there: str) -> Iterator[DataError]:
        yield from _unset(columns.target, "target", "the column with the number of a document", there)
        yield from bad_metric(columns, self.metrics)

    def checks(self, columns: Columns) -> Iterator[ColumnCheck]:
        name = str(columns.target)
        fault = readable(number_of, "is not a number")
        yield ColumnCheck("target", name, fault, "a number such as 1234.5", NO_TARGET)

    def learned(self, rows: Sequence[Cells], columns: Columns, source: str) -> Learned:
        task = _task(columns, "regression", source, str(columns.target), self.metrics[0])
        values = _column(rows, str(columns.target), number_of, np.nan)
        return (task,), {task.name: np.array(values, np.float32)}


class WordTagColumn(TableKind):
    """One tag per word: of entities, in BIO or another scheme, or a class; see `mtlv.plan.word_tags`."""

    reads = ("task", "tags", "classes", "metric", "missing_labels")
    text_keys = ("words", "subgroups")
    by_word = True

    def problems(self, columns: Columns, there: str) -> Iterator[DataError]:
        yield from _unset(columns.tags, "tags", "the column with a tag for each word of a document", there)
        yield from bad_metric(columns, TAG_METRICS)

    def checks(self, columns: Columns) -> Iterator[ColumnCheck]:
        name, words = str(columns.tags), columns.words or columns.text
        form = 'as many tags as words: "B-Drug O", or ["B-Drug", "O"]; O, or B, I, E, L, U, S with a type'
        fault = partial(_tags_fault, named=columns.classes is not None)
        yield ColumnCheck("tags", name, fault, form, NO_TARGET, _names_of_numbers, beside=(words,))

    def learned(self, rows: Sequence[Cells], columns: Columns, source: str) -> Learned:
        cells = _column(rows, str(columns.tags), tags_of, None)
        tags, are_numbers = named_tags([row for row in cells if row is not None], columns.classes)
        known = iter(spans_of_rows(tags, UNTYPED))
        spans = [None if row is None else next(known) for row in cells]
        types = replace(columns, classes=None) if are_numbers else columns
        classes = _classes(types, {span.type for row in spans for span in row or ()}, "tags")
        metric = tag_metric(chain.from_iterable(tags))
        task = _task(columns, "tagging", source, str(columns.tags), metric, classes)
        return (task,), {task.name: spans_column(spans)}


class TextColumn(TableKind):
    """No target: the text itself is learned."""

    reads = ()
    text_keys = ()
    streamed = True

    def learned(self, rows: Sequence[Cells], columns: Columns, source: str) -> Learned:
        task = text_task(f"{source}.text", source)
        return (task,), {task.name: TARGETS[task.kind].none(len(rows))}


KINDS: dict[str, TableKind] = {
    "binary": LabelColumns(),
    "multiclass": ClassColumn(),
    "regression": NumberColumn(),
    "tagging": WordTagColumn(),
    "mlm": TextColumn(),
}


def _task(
    columns: Columns, kind: str, source: str, column: str, metric: str, classes: tuple[str, ...] = ()
) -> Task:
    """Return the only task of a table; its default name is that of the target column."""
    name = columns.task or column
    return Task(
        name,
        kind=kind,
        source=source,
        classes=classes,
        negative=columns.negative,
        description=name,
        main_metric=columns.metric or metric,
    )


# ---- Settings --------------------------------------------------------------------------------------------


def _unset(column: str | None, key: str, allowed: str, there: str) -> Iterator[DataError]:
    if column is None:
        fault = f"`data.columns.{key}` is not set, and `data.columns.kind` needs it"
        yield DataError(fault, allowed=allowed, then=there)


def tag_metric(tags: Iterable[str]) -> str:
    """Return the usual metric of tags: of entities, or of a class of each word."""
    return TAG_METRICS[-1 if are_classes(tags) else 0]


def bad_metric(columns: Columns, known: Sequence[str]) -> Iterator[DataError]:
    """Yield the error of a metric that the kind of task does not have."""
    if columns.metric is not None and columns.metric not in known:
        yield DataError(
            "`data.columns.metric` is not a metric of this kind of task",
            got=columns.metric,
            allowed=", ".join(known),
            then=nearest(columns.metric, known),
        )


def _classes(columns: Columns, values: Set[str], key: str) -> tuple[str, ...]:
    """Return the named classes, or those in the data; numbers are sorted numerically.

    Raises:
        DataError: too many classes, one that is not named, or a negative class that is not a class.
    """
    classes = columns.classes or tuple(sorted(values, key=by_number))
    _need_few("classes", classes, getattr(columns, key), f"check `data.columns.{key}`")
    for key_, names in ((key, sorted(values)), ("negative", columns.negative)):
        unknown = [name for name in names if name not in classes]
        if unknown:
            raise DataError(
                f"`data.columns.{key_}` has values that are not classes",
                got=", ".join(unknown),
                allowed=", ".join(classes),
                then=nearest(unknown[0], classes),
            )
    return classes


def _need_few(what: str, names: Collection[str], column: str | None, then: str) -> None:
    if len(names) > MOST_LABELS:
        fault = f"too many {what} in column `{shorten(column or '')}`"
        raise DataError(fault, got=len(names), allowed=f"up to {MOST_LABELS}", then=then)


# ---- Cells -----------------------------------------------------------------------------------------------


def _column(rows: Sequence[Cells], name: str, read: Callable[[Any], Any], unknown: object) -> list[Any]:
    """Return what is read from the cells of a column [N]; `unknown` for empty ones."""
    cells = (row.get(name) for row in rows)
    return [unknown if is_missing(cell) else read(cell) for cell in cells]


def _flag_fault(cell: object) -> str:
    if flag_of(cell) is not None:
        return ""
    return "is empty" if is_missing(cell) else "is not 0 or 1"


def _flags(rows: Sequence[Cells], columns: Columns) -> dict[str, NDArray[np.int8]]:
    """Return for each column of labels 0, 1 or `UNKNOWN` for each row [N].

    Raises:
        DataError: cells are neither yes nor no, such as -1, and no setting says what that means.
    """
    names = columns.labels or ()
    flags = {name: [flag_of(row.get(name)) for row in rows] for name in names}
    if columns.uncertain == "error" and any(UNKNOWN in column for column in flags.values()):
        counts = {name: column.count(UNKNOWN) for name, column in flags.items()}
        raise DataError(
            "cells of `data.columns.labels` are neither yes nor no, such as -1 or `uncertain`",
            got=", ".join(f"{name}: {count}" for name, count in counts.items() if count),
            then="set `data.columns.uncertain` to what they mean: unknown, yes or no; if -1, 0 and 1 are "
            "three classes, learn them with `kind: multiclass` and `target`",
        )
    empty = 0 if columns.missing_labels == "no" else UNKNOWN
    meaning = {None: empty, UNKNOWN: MEANINGS.get(columns.uncertain, UNKNOWN)}
    return {
        name: np.array([meaning.get(flag, flag) for flag in column], np.int8)
        for name, column in flags.items()
    }


def _of_lists(rows: Sequence[Cells], columns: Columns) -> dict[str, NDArray[np.int8]]:
    """Return 0 or 1 of each label for each row [N], from lists of labels or of 0 and 1 by position.

    Raises:
        DataError: `columns.classes` are not as many as the positions or numbers, or a name is none of them.
    """
    name, classes = str(columns.label_list), columns.classes
    lists = [labels_of(row.get(name), columns.separator)[0] for row in rows]
    positions = positions_of(lists)
    if positions is not None:
        names = classes or position_names(name, len(positions[0]))
        if len(names) != len(positions[0]):
            _wrong_classes(f"has 0 or 1 for {len(positions[0])} labels", classes)
        return dict(zip(names, np.array(positions, np.int8).T, strict=True))
    there = set().union(*lists)
    if classes is None:
        return targets_of([set(row) for row in lists], tuple(sorted(there)))
    if there <= set(classes):
        return targets_of([set(row) for row in lists], classes)
    if not are_whole(there) or int(max(there, key=by_number)) >= len(classes):
        _wrong_classes(f"has {shorten(max(there - set(classes), key=by_number))}", classes)
    return targets_of([{classes[int(item)] for item in row} for row in lists], classes)


def _wrong_classes(fault: str, classes: Collection[str] | None) -> NoReturn:
    raise DataError(
        f"`data.columns.label_list` {fault}, which `data.columns.classes` does not name",
        got=", ".join(classes or ()),
        then="name all labels, in the order of the positions or numbers from 0",
    )


def _other_kind(name: str, cells: Sequence[object], *, alone: bool) -> str:
    """Return how to learn a column of classes or numbers, which is no label; empty if these are neither."""
    kinds = []
    if _all_are(number_of, cells):
        kinds.append("for numbers set `kind: regression`")
    if _all_are(class_of, cells) and not (kinds and any(number_of(cell) % 1 for cell in cells)):
        kinds.append("for classes set `kind: multiclass`")
    where = "instead of `labels`" if alone else "in a source of its own (`data.sources`)"
    return f"{', '.join(kinds)} and `target: {shorten(name)}`, {where}" if kinds else ""


def _all_are(read: Callable[[object], object], cells: Sequence[object]) -> bool:
    try:
        return all(read(cell) is not None for cell in cells)
    except ValueError:
        return False


def _class_fault(classes: Collection[str] | None, cell: object) -> str:
    try:
        name = class_of(cell)
    except ValueError:
        return "is empty" if is_missing(cell) else "is not a class"
    return "" if classes is None or name in classes else "is an unknown class"


def _names_of_numbers(cells: Sequence[object]) -> str:
    """Return the next step for tags that are numbers; empty for others."""
    try:
        are_numbers = all(tag.isdecimal() for cell in cells for tag in tags_of(cell))
    except ValueError:
        return ""
    names = "name each number in order, from 0: `data.columns.classes: [O, B-Drug, I-Drug]`"
    return names if are_numbers else ""


def _tags_fault(tags: object, words: object, *, named: bool) -> str:
    try:
        names = tags_of(tags)
    except ValueError:
        return "is empty" if is_missing(tags) else "is not a list of tags"
    if not named and all(tag.isdecimal() for tag in names):
        return "has numbers as tags, without names"
    if strange := [IGNORED] * (IGNORED in names) or unknown_tags(names):
        return f"has an unknown tag `{strange[0]}`"
    try:
        count = len(list_of(words))
    except ValueError:
        return ""  # reported for the words
    return "" if len(names) == count else f"has {len(names)} tags for {count} words"
