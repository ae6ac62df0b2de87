"""i2b2/VA 2010: clinical notes with problems, tests and treatments, and their relations (agreement required).

Reads the organizers' files in any folders: notes (`.txt`, one sentence per line), concepts (`.con`) and
relations (`.rel`). Every pair of a treatment or test with a problem, and of two problems, in one sentence
is a document; a pair without a relation is `false`. Files below a folder with `test` in its name are the
test part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from mtlv.data.examples import Example, answers_corpus
from mtlv.data.options import DataOptions
from mtlv.data.parts import text_of
from mtlv.data.source import Card, Corpus
from mtlv.errors import DataError
from mtlv.plan.spans import Span
from mtlv.plan.task import Task

_CONCEPT = r'c="(.*)" (\d+):(\d+) (\d+):(\d+)'
_CON = re.compile(rf'{_CONCEPT}\|\|t="(\w+)"')
_REL = re.compile(rf'{_CONCEPT}\|\|r="(\w+)"\|\|{_CONCEPT}')
PROBLEM = "problem"

CARD = Card.of_task(
    Task(
        "i2b2 2010",
        kind="multiclass",
        source="i2b2_2010",
        classes=("false", "PIP", "TeCP", "TeRP", "TrAP", "TrCP", "TrIP", "TrNAP", "TrWP"),
        negative=("false",),
        description="How a problem relates to a test, a treatment or another problem in a clinical note.",
        main_metric="f1_micro_positive",
    ),
    title="i2b2/VA 2010, relations of problems, tests and treatments in clinical notes (agreement needed)",
    address="https://portal.dbmi.hms.harvard.edu/projects/n2c2-nlp/",
    licence="data use agreement with the organizers",
    citation="Uzuner O, South BR, Shen S, DuVall SL. 2010 i2b2/VA challenge on concepts, assertions, and "
    "relations in clinical text. J Am Med Inform Assoc 18(5):552-556, 2011.",
    by_hand="sign the agreement at https://portal.dbmi.hms.harvard.edu/projects/n2c2-nlp/ for the 2010 "
    "relations challenge, unpack its training data and the reference standard for its test data into one "
    "folder",
)


class Concept(NamedTuple):
    """A concept: line and words counted from 0, `end` exclusive."""

    line: int
    start: int
    end: int
    type: str


def load(path: Path, options: DataOptions) -> Corpus:  # noqa: ARG001
    """Load all candidate pairs of all notes with a `.rel` file.

    Raises:
        DataError: missing files, an unreadable line, or a concept outside its note.
    """
    files = {suffix: sorted(path.rglob(f"*{suffix}")) for suffix in (".txt", ".con", ".rel")}
    if not files[".rel"]:
        raise DataError(f"no i2b2 2010 relations in `{path}`", allowed=".rel files", then=CARD.by_hand)
    examples: list[Example] = []
    crossing = 0
    for relations in files[".rel"]:
        note, concepts = (_fitting(files[suffix], relations, suffix) for suffix in (".txt", ".con"))
        here, left_out = _concepts(concepts)
        crossing += left_out
        in_test = "test" in str(relations.parent.relative_to(path)).lower()
        classes = {  # of relations, by the positions of their two concepts
            frozenset((int(m[at]) - 1, int(m[at + 1]), int(m[at + 3]) + 1) for at in (2, 8)): m[6]
            for m in _lines(relations, _REL)
        }
        examples += _pairs(note, here, classes, part="test" if in_test else "train")
    divided = len({example.part for example in examples}) > 1
    crossing_note = f"{crossing} concepts left out: they span several lines" if crossing else ""
    parts_note = (
        "" if divided else "one of the parts has no documents: check that training and test data are there"
    )
    return answers_corpus(CARD, examples, crossing_note, parts_note)


def _fitting(files: list[Path], relations: Path, suffix: str) -> Path:
    """Return the nearest file of the same note."""
    same = [file for file in files if file.stem == relations.stem]
    if not same:
        raise DataError(f"`{relations.name}` has no note or concepts", allowed=f"{relations.stem}{suffix}")
    return max(same, key=lambda file: len(set(file.parents) & set(relations.parents)))


def _lines(file: Path, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    for number, line in enumerate(text_of(file).split("\n"), start=1):
        if line.strip():
            match = pattern.fullmatch(line.strip())
            if match is None:
                raise DataError(f"`{file.name}:{number}` cannot be read", got=line, allowed="i2b2's form")
            yield match


def _concepts(file: Path) -> tuple[list[Concept], int]:
    """Return the concepts within one line, in text order, and the number of others."""
    concepts, crossing = set(), 0
    for match in _lines(file, _CON):
        line, start, last_line, last = (int(match[at]) for at in range(2, 6))
        crossing += line != last_line
        if line == last_line:
            concepts.add(Concept(line - 1, start, last + 1, match[6]))
    return sorted(concepts), crossing


def _pairs(
    note: Path, concepts: list[Concept], relations: dict[frozenset[tuple[int, int, int]], str], *, part: str
) -> Iterator[Example]:
    lines = [line.split() for line in text_of(note).split("\n")]
    for first, second in combinations(concepts, 2):
        if first.line != second.line or PROBLEM not in (first.type, second.type):
            continue
        # A test or treatment is first, in the order of the roles.
        roles = sorted((first, second), key=lambda concept: concept.type == PROBLEM)
        if first.line >= len(lines) or max(first.end, second.end) > len(lines[first.line]):
            raise DataError(f"`{note.name}` has no words where a concept is", got=f"line {first.line + 1}")
        words = lines[first.line]
        id_ = f"{part}.{note.stem}.{first.line + 1}.{first.start}-{first.end}.{second.start}-{second.end}"
        yield Example(
            f"{id_}.{first.type}.{second.type}",
            " ".join(words),
            relations.get(frozenset((first[:3], second[:3])), "false"),
            f"{note.name}:{first.line + 1}",
            part,
            mentions=tuple(_characters(words, concept) for concept in roles),
            group=f"{part}.{note.stem}",
        )


def _characters(words: list[str], concept: Concept) -> Span:
    start = len(" ".join([*words[: concept.start], ""]))
    end = start + len(" ".join(words[concept.start : concept.end]))
    return Span(start, end, concept.type.upper())
