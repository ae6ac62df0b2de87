"""Input of relation tasks: presentation of the marked entities of a text to the encoder.

Mentions may touch, overlap, contain each other or be equal; each `RelationInput` defines how it handles
this. Their order is kept, because it is the order of their roles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from mtlv.errors import DataError
from mtlv.plan.spans import Span

Mentions = Sequence[Span]
_TOKEN = re.compile(r"@.+\$")
_MARKER = re.compile(r"\[E(?P<opens>[1-9]\d{0,2})\] ?| ?\[/E(?P<closes>[1-9]\d{0,2})\]")
Shown = tuple[str, tuple[Span, ...]]
"""A text, and the spans of its mentions in the given order."""


@dataclass(frozen=True)
class RelationInput:
    """One presentation of mentions.

    Args:
        show: (text, M mentions as character spans) -> the text for the encoder, and the positions of the
            mentions in it.
        tokens_of: mentions of a document -> the tokens that `show` writes for them, which must not be split.
        read: (a text already in this form, the tokens that may occur in it) -> the text
            and mentions from which `show` would make it; no mentions if none is found.

    Raises:
        DataError: a mention is empty, outside its text, or cannot be shown in this form.
    """

    show: Callable[[str, Mentions], Shown]
    tokens_of: Callable[[Mentions], Iterable[str]]
    read: Callable[[str, Collection[str]], Shown]

    def __call__(self, text: str, mentions: Mentions) -> Shown:
        for span in mentions:
            if not 0 <= span.start < span.end <= len(text):
                raise DataError(
                    f"a marked entity is outside its text of {len(text)} characters",
                    got=f"{span.start} to {span.end}",
                )
        return self.show(text, mentions)

    def tokens(self, rows: Iterable[Mentions]) -> tuple[str, ...]:
        """Return the tokens needed for the mentions of N documents, sorted, without duplicates."""
        return tuple(sorted({token for mentions in rows for token in self.tokens_of(mentions)}))


def show_all(
    how: RelationInput, texts: Sequence[str], rows: Sequence[Mentions]
) -> tuple[list[str], list[tuple[Span, ...]]]:
    """Return N texts for the encoder, and the positions of their mentions.

    Make splits and find duplicates before, because documents may have the same text with other mentions.

    Raises:
        DataError: see `RelationInput`.
    """
    shown = [how(text, mentions) for text, mentions in zip(texts, rows, strict=True)]
    return [text for text, _ in shown], [spans for _, spans in shown]


def _dummy(text: str, mentions: Mentions) -> Shown:
    """Replace each mention's text by its token; the mention's position is that of the token.

    Overlapping mentions are replaced together by all their tokens, separated by spaces, the earliest start
    first, and on ties the longest first; nothing of any mention's text remains.
    """
    pieces: list[str] = []
    length, at = 0, 0  # characters written and read
    places: dict[int, Span] = {}
    for group in _overlapping(mentions):
        pieces.append(text[at : mentions[group[0]].start])
        length += len(pieces[-1])
        at = max(mentions[number].end for number in group)
        for number in group:
            if number != group[0]:
                pieces.append(" ")
                length += 1
            token = _role_token(mentions[number])
            places[number] = Span(length, length + len(token), mentions[number].type)
            pieces.append(token)
            length += len(token)
    return "".join([*pieces, text[at:]]), tuple(places[number] for number in range(len(mentions)))


def _overlapping(mentions: Mentions) -> Iterator[list[int]]:
    """Yield indices of mentions that overlap directly or through others, in text order."""
    group: list[int] = []
    end = 0
    for number in sorted(range(len(mentions)), key=lambda n: (mentions[n].start, -mentions[n].end, n)):
        if group and mentions[number].start >= end:
            yield group
            group = []
        group.append(number)
        end = max(end, mentions[number].end) if len(group) > 1 else mentions[number].end
    if group:
        yield group


def _role_token(mention: Span) -> str:
    if not mention.type:
        raise DataError("a marked entity has no type, which `dummy` needs", then="use `markers`")
    return f"@{mention.type}$"


def _markers(text: str, mentions: Mentions) -> Shown:
    """Put a marker before and after each mention; its position includes both markers.

    Everything in between belongs to it, including markers of overlapping mentions. Of markers at the same
    position, those that end a mention come first; of two mentions that begin together, the longer is opened
    first, and of two that end together, the last one opened is closed first.
    """
    order = sorted(range(len(mentions)), key=lambda n: (mentions[n].start, -mentions[n].end, n))
    opened = {number: rank for rank, number in enumerate(order)}
    marks = [(span.end, 0, -opened[n], n) for n, span in enumerate(mentions)]
    marks += [(span.start, 1, opened[n], n) for n, span in enumerate(mentions)]
    pieces: list[str] = []
    length, at = 0, 0  # characters written and read
    starts, ends = [0] * len(mentions), [0] * len(mentions)
    for place, opens, _, number in sorted(marks):
        first, last = _marker_pair(number)
        pieces += [text[at:place], f"{first} " if opens else f" {last}"]
        length += place - at
        if opens:
            starts[number] = length
        length += len(pieces[-1])
        if not opens:
            ends[number] = length
        at = place
    spans = (Span(s, e, m.type) for s, e, m in zip(starts, ends, mentions, strict=True))
    return "".join([*pieces, text[at:]]), tuple(spans)


def _marker_pair(number: int) -> tuple[str, str]:
    return f"[E{number + 1}]", f"[/E{number + 1}]"


def _read_dummies(text: str, known: Collection[str]) -> Shown:
    """Read each token as a mention whose text is the token itself."""
    tokens = sorted((token for token in known if _TOKEN.fullmatch(token)), key=len, reverse=True)
    if not tokens:
        return text, ()
    matches = re.finditer("|".join(map(re.escape, tokens)), text)
    return text, tuple(Span(*match.span(), match.group()[1:-1]) for match in matches)


def _read_markers(text: str, known: Collection[str]) -> Shown:
    """Remove the markers from a text; if one has no counterpart, the whole text has no mentions."""
    pieces: list[str] = []
    length, at = 0, 0  # characters written and read
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for match in _MARKER.finditer(text):
        opens, number = match["opens"] is not None, int(match["opens"] or match["closes"]) - 1
        if not set(_marker_pair(number)) <= set(known):
            continue
        pieces.append(text[at : match.start()])
        length += len(pieces[-1])
        at = match.end()
        (starts if opens else ends).setdefault(number, length)
    if not starts or starts.keys() != ends.keys():
        return text, ()
    return "".join([*pieces, text[at:]]), tuple(Span(starts[n], ends[n]) for n in sorted(starts))


INPUTS: dict[str, RelationInput] = {
    "dummy": RelationInput(_dummy, lambda mentions: map(_role_token, mentions), _read_dummies),
    "markers": RelationInput(
        _markers,
        lambda mentions: (mark for n in range(len(mentions)) for mark in _marker_pair(n)),
        _read_markers,
    ),
    "original": RelationInput(  # only features of mentions use their positions
        lambda text, mentions: (text, tuple(mentions)),
        lambda mentions: (),  # noqa: ARG005
        lambda text, known: (text, ()),  # noqa: ARG005
    ),
}
