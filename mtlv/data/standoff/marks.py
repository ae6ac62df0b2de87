"""Texts with entities marked by offsets in characters, as documents of words."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mtlv.data.conll import Sentence
from mtlv.data.words import split_words
from mtlv.errors import DataError
from mtlv.plan.spans import Span

MOST_WRONG = 0.01  # maximum share of entities whose text differs; more indicate wrong offsets
_PARAGRAPH = re.compile(r"\S(?:.|\n(?!\s*\n))*")


@dataclass(frozen=True)
class MarkedText:
    """A text with marked entities.

    Args:
        name: name of the text.
        text: the text.
        regions: first character of each document in it, and the one after its last.
        marks: entities in characters.
    """

    name: str
    text: str
    regions: Sequence[tuple[int, int]]
    marks: Sequence[Span]


@dataclass
class Losses:
    """What was read otherwise than it is written, or not at all."""

    count: Counter[str] = field(default_factory=Counter)  # by what happened
    marks: int = 0  # entities
    wrong: list[DataError] = field(default_factory=list)  # entities whose text differs

    def fits(self, text: str, start: int, end: int, said: str, place: str) -> bool:
        """Return whether the text has what an entity says at its offsets, but for white space."""
        self.marks += 1
        found = text[start:end]
        if found.split() == said.split():
            return True
        then = "check the encoding, the ends of lines and the offsets"
        self.wrong.append(
            DataError(f"`{place}`: another text is at its offsets", got=found, allowed=said, then=then)
        )
        return False

    def notes(self) -> tuple[str, ...]:
        """Return notes for the user.

        Raises:
            DataError: too many entities are not at their offsets.
        """
        if len(self.wrong) > MOST_WRONG * self.marks:
            raise self.wrong[0]
        if self.wrong:
            self.count["entities left out: another text is at their offsets"] = len(self.wrong)
        return tuple(f"{number} {fault}" for fault, number in self.count.items())


def paragraphs(text: str) -> list[tuple[int, int]]:
    """Return start and end of the paragraphs of a text, which blank lines separate."""
    return [found.span() for found in _PARAGRAPH.finditer(text)]


def documents(marked: MarkedText, losses: Losses) -> Iterator[Sentence]:
    """Yield a document of words for each region of a text that has words.

    An entity has all words that it touches. Of overlapping entities, the one that begins first is kept, of
    several that begin together the longest.
    """
    left = deque(sorted(set(marked.marks), key=lambda mark: (mark.start, -mark.end)))
    for number, (first, last) in enumerate(marked.regions, start=1):
        words = split_words(marked.text, first, last).places
        spans: list[Span] = []
        while left and left[0].start < last:
            mark = left.popleft()
            if mark.end <= first:  # between regions
                continue
            covered = [at for at, word in enumerate(words) if word[0] < mark.end and word[1] > mark.start]
            if not covered or (spans and covered[0] < spans[-1].end):
                losses.count["entities left out: they overlap an earlier one"] += 1
            else:
                spans.append(Span(covered[0], covered[-1] + 1, mark.type))
        if words:
            held = tuple(marked.text[a:b] for a, b in words)
            yield Sentence(f"{marked.name}.{number}", held, tuple(spans), marked.name)
