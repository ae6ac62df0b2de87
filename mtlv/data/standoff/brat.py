"""BRAT: a text file, and a file `.ann` of the same name with a line per entity (https://brat.nlplab.org/standoff.html)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from mtlv.data.parts import part_of, text_of
from mtlv.data.standoff.losses import Losses
from mtlv.data.standoff.marks import MarkedText, Relation, paragraphs
from mtlv.data.standoff.offsets import WrittenEntity, place_marks
from mtlv.errors import DataError

SUFFIX = ".ann"
_ENTITY = re.compile(r"(T\S*)\t(\S+) (\d{1,12} \d{1,12}(?:;\d{1,12} \d{1,12})*)\t(.*)")
_RELATION = re.compile(r"R\S*\t(\S+) [^\s:]+:(\S+) [^\s:]+:(\S+)\s*")
_OTHER = {
    "R": "relations",
    "E": "events",
    "A": "attributes",
    "M": "attributes",
    "N": "normalizations",
    "#": "notes",
    "*": "equivalences",
}
_OTHERS = re.compile(rf"[{''.join(_OTHER)}]\S*\t")


def read_brat(folder: Path, losses: Losses) -> Iterator[tuple[str, MarkedText]]:
    """Yield the part and the content of each text in `folder` and below; the part is empty outside of folders
    such as `train` and `dev`.

    Raises:
        DataError: an annotation without its text, or a line that cannot be read, with `file:line`.
    """
    files = annotation_files(folder)
    for file in files:
        within = file.relative_to(folder)
        source = file.with_suffix(".txt")
        if not source.is_file():
            raise DataError(f"`{within}` has no text", then=f"add {source.name} beside it, or remove it")
        text = text_of(source)
        entities, relations = _read(file, losses)
        part = next(filter(None, map(part_of, within.parts[:-1])), "")
        marks = place_marks(text, entities, losses)
        yield part, MarkedText(str(within.with_suffix("")), text, paragraphs(text), marks, relations)
    bare = sorted({*_visible(folder, ".txt")} - {file.with_suffix(".txt") for file in files})
    if bare:
        losses.others[
            f"texts without an `.ann` file, such as `{bare[0].relative_to(folder)}`, are left out as not "
            "annotated; an empty `.ann` file means that a text has no entities"
        ] += len(bare)


def annotation_files(folder: Path) -> list[Path]:
    """Return the files with annotations in a folder and below, sorted."""
    return sorted(_visible(folder, SUFFIX))


def _visible(folder: Path, suffix: str) -> Iterator[Path]:
    return (file for file in folder.rglob(f"*{suffix}") if not file.name.startswith("."))


def _read(file: Path, losses: Losses) -> tuple[list[WrittenEntity], list[Relation]]:
    entities: list[WrittenEntity] = []
    relations: list[Relation] = []
    for number, line in enumerate(text_of(file).split("\n"), start=1):
        line = line.rstrip("\r")
        place = f"{file.name}:{number}"
        if entity := _ENTITY.fullmatch(line):
            ends = [tuple(map(int, part.split())) for part in entity[3].split(";")]
            parts = [(start, end) for start, end in ends]
            entities.append(WrittenEntity(parts, entity[4], entity[2], place, (entity[1],)))
        elif relation := _RELATION.fullmatch(line):
            relations.append(Relation(relation[1], relation[2], relation[3]))
        elif _OTHERS.match(line):
            losses.others[f"{_OTHER[line[0]]} not read: only entities (T) and relations (R) are"] += 1
        elif line.strip():
            raise DataError(
                f"`{place}` cannot be read", got=line, allowed="T1, tab, type start end, tab, text"
            )
    return entities, relations
