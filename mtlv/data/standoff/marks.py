"""Texts with entities marked by offsets in characters, as documents of words."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

from mtlv.data.conll import Sentence
from mtlv.data.standoff.losses import Losses
from mtlv.data.words import split_words
from mtlv.plan.spans import Span

_PARAGRAPH = re.compile(r"\S(?:.|\n(?!\s*\n))*")


class Mark(NamedTuple):
    """A marked entity.

    Args:
        start: its first character.
        end: the character after its last.
        type: its type.
        names: ids by which relations name it; those of a concept are also of its other mentions.
    """

    start: int
    end: int
    type: str
    names: tuple[str, ...] = ()


class Relation(NamedTuple):
    """A relation of two marked entities, or concepts, of a text.

    Args:
        type: its type.
        first: id of the first one.
        second: id of the second one.
        is_directed: whether it would be another relation the other way round.
    """

    type: str
    first: str
    second: str
    is_directed: bool = True


@dataclass(frozen=True)
class MarkedText:
    """A text with marked entities.

    Args:
        name: name of the text.
        text: the text.
        regions: first character of each document in it, and the one after its last.
        marks: entities, in the order of the file.
        relations: relations of the entities.
    """

    name: str
    text: str
    regions: Sequence[tuple[int, int]]
    marks: Sequence[Mark]
    relations: Sequence[Relation] = ()


class Region(NamedTuple):
    """A part of a text that is a document; `number` counts from 1."""

    number: int
    start: int
    end: int


def paragraphs(text: str) -> list[tuple[int, int]]:
    """Return start and end of the paragraphs of a text, which blank lines separate."""
    return [match.span() for match in _PARAGRAPH.finditer(text)]


def regions_of(marked: MarkedText) -> list[Region]:
    """Return the documents of a text; those that share an entity are one, with the number of the first."""
    regions: list[Region] = []
    marks = deque(sorted(mark[:2] for mark in marked.marks))
    reach = 0  # end of the entities that begin before the end of a region
    for number, (start, end) in enumerate(marked.regions, start=1):
        if regions and reach > start:
            regions[-1] = regions[-1]._replace(end=end)
        else:
            regions.append(Region(number, start, end))
        while marks and marks[0][0] < end:
            reach = max(reach, marks.popleft()[1])
    return regions


def documents(marked: MarkedText, losses: Losses) -> Iterator[Sentence]:
    """Yield a document of words for each region of a text that has words.

    Words are cut where an entity begins or ends. Of overlapping entities, the one that begins first is kept,
    of several that begin together the longest, and of equal ones the first in the file.
    """
    starts = [start for start, _ in marked.regions]
    for mark in marked.marks:
        losses.read[mark.type] += 1
        if bisect_right(starts, mark.start) < bisect_left(starts, mark.end):
            losses.add("entities go on after a blank line: their paragraphs are one document", mark.type)
    left = deque(_without_overlaps(marked, losses))
    for number, first, last in regions_of(marked):
        marks: list[Mark] = []  # those that begin in this document, or in the space before it
        while left and left[0].start < last:
            marks.append(left.popleft())
        uncut = split_words(marked.text, first, last).places
        words = list(_cut(uncut, sorted({border for mark in marks for border in mark[:2]})))
        spans = _spans(words, marks)
        for mark, span in zip(marks, spans, strict=True):
            losses.kept[mark.type] += 1
            if not {words[span.start][0], words[span.end - 1][1]} <= {*chain(*uncut)}:
                losses.add(
                    "entities begin or end within a word, which is cut there (not in new texts)", mark.type
                )
        if words:
            words_of_region = tuple(marked.text[a:b] for a, b in words)
            yield Sentence(f"{marked.name}.{number}", words_of_region, tuple(spans), marked.name)


def _without_overlaps(marked: MarkedText, losses: Losses) -> list[Mark]:
    """Return the entities that are kept, in the order of the text."""
    order = sorted(range(len(marked.marks)), key=lambda n: (marked.marks[n].start, -marked.marks[n].end, n))
    kept: list[Mark] = []
    for mark in (marked.marks[n] for n in order):
        last = kept[-1] if kept else Mark(0, 0, "")
        if not split_words(marked.text, mark.start, mark.end):
            losses.add("entities left out: they have no words", mark.type)
        elif mark.start >= last.end:
            kept.append(mark)
        elif mark[:3] == last[:3]:
            losses.add("entities are there twice, and read once", mark.type)
        elif mark[:2] == last[:2]:
            fault = "entities left out: an earlier one of another type has the same characters"
            losses.add(fault, f"{mark.type} beside {last.type}")
        else:
            losses.add("entities left out: they overlap an earlier one", mark.type)
    return kept


def _cut(words: Sequence[tuple[int, int]], borders: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield words, or their pieces between borders."""
    for start, end in words:
        inside = borders[bisect_right(borders, start) : bisect_left(borders, end)]
        yield from pairwise((start, *inside, end))


def _spans(words: Sequence[tuple[int, int]], marks: Sequence[Mark]) -> list[Span]:
    """Return entities in words, given in the order of the text."""
    spans, at = [], 0
    for mark in marks:
        while words[at][0] < mark.start:
            at += 1
        first = at
        while at < len(words) and words[at][1] <= mark.end:
            at += 1
        spans.append(Span(first, at, mark.type))
    return spans
