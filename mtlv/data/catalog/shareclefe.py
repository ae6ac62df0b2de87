"""ShARe/CLEF eHealth 2013, task 1: clinical notes with the disorders they name (agreement required).

Reads the organizers' notes (`.txt`) and annotations (`.pipe` or `.pipe.txt`: note, `Disease_Disorder`,
concept, and start and end of each part, separated by `||`), in any folders; or CoNLL files made by BLUE's
scripts. A document is a paragraph of a note; its words are runs of letters and digits, or single
characters. A disorder with several parts spans from its first to its last character. Files below a folder
with `test` in its name are the test part.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mtlv.data.conll import Sentence, corpus_of, tagged_corpus
from mtlv.data.options import DataOptions
from mtlv.data.parts import text_of
from mtlv.data.source import Card, Corpus
from mtlv.data.words import split_words
from mtlv.errors import DataError
from mtlv.plan.spans import Span
from mtlv.plan.task import Task

DISORDER = "Disorder"
_PARAGRAPH = re.compile(r"\S(?:.|\n(?!\s*\n))*")

CARD = Card.of_task(
    Task(
        "ShARe/CLEFE",
        kind="tagging",
        source="shareclefe",
        classes=(DISORDER,),
        description="Names of diseases, symptoms and injuries in clinical notes.",
        main_metric="entity_f1",
    ),
    title="ShARe/CLEF eHealth 2013, disorders in clinical notes (agreement needed)",
    address="https://physionet.org/content/shareclefehealth2013/",
    licence="PhysioNet Credentialed Health Data License",
    citation="Suominen H, Salantera S, Velupillai S, et al. Overview of the ShARe/CLEF eHealth evaluation "
    "lab 2013. CLEF 2013, LNCS 8138:212-231.",
    by_hand="become a credentialed user of PhysioNet, sign the agreement at "
    "https://physionet.org/content/shareclefehealth2013/, and unpack task 1 into one folder",
)


def load(path: Path, options: DataOptions) -> Corpus:  # noqa: ARG001
    """Load all paragraphs, with the corpus's own training and test parts.

    Raises:
        DataError: missing files, an unreadable line, or a disorder outside its note.
    """
    marked = [] if path.is_file() else sorted({*path.rglob("*.pipe"), *path.rglob("*.pipe.txt")})
    if not marked:
        return tagged_corpus(CARD, path, untyped=DISORDER)
    disorders = _disorders(marked)
    count: Counter[str] = Counter()
    sentences, parts = [], []
    for note in sorted(set(path.rglob("*.txt")) - set(marked)):
        part = "test" if "test" in str(note.parent.relative_to(path)).lower() else "train"
        for sentence in _paragraphs(note, disorders.pop(note.stem, []), part, count):
            sentences.append(sentence)
            parts.append(part)
    if disorders:
        raise DataError("disorders are marked in notes that are missing", got=", ".join(sorted(disorders)))
    return corpus_of(
        CARD.name,
        CARD.other_tasks[0],
        sentences,
        tuple(parts) if len(set(parts)) > 1 else None,
        tuple(f"{number} disorders {fault}" for fault, number in count.items()),
    )


def _disorders(files: list[Path]) -> dict[str, list[tuple[int, int]]]:
    """Return start and end of each disorder in characters, by note."""
    found: dict[str, list[tuple[int, int]]] = {}
    for file in files:
        for number, line in enumerate(text_of(file).split("\n"), start=1):
            if not line.strip():
                continue
            name, *rest = line.strip().split("||")
            places = [place for place in rest[2:] if place.isdecimal()]
            if len(places) < 2 or len(places) % 2:
                raise DataError(
                    f"`{file.name}:{number}` cannot be read",
                    got=line,
                    allowed="note||Disease_Disorder||concept||start||end",
                )
            found.setdefault(name.removesuffix(".txt"), []).append((int(places[0]), int(places[-1])))
    return found


def _paragraphs(
    note: Path, disorders: list[tuple[int, int]], part: str, count: Counter[str]
) -> Iterator[Sentence]:
    text = text_of(note)
    if any(end > len(text) or start >= end for start, end in disorders):
        raise DataError(
            f"`{note.name}` has no text where a disorder is marked", got=f"{len(text)} characters"
        )
    left = sorted(set(disorders), key=lambda place: (place[0], -place[1]))
    for number, paragraph in enumerate(_PARAGRAPH.finditer(text), start=1):
        words = split_words(text, *paragraph.span()).places
        here = [place for place in left if place[0] < paragraph.end() and place[1] > paragraph.start()]
        left = [place for place in left if place not in here]
        spans: list[Span] = []
        for start, end in here:
            covered = [at for at, word in enumerate(words) if word[0] < end and word[1] > start]
            if not covered or (spans and covered[0] < spans[-1].end):
                count["left out: they overlap an earlier one"] += 1
            else:
                spans.append(Span(covered[0], covered[-1] + 1, DISORDER))
        document = f"{part}.{note.stem}"
        held = tuple(text[a:b] for a, b in words)
        yield Sentence(f"{document}.{number}", held, tuple(spans), document)
