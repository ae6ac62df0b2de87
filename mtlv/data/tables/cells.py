"""Cells of tables: texts, words, marked entities, classes, numbers; lists as lists or as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mtlv.data.tables.rows import read_json
from mtlv.plan.spans import Span

PAIR_OF_PLACES = "lists of [start, end] or [start, end, role], in characters"


def is_text(value: object) -> bool:
    """Whether it is a text that can be written as UTF-8."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:  # half of a pair of surrogates, which JSON can carry
        return False


def is_missing(cell: object) -> bool:
    """Whether nothing stands there: None, NaN, an empty list or text."""
    if isinstance(cell, float):
        return cell != cell
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or (hasattr(cell, "__len__") and not len(cell))


def second_of(cell: object) -> str:
    """A second text.

    Raises:
        ValueError: it is none.
    """
    if not is_text(cell):
        raise ValueError("a text")
    return str(cell)


def words_of(cell: object) -> tuple[str, ...]:
    """Words of a document.

    Raises:
        ValueError: they are none.
    """
    found = _listed(cell)
    if found is None or not all(is_text(word) and word.strip() for word in found):
        raise ValueError('a list of words, or one in JSON: ["The", "heart"]')
    return tuple(map(str, found))


def text_of_words(cell: object) -> str | None:
    """The words with a blank between; None where they are none."""
    try:
        return " ".join(words_of(cell))
    except ValueError:
        return None


def mentions_of(cell: object) -> tuple[Span, ...]:
    """Marked entities of a document, as spans of characters.

    Raises:
        ValueError: they are none.
    """
    found = _listed(cell)
    spans = [] if found is None else [_span(one) for one in found]
    if found is None or None in spans:
        raise ValueError(f'{PAIR_OF_PLACES}: [[0, 7, "DRUG"]]')
    return tuple(span for span in spans if span is not None)


def list_of(cell: object) -> list[str]:
    """Words or tags: a list, one in JSON, or a text that blanks divide.

    Raises:
        ValueError: they are none.
    """
    try:
        return list(words_of(cell))
    except ValueError:
        if isinstance(cell, str) and cell.split():
            return cell.split()
        raise


def class_of(cell: object) -> str:
    """The name of a class: a text, a whole number, or true or false.

    Raises:
        ValueError: it is none.
    """
    if isinstance(cell, bool):
        return str(cell).lower()
    if is_missing(cell) or not (is_text(cell) or _is_whole(cell)):
        raise ValueError("a name or a whole number")
    return str(cell).strip()


def number_of(cell: Any) -> float:
    """A number that 32 bits can hold, or one as text.

    Raises:
        ValueError: it is none.
    """
    try:
        value = math.nan if isinstance(cell, bool) else float(cell)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not abs(value) <= float(np.finfo(np.float32).max):
        raise ValueError("a number")
    return value


def _span(found: object) -> Span | None:
    if isinstance(found, Mapping):
        found = [found.get("start"), found.get("end"), found.get("type", "")]
    values = _listed(found)
    if values is None or len(values) not in (2, 3):
        return None
    start, end, role = (*values, "")[:3]
    if not (_is_whole(start) and _is_whole(end) and is_text(role)):
        return None
    return Span(int(start), int(end), str(role))


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and hasattr(value, "__index__")


def _listed(cell: object) -> list[Any] | None:
    """What a list, tuple or array holds, or a text that is a list in JSON."""
    if isinstance(cell, str):
        try:
            cell = read_json(cell)
        except ValueError:
            return None
    listed = isinstance(cell, Iterable) and not isinstance(cell, (str, bytes, Mapping))
    return list(cell) if listed else None  # type: ignore[call-overload]
