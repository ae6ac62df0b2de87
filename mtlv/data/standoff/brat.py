"""BRAT: a text file, and a file `.ann` of the same name with a line per entity (https://brat.nlplab.org/standoff.html)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from mtlv.data.parts import NAMES, text_of
from mtlv.data.standoff.marks import Losses, MarkedText, paragraphs
from mtlv.errors import DataError
from mtlv.plan.spans import Span

SUFFIX = ".ann"
_ENTITY = re.compile(r"T\S*\t(\S+) (\d{1,12} \d{1,12}(?:;\d{1,12} \d{1,12})*)\t(.*)")
_OTHER = re.compile(r"[REAMN#*]\S*\t")  # relations, events, attributes, normalizations, notes, equivalences


def read_brat(folder: Path, losses: Losses) -> Iterator[tuple[str, MarkedText]]:
    """Yield the part and the content of each text in `folder` and below; the part is empty outside of folders
    such as `train` and `dev`.

    Raises:
        DataError: an annotation without its text, or a line that cannot be read, with `file:line`.
    """
    for file in sorted(folder.rglob(f"*{SUFFIX}")):
        within = file.relative_to(folder)
        source = file.with_suffix(".txt")
        if not source.is_file():
            raise DataError(f"`{within}` has no text", then=f"add {source.name} beside it, or remove it")
        text = text_of(source)
        marks = tuple(_marks(file, text, losses))
        part = next((NAMES[each.lower()] for each in within.parts[:-1] if each.lower() in NAMES), "")
        yield part, MarkedText(str(within.with_suffix("")), text, paragraphs(text), marks)


def _marks(file: Path, text: str, losses: Losses) -> Iterator[Span]:
    for number, line in enumerate(text_of(file).split("\n"), start=1):
        line = line.rstrip("\r")
        if found := _ENTITY.fullmatch(line):
            places = [tuple(map(int, place.split())) for place in found[2].split(";")]
            start, end, said = places[0][0], places[-1][1], found[3]
            if len(places) > 1:
                losses.count["entities in several parts, read from the first to the last"] += 1
                said = text[start:end]  # the parts alone are in the line
            if losses.fits(text, start, end, said, f"{file.name}:{number}"):
                yield Span(start, end, found[1])
        elif _OTHER.match(line):
            losses.count["annotations not read: only entities (T) are"] += 1
        elif line.strip():
            raise DataError(
                f"`{file.name}:{number}` cannot be read",
                got=line,
                allowed="T1, tab, type start end, tab, text",
            )
