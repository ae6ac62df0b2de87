"""Kinds of the columns of an unknown table, by their cells: lists of labels, classes or numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from mtlv.data.tables.cells import class_of, is_missing, number_of, python_list
from mtlv.data.tables.labels import are_whole, by_number, labels_of, position_names, positions_of
from mtlv.data.tables.readers import MOST_LABELS
from mtlv.plan.task import UNKNOWN

FEWEST = 10  # positive documents that a label needs in training, validation and test together
MOST_CLASSES = 50
SURE, SEPARATORS = (";", "|"), (";", "|", ",", "/", " ")
RECUR = 0.8  # share of the names in longer lists that are in another list, too; else they are parts of a name
Part = tuple[dict[str, object], dict[str, int]]
"""`data.columns` of what is learned, and the documents with each label or class."""


def list_in(column: Sequence[object], name: str) -> tuple[dict[str, object], dict[str, list[int]]] | None:
    """Return `data.columns` of a column of label lists, and 0 or 1 of each label by row; None if it is none.

    Lists are as in JSON or Python, or with one of `SEPARATORS`, of names or whole numbers; or they have 0 or
    1 for each label.
    """
    as_list = any(
        isinstance(cell, list) or str(cell).lstrip().startswith("[") or python_list(str(cell)) is not None
        for cell in column
    )
    for mark in SEPARATORS[:1] if as_list else SEPARATORS:
        read = [labels_of(cell, mark) for cell in column]
        lists = [row for row, _ in read]
        if any(fault for _, fault in read):
            return None
        settings: dict[str, object] = {"kind": "binary", "label_list": name}
        if not as_list and max(map(len, lists), default=0) >= 2:
            settings["separator"] = mark
        if (positions := positions_of(lists)) is not None:
            labels = position_names(name, len(positions[0]))
            return settings, dict(zip(labels, map(list, zip(*positions, strict=True)), strict=True))
        if _are_lists(lists, mark, sure=as_list):
            names = sorted(set().union(*lists), key=by_number)
            return settings, {x: [int(x in row) for row in lists] for x in names}
    return None


def _are_lists(lists: Sequence[Sequence[str]], mark: str, *, sure: bool) -> bool:
    """Whether names repeat as labels do, and are not always parts of the same longer names."""
    counts = Counter(name for row in lists for name in set(row))
    longer = [row for row in lists if len(row) > 1]
    if not (longer or sure) or not 1 < len(counts) <= MOST_LABELS:
        return False
    numbers = are_whole(counts)
    if numbers and any(len(set(row)) < len(row) for row in lists):  # numbers by word or position, or 4,4
        return False
    if 20 * sum(len(set(row)) < len(row) for row in lists) > len(lists):  # words
        return False
    total = sum(counts.values())
    frequent = sum(count for count in counts.values() if count >= FEWEST)
    if 2 * frequent < total or (mark == " " and not numbers):
        return False
    if sure or mark in SURE:
        return True
    if numbers and mark == ",":  # 4,1 may be a number with a comma; a list is sorted
        return max(map(len, lists)) > 2 or all(int(one) < int(two) for one, two in longer)
    return _recombine(lists) and not (numbers and mark == "/")


def _recombine(lists: Sequence[Sequence[str]]) -> bool:
    """Whether the names of longer lists are in others, too, and at no fixed place."""
    different = set(map(tuple, lists))
    holders = Counter(name for row in different for name in set(row))
    parts = [name for row in different if len(row) > 1 for name in row]
    places = {(name, place) for row in different for place, name in enumerate(row)}
    fixed = len({len(row) for row in different if row}) == 1 and len(places) == len(holders)
    return not fixed and sum(holders[name] > 1 for name in parts) >= RECUR * len(parts)


def of_kind(column: Sequence[object], name: str = "", *, can_be_whole: bool = False) -> Part | None:
    """Return a column of classes or numbers, or None; `can_be_whole` allows too many whole ones for classes.

    Empty cells are not known.
    """
    filled = [cell for cell in column if not is_missing(cell)]
    if len(set(map(str, filled))) < 2:
        return None
    missing = {"missing_labels": "unknown"} if len(filled) < len(column) else {}
    number: Part = ({"kind": "regression", "target": name, **missing}, {})
    if are_numbers(filled):
        return number
    if counts := classes_in(filled):
        return {"kind": "multiclass", "target": name, **missing}, counts
    return number if can_be_whole and are_numbers(filled, can_be_whole=True) else None


def can_be_named(column: Sequence[object]) -> bool:
    """Whether it could be learned if `--labels` names it; whole numbers that never repeat are likely ids."""
    repeats = len(set(map(str, column))) < len(column)
    return of_kind(column, can_be_whole=repeats) is not None


def classes_in(filled: Sequence[object]) -> dict[str, int]:
    """Return the documents of each class; empty if these are no classes."""
    try:
        counts = Counter(map(class_of, filled))
    except ValueError:
        return {}
    return dict(counts) if 2 <= len(counts) <= min(MOST_CLASSES, len(filled) // FEWEST) else {}


def are_numbers(filled: Sequence[object], *, can_be_whole: bool = False) -> bool:
    """Whether these are numbers; if all are whole, they may be classes, unless `can_be_whole`."""
    try:
        rests = [number_of(cell) % 1 for cell in filled]
    except ValueError:
        return False
    return can_be_whole or any(rests)


def are_three_classes(flags: Mapping[str, Sequence[int | None]], name: str) -> bool:
    """Whether -1, 0 and 1 of a column are likely classes, such as bad, neutral and good.

    They are all frequent there, no cell is empty, and no other column has -1.
    """
    column = flags[name]
    few = any(10 * column.count(value) < len(column) for value in (UNKNOWN, 0, 1))
    return not few and None not in column and not any(UNKNOWN in flags[x] for x in flags if x != name)
