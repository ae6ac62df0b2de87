"""Values of table cells: texts, words, marked entities, classes, numbers; lists as lists or as JSON."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mtlv.data.tables.json_rows import read_json
from mtlv.plan.spans import Span

QUOTED = re.compile(r"'[^'\\]*'|\"[^\"\\]*\"")  # without escapes
ITEM = re.compile(rf"{QUOTED.pattern}|-?\d+(?:\.0*)?(?![\d.])|True|False")
# A list, tuple or set of Python, or an array of NumPy, which has no commas.
PYTHON_LIST = re.compile(rf"[\[({{](?:(?:{ITEM.pattern})[\s,]*)*[\])}}]|set\(\)")
PAIR_OF_PLACES = "lists of [start, end] or [start, end, role], in characters"


def is_text(value: object) -> bool:
    """Whether it is a text that can be encoded as UTF-8."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:  # a lone surrogate, which JSON may contain
        return False


def is_missing(cell: object) -> bool:
    """Whether a cell is empty: None, NaN, an empty list or text."""
    if isinstance(cell, float):
        return cell != cell
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or (hasattr(cell, "__len__") and not len(cell))


def plain_value(cell: object) -> str:
    """Return a cell as text, a whole number without decimals; empty for an empty cell."""
    text = f"{cell:.12g}" if isinstance(cell, float) else str(cell).strip()
    return "" if is_missing(cell) else text


def second_of(cell: object) -> str:
    """Return a second text.

    Raises:
        ValueError: it is not a text.
    """
    if not is_text(cell):
        raise ValueError("a text")
    return str(cell)


def words_of(cell: object) -> tuple[str, ...]:
    """Return the words of a document.

    Raises:
        ValueError: they are not a list of words.
    """
    words = _list_in(cell)
    if words is None or not all(is_text(word) and word.strip() for word in words):
        raise ValueError('a list of words, or one in JSON: ["The", "heart"]')
    return tuple(map(str, words))


def are_words(cell: object) -> bool:
    """Whether a cell is a list of words."""
    try:
        return bool(words_of(cell))
    except ValueError:
        return False


def look_like_words(cell: object) -> bool:
    """Whether a cell is a list, or begins as a list of texts in JSON or Python does."""
    return isinstance(cell, list | tuple | np.ndarray) or str(cell).lstrip().startswith(('["', "['"))


def text_or_joined(cell: object) -> object:
    """Return a list of words joined by spaces, and any other cell as it is."""
    return " ".join(words_of(cell)) if look_like_words(cell) and are_words(cell) else cell


def mentions_of(cell: object) -> tuple[Span, ...]:
    """Return the marked entities of a document, as character spans.

    Raises:
        ValueError: they are not marked entities.
    """
    entities = _list_in(cell)
    spans = [] if entities is None else [_span(one) for one in entities]
    if entities is None or None in spans:
        raise ValueError(f'{PAIR_OF_PLACES}: [[0, 7, "DRUG"]]')
    return tuple(span for span in spans if span is not None)


def list_of(cell: object) -> list[str]:
    """Return words or tags: from a list, a JSON list, or a text split at spaces.

    Raises:
        ValueError: they are invalid.
    """
    try:
        return list(words_of(cell))
    except ValueError:
        if isinstance(cell, str) and cell.split():
            return cell.split()
        raise


def tags_of(cell: object) -> list[str]:
    """Return tags, as `list_of`, also from a list of whole numbers.

    Raises:
        ValueError: they are invalid.
    """
    numbers = _list_in(cell)
    return [str(int(tag)) for tag in numbers] if numbers and all(map(_is_whole, numbers)) else list_of(cell)


def class_of(cell: object) -> str:
    """Return the name of a class: a text, an integer, or true or false.

    Columns of integers with empty cells have floating-point numbers in pandas and Parquet.

    Raises:
        ValueError: it is invalid.
    """
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():  # as pandas holds whole numbers beside empty cells
        return str(int(cell))
    if is_missing(cell) or not (is_text(cell) or _is_whole(cell)):
        raise ValueError("a name or a whole number")
    return str(cell).strip()


def number_of(cell: Any) -> float:
    """Return a number that fits in 32 bits, also from text, where it may have a decimal comma.

    Raises:
        ValueError: it is not a number; also 1,234, whose comma may stand before decimals or thousands.
    """
    if isinstance(cell, str) and has_decimal_comma(cell):
        cell = cell.replace(",", ".")
    try:
        value = math.nan if isinstance(cell, bool) else float(cell)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not abs(value) <= float(np.finfo(np.float32).max):
        raise ValueError("a number")
    return value


def has_decimal_comma(cell: str) -> bool:
    """Whether a text is a number with one comma that does not separate thousands."""
    units, comma, rest = cell.strip().lstrip("+-").partition(",")
    is_number = bool(comma) and units.isdecimal() and rest.isdecimal()
    return is_number and (len(rest) != 3 or len(units) > 3 or units.startswith("0"))


def _span(entity: object) -> Span | None:
    if isinstance(entity, Mapping):
        entity = [entity.get("start"), entity.get("end"), entity.get("type", "")]
    values = _list_in(entity)
    if values is None or len(values) not in (2, 3):
        return None
    start, end, role = (*values, "")[:3]
    if not (_is_whole(start) and _is_whole(end) and is_text(role)):
        return None
    return Span(int(start), int(end), str(role))


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and hasattr(value, "__index__")


def _list_in(cell: object) -> list[Any] | None:
    """Return the content of a list, tuple or array, or of a list in JSON or Python."""
    if isinstance(cell, str):
        text = cell.strip()
        try:
            cell = read_json(text)
        except ValueError:
            cell = python_list(text) or _literal(text)
    listed = isinstance(cell, Iterable) and not isinstance(cell, (str, bytes, Mapping))
    return list(cell) if listed else None  # type: ignore[call-overload]


def python_list(text: str) -> list[str] | None:
    """Return the items of a list of texts and whole numbers as Python or NumPy writes it; None for others.

    Example: `python_list("['a' 'b']")` is `["a", "b"]`, and `python_list("(1., 0.)")` is `["1", "0"]`.
    """
    return [_unquote(item) for item in ITEM.findall(text)] if PYTHON_LIST.fullmatch(text) else None


def _unquote(item: str) -> str:
    if item[0] in "'\"":
        return item[1:-1]
    return str(int(item == "True")) if item in ("True", "False") else item.partition(".")[0]


def _literal(text: str) -> object:
    """Return a list of lists, or of texts with escapes, as Python writes it; None if it is none."""
    try:
        return ast.literal_eval(text) if text.startswith(("[", "(")) else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
