"""Tagging schemes: conversion between spans of words and one tag per word.

A scheme defines the letter of each word of a span. A tag is a letter and a type, such as `B-Chemical`, or
`O`. Sources: Ramshaw and Marcus 1995 (BIO), Ratinov and Roth 2009 (BIOUL, called BILOU there).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.errors import DataError
from mtlv.plan.spans import Span

OUTSIDE = "O"
OUTSIDE_ID = 0  # in every task and scheme
INSIDE = "I"  # letter of the words between the first and the last of a span


@dataclass(frozen=True)
class Scheme:
    """Letters of the words of a span.

    Args:
        name: its name in a config.
        first: letter of the first of several words.
        last: letter of the last of several words.
        only: letter of a single word.
    """

    name: str
    first: str
    last: str
    only: str

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """Each letter once."""
        return tuple(dict.fromkeys((self.first, INSIDE, self.last, self.only)))

    @cached_property
    def opening(self) -> frozenset[str]:
        """Letters that can only begin a span."""
        return frozenset({self.first, self.only} - {INSIDE, self.last})

    @cached_property
    def closing(self) -> frozenset[str]:
        """Letters that can only end a span."""
        return frozenset({self.last, self.only} - {INSIDE, self.first})

    def letters_of(self, words: int) -> list[str]:
        """Return the letters of a span of `words` words, at least one."""
        if words == 1:
            return [self.only]
        return [self.first, *[INSIDE] * (words - 2), self.last]


BIO = Scheme("bio", first="B", last="I", only="B")
BIOUL = Scheme("bioul", first="B", last="L", only="U")
IO = Scheme("io", first="I", last="I", only="I")
SCHEMES: dict[str, Scheme] = {scheme.name: scheme for scheme in (BIO, BIOUL, IO)}


class _Part(NamedTuple):
    """The parts of a tag; `type` is None outside of all spans."""

    type: str | None = None
    opens: bool = False
    closes: bool = False


_NOTHING = _Part()


@dataclass(frozen=True)
class Tags:
    """The C tags of a task: `O` is 0, followed by the letters of the first type, and so on.

    Args:
        scheme: the letters.
        types: types of spans, which are the task's classes; a single type may be empty.

    Raises:
        DataError: a type is repeated.
    """

    scheme: Scheme
    types: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(set(self.types)) < len(self.types):
            raise DataError("a type of span is named twice", got=", ".join(self.types))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tags as in CoNLL files [C]."""
        pairs = (f"{letter}-{type_}" if type_ else letter for type_, letter in self._pairs)
        return (OUTSIDE, *pairs)

    @property
    def _pairs(self) -> Iterator[tuple[str, str]]:
        return ((type_, letter) for type_ in self.types for letter in self.scheme.letters)

    @cached_property
    def _ids(self) -> dict[tuple[str, str], int]:
        return {pair: number for number, pair in enumerate(self._pairs, start=1)}

    @cached_property
    def _parts(self) -> tuple[_Part, ...]:
        return tuple(_read(name, self.scheme) for name in self.names)

    def encode(self, spans: Iterable[Span], words: int) -> NDArray[np.int64]:
        """Return the tag ids [words] of spans in words.

        Raises:
            DataError: a span is empty, outside of the text, overlaps another, or has an unknown type.
        """
        tags = np.zeros(words, np.int64)
        for span in spans:
            self._check(span, tags)
            letters = self.scheme.letters_of(span.end - span.start)
            tags[span.start : span.end] = [self._ids[span.type, letter] for letter in letters]
        return tags

    def _check(self, span: Span, tags: NDArray[np.int64]) -> None:
        if not 0 <= span.start < span.end <= len(tags):
            raise DataError(
                f"a span does not lie in its text of {len(tags)} words", got=f"{span.start} to {span.end}"
            )
        if span.type not in self.types:
            raise DataError("the type of a span is unknown", got=span.type, allowed=", ".join(self.types))
        if tags[span.start : span.end].any():
            raise DataError(
                "two spans overlap, and a word has one tag", got=f"{span.start} to {span.end} ({span.type})"
            )

    def decode(self, ids: ArrayLike) -> tuple[Span, ...]:
        """Return the spans of any sequence of tag ids, as conlleval does.

        Every word inside belongs to a span. A span begins at a letter that opens, at a change of type, and
        after `O`. Therefore an `I-` without a `B-` opens one. conlleval has no `L` and `U`: these are handled
        like `E` and `S` in the default mode of seqeval. The strict mode of seqeval omits every span whose
        tags do not follow the scheme exactly.

        Raises:
            DataError: an id is not one of the C tags.
        """
        return tuple(_chunks(self._parts[tag] for tag in self._check_ids(ids)))

    def _check_ids(self, ids: ArrayLike) -> list[int]:
        tags: list[int] = np.asarray(ids, np.int64).tolist()
        if tags and not 0 <= min(tags) <= max(tags) < len(self.names):
            wrong = next(tag for tag in tags if not 0 <= tag < len(self.names))
            raise DataError("a tag is unknown", got=wrong, allowed=f"0 to {len(self.names) - 1}")
        return tags


def _chunks(parts: Iterable[_Part]) -> Iterator[Span]:
    before, start = _NOTHING, 0
    for at, part in enumerate(chain(parts, (_NOTHING,))):
        if part.opens or before.closes or part.type != before.type:
            if before.type is not None:
                yield Span(start, at, before.type)
            start = at
        before = part


def spans_of(names: Sequence[str], scheme: Scheme = BIO) -> tuple[Span, ...]:
    """Return the spans of tags in a CoNLL file (`B-X`, or `B` without a type), as conlleval does.

    Files with only `I-` (IO) can be read as BIO.

    Raises:
        DataError: a letter is not in the scheme.
    """
    return tuple(_chunks(_read(name, scheme) for name in names))


def _read(name: str, scheme: Scheme) -> _Part:
    if name == OUTSIDE:
        return _NOTHING
    letter, _, type_ = name.partition("-")  # a type may contain hyphens
    if letter not in scheme.letters:
        raise DataError(
            "a tag is unknown", got=name, allowed=", ".join([OUTSIDE, *(f"{x}-TYPE" for x in scheme.letters)])
        )
    return _Part(type_, letter in scheme.opening, letter in scheme.closing)


def count_merged_spans(rows: Iterable[Sequence[Span]], scheme: Scheme) -> int:
    """Return the number of spans that a scheme loses because they merge with the previous span.

    This happens only in a scheme without a letter that opens or closes (IO), for adjacent spans of the same
    type without a word between them.

    Raises:
        DataError: see `Tags.encode`, for IO.
    """
    if scheme.opening or scheme.closing:
        return 0
    lost = 0
    for spans in rows:
        tags = Tags(scheme, tuple({span.type: None for span in spans}))
        lost += len(spans) - len(tags.decode(tags.encode(spans, max((s.end for s in spans), default=0))))
    return lost
