"""Columns of an unknown table that mark parts of its texts: tags of words, and entities in characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from mtlv.data.tables.cells import is_missing, list_of, mentions_of
from mtlv.plan.tagging import OUTSIDE
from mtlv.plan.word_tags import TAG

ALONE = "has a tag for each word, which is learned alone: name only this column with `--labels`"
NO_WORDS = (
    "has tags such as `B-Drug`, but no column has a word for each tag; write words and tags as "
    'lists in JSON, such as ["O", "B-Drug"] (docs/data.md, `kind: tagging`)'
)
SPANS = (
    "has entities in characters; to find them, set `data.name: standoff` (or write a tag for each word, "
    "`kind: tagging`); to learn something about them, name it as `mentions`, and a class or number as "
    "`target` (docs/data.md)"
)


def tag_columns(cells: Mapping[str, Sequence[object]]) -> dict[str, str]:
    """Return the columns of tags (`B-Drug`, `O`), each with the column of their words, or ""."""
    lists = {name: tags for name, column in cells.items() if (tags := _tags(column))}
    words_of_tags = {}
    for name, tags in lists.items():
        # Words as a list first: texts are only split at spaces.
        others = sorted(
            (other for other in cells if other not in lists), key=lambda x: not are_lists(cells[x])
        )
        words = next((other for other in others if _lengths(cells[other]) == [*map(len, tags)]), "")
        if words or any("-" in tag for tag in chain.from_iterable(tags)):  # bare letters may be anything
            words_of_tags[name] = words
    return words_of_tags


def why_not(name: str, column: Sequence[object], *, tags: Mapping[str, str]) -> str:
    """Return why a column that marks parts of texts is not learned; empty for other columns."""
    if name in tags:
        return ALONE if tags[name] else NO_WORDS
    return SPANS if _are_spans(column) else ""


def mentions_column(cells: Mapping[str, Sequence[object]], text: str) -> str | None:
    """Return the column that marks entities of the texts, as many in each; None if there is none."""
    return next((name for name, column in cells.items() if _are_marked(column, cells[text])), None)


def are_lists(column: Sequence[object]) -> bool:
    """Whether cells are lists, also as JSON."""
    return any(isinstance(cell, list) or str(cell).lstrip().startswith(('["', "['")) for cell in column)


def _tags(column: Sequence[object]) -> list[list[str]]:
    """Return the tags of each row; empty if these are no tags of words."""
    rows = []
    for cell in column:
        row = list_or_empty(cell)
        if not all(map(TAG.fullmatch, row)):
            return []
        rows.append(row)
    names = set(chain.from_iterable(rows))
    typed = bool(names) and all("-" in name for name in names)  # such as S-NOUN
    return rows if ({OUTSIDE} < names or typed) and max(map(len, rows)) > 1 else []


def _lengths(column: Sequence[object]) -> list[int]:
    return [len(list_or_empty(cell)) for cell in column]


def list_or_empty(cell: object) -> list[str]:
    """Return words or tags; none for an empty cell, and for one that has none."""
    try:
        return list_of(cell)
    except ValueError:
        return []


def _are_spans(column: Sequence[object]) -> bool:
    try:
        return any(list(map(mentions_of, (cell for cell in column if not is_missing(cell)))))  # reads all
    except ValueError:
        return False


def _are_marked(column: Sequence[object], texts: Sequence[object]) -> bool:
    """Whether each text has entities within it, with roles; other numbers of them are no relation's."""
    try:
        rows = [*map(mentions_of, column)]
    except ValueError:
        return False
    is_valid = all(
        span.type and 0 <= span.start < span.end <= len(str(text))
        for row, text in zip(rows, texts, strict=True)
        for span in row
    )
    return is_valid and all(rows) and len(set(map(len, rows))) == 1
