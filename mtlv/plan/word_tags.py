"""Tags of words: of entities (`B-Drug`, `O`), or a class of each word, such as its part of speech."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain

from mtlv.errors import DataError
from mtlv.formatting import list_first
from mtlv.plan.spans import Span
from mtlv.plan.tagging import BIOUL, OUTSIDE, spans_of

TAG = re.compile(r"O|[BIELUS](?:-.+)?")
ALLOWED = "O, or B, I, E, L, U, S with a type (B-Disease)"
IGNORED = "-100"  # of a piece of a word, where tags were made for another library
NO_CLASS = "_"  # in CoNLL-U
_WITH_LETTER = re.compile(r".-.*")
_LETTERS = {"E": "L", "S": "U"}


def have_letters(tags: Iterable[str]) -> bool:
    """Whether tags are of entities in BIO or another scheme, rather than a type or class of each word."""
    kinds = {*tags}
    return all(map(TAG.fullmatch, kinds)) or any(map(_WITH_LETTER.fullmatch, kinds))


def are_classes(tags: Iterable[str]) -> bool:
    """Whether every tag is a class of its word, such as its part of speech."""
    kinds = {*tags}
    return OUTSIDE not in kinds and not have_letters(kinds)


def unknown_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags that are none of the scheme of the others, sorted."""
    kinds = {*tags}
    return sorted(tag for tag in kinds if not TAG.fullmatch(tag)) if have_letters(kinds) else []


def spans_of_rows(rows: Sequence[Sequence[str]], untyped: str = "") -> list[tuple[Span, ...]]:
    """Return the spans in the tags of N documents, of which none is unknown.

    Types without letters (`Drug`, `O`) are read as IO. A class of each word is a span of one word.

    Raises:
        DataError: a tag is not in the scheme of the others.
    """
    kinds = set(chain.from_iterable(rows))
    if unknown := unknown_tags(kinds):
        got = list_first(unknown, 3)
        raise DataError("unknown tags among those of entities", got=got, allowed=ALLOWED)
    if have_letters(kinds):
        return [entities_of(row, untyped) for row in rows]
    if OUTSIDE in kinds:
        return [entities_of([tag if tag == OUTSIDE else f"I-{tag}" for tag in row]) for row in rows]
    return [tuple(Span(at, at + 1, tag) for at, tag in enumerate(row) if tag != NO_CLASS) for row in rows]


def named_tags(
    rows: Sequence[Sequence[str]], classes: Sequence[str] | None
) -> tuple[Sequence[Sequence[str]], bool]:
    """Return the tags of N documents by name, and whether they were numbers, from 0, of `classes`.

    Raises:
        DataError: numbers without names, or beyond them.
    """
    kinds = set(chain.from_iterable(rows))
    if not kinds or not all(tag.isascii() and tag.isdecimal() for tag in kinds):
        return rows, False
    highest = max(map(int, kinds))
    if classes is None or highest >= len(classes):
        raise DataError(
            "tags are numbers without names",
            got=f"0 to {highest}" if classes is None else f"0 to {highest}, and {len(classes)} names",
            then="name each in order, from 0: `data.columns.classes: [O, B-Drug, I-Drug]`",
        )
    return [[classes[int(tag)] for tag in row] for row in rows], True


def entities_of(tags: Sequence[str], untyped: str = "") -> tuple[Span, ...]:
    """Return the entities of tags in BIO, IOB1, IO, BIOUL or BIOES, like the chunks of conlleval.

    BIOUL has equivalents of all letters (E and S are its L and U). Two adjacent entities of one type
    are one in IO, which does not mark the border.
    """
    if all(tag == OUTSIDE for tag in tags):
        return ()
    return spans_of([_as_bioul(tag, untyped) for tag in tags], BIOUL)


@cache
def _as_bioul(tag: str, untyped: str) -> str:
    mark, _, type_ = tag.partition("-")
    type_ = type_ or untyped
    return OUTSIDE if mark == OUTSIDE else f"{_LETTERS.get(mark, mark)}-{type_}"
