"""What a column of an unknown table could be learned as: labels, lists of labels, classes or numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from mtlv.data.tables.cells import is_missing, number_of
from mtlv.data.tables.readers import labels_of

FEWEST = 10  # positive documents that a label needs in training, validation and test together
MOST_CLASSES = 50
SEPARATORS = (";", "|")
Part = tuple[dict[str, object], dict[str, int]]
"""`data.columns` of what is learned, and the documents with each label or class."""


def lists_of(cells: Mapping[str, Sequence[object]]) -> list[Part]:
    """Return the columns of label lists, in JSON or Python, or with one of `SEPARATORS`."""
    in_json = {name: counts for name, column in cells.items() if (counts := _in_json(column))}
    lists: list[Part] = [({"kind": "binary", "label_list": name}, counts) for name, counts in in_json.items()]
    return lists + [
        ({"kind": "binary", "label_list": name, "separator": mark}, counts)
        for name, column in cells.items()
        for mark in SEPARATORS
        if name not in in_json and (counts := _listed(column, mark))
    ]


def of_flags(binary: Mapping[str, Sequence[object]]) -> Part:
    """Return labels by their columns of true and false."""
    counts = {name: sum(map(bool, column)) for name, column in binary.items()}
    return {"kind": "binary", "labels": list(binary)}, counts


def of_kind(column: Sequence[object], name: str = "", *, whole: bool = False) -> Part | None:
    """Return a column of classes or numbers, also of `whole` ones that are too many for classes, or None."""
    if len(set(map(str, column))) == 1:
        return None
    if are_numbers(column):
        return {"kind": "regression", "target": name}, {}
    if counts := classes_in(column):
        return {"kind": "multiclass", "target": name}, counts
    return ({"kind": "regression", "target": name}, {}) if whole and are_numbers(column, whole=True) else None


def can_be_named(column: Sequence[object]) -> bool:
    """Whether it could be learned if `--labels` names it; whole numbers that never repeat are likely ids."""
    repeats = len(set(map(str, column))) < len(column)
    return of_kind(column, whole=repeats) is not None


def _listed(column: Sequence[object], separator: str) -> dict[str, int]:
    """Return the documents with each name of lists; empty if these are no lists."""
    if not any(isinstance(cell, str) and separator in cell for cell in column):
        return {}
    parts = (dict.fromkeys(str(cell or "").split(separator)) for cell in column)  # in order, each once
    return _few([part.strip() for part in each if part.strip()] for each in parts)


def _in_json(column: Sequence[object]) -> dict[str, int]:
    """Return the documents with each name of lists as in JSON; empty if these are no such lists."""
    if not any(str(cell).lstrip().startswith("[") for cell in column):
        return {}
    read = [labels_of(cell, SEPARATORS[0]) for cell in column]
    return {} if any(fault for _, fault in read) else _few(sorted(names) for names, _ in read)


def _few(lists: Iterable[Sequence[str]]) -> dict[str, int]:
    """Return the documents with each name; empty if there are too many names for labels."""
    lists = list(lists)
    names = Counter(name for each in lists for name in each)
    return dict(names) if len(names) <= max(MOST_CLASSES, len(lists) // FEWEST) else {}


def classes_in(column: Sequence[object]) -> dict[str, int]:
    """Return the documents of each class; empty if these are no classes."""
    if any(map(is_missing, column)):
        return {}
    counts = Counter(str(cell).strip() for cell in column)
    return dict(counts) if 2 <= len(counts) <= min(MOST_CLASSES, len(column) // FEWEST) else {}


def are_numbers(column: Sequence[object], *, whole: bool = False) -> bool:
    """Whether these are numbers, and not all of them whole, unless `whole`: whole ones may be classes."""
    try:
        rests = [number_of(cell) % 1 for cell in column]
    except ValueError:
        return False
    return whole or any(rests)
