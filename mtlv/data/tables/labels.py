"""Labels in the cells of a table: yes or no in several languages, and lists of labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from mtlv.data.tables.cells import is_missing, python_list
from mtlv.data.tables.json_rows import read_json
from mtlv.plan.task import UNKNOWN

NO_YES = """
    no yes, n y, false true, f t, absent present, negative positive, neg pos, nein ja, n j,
    falsch wahr, negativ positiv, non oui, faux vrai, absent présent, négatif positif, no si, no sí,
    falso verdadero, negativo positivo, ausente presente, falso vero, não sim, nao sim, nee ja, nej ja,
    нет да, 否 是
"""
PAIRS = tuple(tuple(pair.split()) for pair in NO_YES.split(","))
FLAGS = {word: flag for pair in PAIRS for flag, word in enumerate(pair)}
UNCERTAIN = (
    "uncertain", "unknown", "unsicher", "unbekannt", "incertain", "inconnu", "incierto",
    "desconocido", "incerto", "?", "na", "n/a", "nan", "null",
)  # fmt: skip
MEANINGS = {"unknown": UNKNOWN, "yes": 1, "no": 0}
"""What -1 or `uncertain` may mean: `data.columns.uncertain`."""

BITS = re.compile(r"[01]{3,}")


def flag_of(value: object) -> int | None:
    """Return 1 or 0 from a number, boolean or text (also `True`, `Yes` or `ja`).

    `UNKNOWN` is returned for -1, `uncertain` and the like; None for anything else.
    """
    if isinstance(value, str):
        word = value.strip().lower()
        if word in FLAGS:
            return FLAGS[word]
        if word in UNCERTAIN:
            return UNKNOWN
        with suppress(ValueError):
            value = float(word)
    return int(value) if isinstance(value, int | float) and value in (0, 1, UNKNOWN) else None


def labels_of(value: object, separator: str) -> tuple[list[str], str]:
    """Return the labels of a cell, in its order, and an error.

    A cell is a list (also one in JSON or Python) of names or whole numbers, or separated names.
    """
    if isinstance(value, str):
        text = value.strip()
        if (items := python_list(text)) is not None:
            value = items
        elif text.startswith("["):
            try:
                value = read_json(text)
            except ValueError as error:
                return [], f"is not a JSON list: {error}"
    if value is None or is_missing(value):
        return [], ""
    parts = value.split(separator) if isinstance(value, str) else value
    if isinstance(parts, int | float):
        parts = [parts]
    if hasattr(parts, "tolist"):  # of NumPy
        parts = parts.tolist()
    names = [_name(part) for part in parts] if isinstance(parts, list | tuple | set) else [None]
    if None in names:
        return [], "is not a list of labels"
    return [name for name in names if name], ""


def positions_of(lists: Sequence[Sequence[str]]) -> list[list[int]] | None:
    """Return 0 or 1 for each position, if that is what all lists have.

    All (but empty ones) have one length of two or more, and a value is twice in one of them, as in
    `[0, 0, 1]`: a set of names would not have it twice. Digits without a separator are a list, too: `001`.

    Example: `positions_of([["0", "0", "1"], ["1", "0", "1"]])` is `[[0, 0, 1], [1, 0, 1]]`.
    """
    filled = [row for row in lists if row]
    texts = {row[0] for row in filled if len(row) == 1 and BITS.fullmatch(row[0])}
    if filled and all(len(row) == 1 and row[0] in texts for row in filled) and min(texts)[0] == "0":
        return positions_of([list(row[0]) if row else [] for row in lists])
    lengths = {len(row) for row in filled}
    if len(lengths) != 1 or not any(len(set(row)) < len(row) for row in filled):
        return None
    flags = [[flag_of(item) for item in row] for row in filled]
    if not all(flag in (0, 1) for row in flags for flag in row):
        return None
    rows, none = iter(flags), [0] * lengths.pop()
    return [[int(bool(flag)) for flag in next(rows)] if row else none for row in lists]


def position_names(column: str, count: int) -> tuple[str, ...]:
    """Return names of the positions of a column of 0 and 1, counted from 1."""
    return tuple(f"{column} {number}" for number in range(1, count + 1))


def are_whole(names: Iterable[str]) -> bool:
    """Whether all names are whole numbers of 0 or more."""
    return all(name.isascii() and name.isdecimal() for name in names)


def by_number(name: str) -> tuple[bool, int, str]:
    """Return a key to sort names by which numbers are sorted as numbers."""
    is_number = are_whole([name])
    return not is_number, int(name) if is_number else 0, name


def _name(part: Any) -> str | None:
    """Return a label as text: a name, or a whole number; None for anything else."""
    if isinstance(part, bool):
        return str(int(part))
    if isinstance(part, int) or (isinstance(part, float) and part.is_integer()):
        return str(int(part))
    return part.strip() if isinstance(part, str) else None
