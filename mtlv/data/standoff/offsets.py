"""Places of entities in a text: offsets in the unit that suits most of its entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from mtlv.data.standoff.losses import Losses
from mtlv.data.standoff.marks import Mark
from mtlv.errors import DataError


@dataclass(frozen=True)
class WrittenEntity:
    """An entity as it is written in a file.

    Args:
        places: start and end of each of its parts.
        text: its text.
        type: its type.
        line: file and line.
        names: ids by which relations name it.
    """

    places: Sequence[tuple[int, int]]
    text: str
    type: str
    line: str
    names: tuple[str, ...] = ()


# Width of a character, given the text and its position.
WIDTHS: dict[str, Callable[[str, int], int]] = {
    "UTF-16 code units": lambda text, at: 1 + (ord(text[at]) > 0xFFFF),
    "bytes of UTF-8": lambda text, at: len(text[at].encode("utf-8", "surrogatepass")),
    "characters, an end of line (CR LF) as one": lambda text, at: int(text[at : at + 2] != "\r\n"),
    "characters, an end of line as two": lambda text, at: 1 + (text[at] == "\n"),
}
"""Units of offsets other than characters."""
FROM_ONE = "characters from 1, or with a byte order mark"


def place_marks(text: str, entities: Sequence[WrittenEntity], losses: Losses) -> tuple[Mark, ...]:
    """Return the entities that are in a text as they say, but for white space.

    If some are not at their offsets in characters, the unit in which most are is taken, with a note.
    """
    taken, here = "", [_join_parts(text, entity) for entity in entities]
    wrong = [not _fits(text, entity) for entity in here]
    for unit, others in _in_other_units(text, entities) if any(wrong) else ():
        differ = [not _fits(text, entity) for entity in others]
        if sum(differ) < sum(wrong):
            taken, here, wrong = unit, others, differ
    for entity, is_wrong in zip(here, wrong, strict=True):
        if is_wrong:
            losses.read[entity.type] += 1
            losses.wrong.append(_error(text, entity))
            losses.add("entities left out: another text is at their offsets", entity.type)
            continue
        if taken:
            losses.add(f"entities have offsets in {taken}", entity.type)
        if len(entity.places) > 1:
            losses.add("entities in several parts, read from the first to the last", entity.type)
    return tuple(
        Mark(*_ends(entity), entity.type, entity.names)
        for entity, is_wrong in zip(here, wrong, strict=True)
        if not is_wrong
    )


def _in_other_units(
    text: str, entities: Sequence[WrittenEntity]
) -> Iterator[tuple[str, list[WrittenEntity]]]:
    for unit, width in WIDTHS.items():
        widths = [width(text, at) for at in range(len(text))]
        if any(size != 1 for size in widths):
            place = {offset: at for at, offset in enumerate(accumulate(widths, initial=0))}
            yield unit, [_move_entity(text, entity, place) for entity in entities]
    place = {at + 1: at for at in range(len(text) + 1)}
    yield FROM_ONE, [_move_entity(text, entity, place) for entity in entities]


def _move_entity(text: str, entity: WrittenEntity, place: Mapping[int, int]) -> WrittenEntity:
    outside = len(text) + 1
    places = [(place.get(start, outside), place.get(end, outside)) for start, end in entity.places]
    return _join_parts(text, replace(entity, places=places))


def _join_parts(text: str, entity: WrittenEntity) -> WrittenEntity:
    """Join parts with only white space between them: BRAT divides entities at the ends of lines."""
    places = [*sorted(entity.places)[:1]]
    for start, end in sorted(entity.places)[1:]:
        if text[places[-1][1] : start].strip():
            places.append((start, end))
        else:
            places[-1] = (places[-1][0], end)
    return replace(entity, places=places)


def _ends(entity: WrittenEntity) -> tuple[int, int]:
    return entity.places[0][0], entity.places[-1][1]


def _fits(text: str, entity: WrittenEntity) -> bool:
    start, end = _ends(entity)
    return 0 <= start <= end <= len(text) and _text_at(text, entity).split() == entity.text.split()


def _text_at(text: str, entity: WrittenEntity) -> str:
    return " ".join(text[start:end] for start, end in entity.places)


def _error(text: str, entity: WrittenEntity) -> DataError:
    return DataError(
        f"`{entity.line}`: another text is at its offsets",
        got=_text_at(text, entity),
        allowed=entity.text,
        then="check the encoding, the ends of lines and the offsets",
    )
