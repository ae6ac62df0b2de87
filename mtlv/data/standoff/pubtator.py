"""PubTator: lines with the title and the abstract of an article, then a line per entity.

    123|t|A title.
    123|a|An abstract.
    123<tab>2<tab>7<tab>title<tab>Type<tab>identifier

A blank line ends an article. Offsets count characters of the title, one more, and those of the abstract.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mtlv.data.parts import text_of
from mtlv.data.standoff.marks import Losses, MarkedText
from mtlv.errors import DataError
from mtlv.plan.spans import Span

SUFFIXES = (".pubtator", ".txt")
TEXT = re.compile(r"([^|\t]+)\|([ta])\|(.*)")
_ENTITY = re.compile(r"([^\t]+)\t(\d{1,12})\t(\d{1,12})\t([^\t]*)\t([^\t]+)(?:\t.*)?")
_OTHER = re.compile(r"[^\t]+\t[^\t\d][^\t]*(?:\t[^\t]*)+")  # relations


@dataclass
class _Article:
    id: str = ""
    title: str = ""
    abstract: str = ""
    lines: list[tuple[int, re.Match[str]]] = field(default_factory=list)


def read_pubtator(file: Path, losses: Losses) -> Iterator[MarkedText]:
    """Yield the articles of a file, each with its title and its abstract as documents.

    Raises:
        DataError: a line that cannot be read, or of another article, with `file:line`.
    """
    article = _Article()
    for number, line in enumerate((*text_of(file).split("\n"), ""), start=1):
        line = line.rstrip("\r")
        text, entity = TEXT.fullmatch(line), _ENTITY.fullmatch(line)
        if not line.strip() or (text and article.id not in ("", text[1])):
            if article.id:
                yield _marked(article, file, losses)
            article = _Article()
        if text:
            article.id = text[1]
            setattr(article, "title" if text[2] == "t" else "abstract", text[3])
        elif entity and entity[1] == article.id:
            article.lines.append((number, entity))
        elif _OTHER.fullmatch(line):
            losses.count["annotations not read: only entities are"] += 1
        elif line.strip():
            raise DataError(
                f"`{file.name}:{number}` cannot be read",
                got=line,
                allowed="id|t|title, id|a|abstract, or, after these: id, start, end, text, type with tabs",
            )


def _marked(article: _Article, file: Path, losses: Losses) -> MarkedText:
    text = f"{article.title} {article.abstract}"
    marks = [
        Span(int(found[2]), int(found[3]), found[5])
        for number, found in article.lines
        if losses.fits(text, int(found[2]), int(found[3]), found[4], f"{file.name}:{number}")
    ]
    border = len(article.title)
    return MarkedText(article.id, text, ((0, border), (border + 1, len(text))), marks)
