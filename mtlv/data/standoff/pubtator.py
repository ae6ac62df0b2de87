"""PubTator: lines with the title and the abstract of an article, then a line per entity.

    123|t|A title.
    123|a|An abstract.
    123<tab>2<tab>7<tab>title<tab>Type<tab>identifier
    123<tab>Relation<tab>identifier<tab>identifier

A blank line ends an article. Offsets count characters of the title, one more, and those of the abstract.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from mtlv.data.parts import text_of
from mtlv.data.standoff.losses import Losses
from mtlv.data.standoff.marks import MarkedText, Relation
from mtlv.data.standoff.offsets import WrittenEntity, place_marks
from mtlv.errors import DataError

SUFFIXES = (".pubtator", ".txt")
TEXT = re.compile(r"([^|\t]+)\|([ta])\|(.*)")
_ENTITY = re.compile(r"([^\t]+)\t(\d{1,12})\t(\d{1,12})\t([^\t]*)\t([^\t]+)(?:\t([^\t]*)(?:\t.*)?)?")
_RELATION = re.compile(r"([^\t]+)\t([^\t\d][^\t]*)\t([^\t]+)\t([^\t]+)(?:\t.*)?")
_OTHER = re.compile(r"[^\t]+\t[^\t\d][^\t]*(?:\t[^\t]*)+")
NO_IDENTIFIER = ("", "-", "-1", "None")


@dataclass
class _Article:
    id: str = ""
    title: str = ""
    abstract: str = ""
    entities: list[WrittenEntity] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)


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
                yield _read_article(article, losses)
            article = _Article()
        if text:
            article.id = text[1]
            setattr(article, "title" if text[2] == "t" else "abstract", text[3])
        elif entity and entity[1] == article.id:
            places, names = [(int(entity[2]), int(entity[3]))], identifiers(entity[6] or "")
            article.entities.append(
                WrittenEntity(places, entity[4], entity[5], f"{file.name}:{number}", names)
            )
        elif (relation := _RELATION.fullmatch(line)) and relation[1] == article.id:
            article.relations += [
                Relation(relation[2], first, second, is_directed=False)
                for first, second in product(identifiers(relation[3]), identifiers(relation[4]))
            ]
        elif _OTHER.fullmatch(line):
            losses.others["annotations not read: only entities and relations are"] += 1
        elif line.strip():
            raise DataError(
                f"`{file.name}:{number}` cannot be read",
                got=line,
                allowed="id|t|title, id|a|abstract, or, after these: id, start, end, text, type with tabs",
            )


def identifiers(cell: str) -> tuple[str, ...]:
    """Return the identifiers of concepts in a cell, which has several in composite mentions."""
    return tuple(name for name in re.split(r"[|;,+]", cell) if name.strip() not in NO_IDENTIFIER)


def _read_article(article: _Article, losses: Losses) -> MarkedText:
    text = f"{article.title} {article.abstract}"
    border = len(article.title)
    regions = ((0, border), (border + 1, len(text)))
    marks = place_marks(text, article.entities, losses)
    return MarkedText(article.id, text, regions, marks, tuple(dict.fromkeys(article.relations)))
