"""ShARe/CLEF eHealth 2013, task 1: clinical notes with the disorders they name (agreement required).

Reads the organizers' notes (`.txt`) and annotations (`.pipe` or `.pipe.txt`: note, `Disease_Disorder`,
concept, and start and end of each part, separated by `||`), in any folders; or CoNLL files made by BLUE's
scripts. A document is a paragraph of a note; its words are runs of letters and digits, or single
characters. A disorder with several parts spans from its first to its last character. Files below a folder
with `test` in its name are the test part.
"""

from __future__ import annotations

from pathlib import Path

from mtlv.data.conll import corpus_of, tagged_corpus
from mtlv.data.options import DataOptions
from mtlv.data.parts import text_of
from mtlv.data.source import Card, Corpus
from mtlv.data.standoff.losses import Losses
from mtlv.data.standoff.marks import Mark, MarkedText, documents, paragraphs
from mtlv.errors import DataError
from mtlv.plan.task import Task

DISORDER = "Disorder"

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
    losses = Losses()
    sentences, parts = [], []
    for note in sorted(set(path.rglob("*.txt")) - set(marked)):
        part = "test" if "test" in str(note.parent.relative_to(path)).lower() else "train"
        of_note = list(documents(_mark_disorders(note, disorders.pop(note.stem, []), part), losses))
        sentences += of_note
        parts += [part] * len(of_note)
    if disorders:
        raise DataError("disorders are marked in notes that are missing", got=", ".join(sorted(disorders)))
    return corpus_of(
        CARD.name,
        CARD.other_tasks[0],
        sentences,
        tuple(parts) if len(set(parts)) > 1 else None,
        losses.notes(),
    )


def _disorders(files: list[Path]) -> dict[str, list[tuple[int, int]]]:
    """Return start and end of each disorder in characters, by note."""
    disorders: dict[str, list[tuple[int, int]]] = {}
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
            disorders.setdefault(name.removesuffix(".txt"), []).append((int(places[0]), int(places[-1])))
    return disorders


def _mark_disorders(note: Path, disorders: list[tuple[int, int]], part: str) -> MarkedText:
    text = text_of(note)
    if any(end > len(text) or start >= end for start, end in disorders):
        raise DataError(
            f"`{note.name}` has no text where a disorder is marked", got=f"{len(text)} characters"
        )
    marks = [Mark(start, end, DISORDER) for start, end in disorders]
    return MarkedText(f"{part}.{note.stem}", text, paragraphs(text), marks)
