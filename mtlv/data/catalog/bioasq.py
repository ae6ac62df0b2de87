"""BioASQ, task B: questions with snippets of abstracts, answered by yes or no.

Reads BLURB's `train.tsv`, `dev.tsv` and `test.tsv` (id, question, snippets, answer, separated by tabs, no
header) or the organizers' JSON (`questions` of type `yesno`), one file or one file per part. A pair is the
question and its snippets, joined by spaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mtlv.data.examples import Example, by_parts, tab_rows
from mtlv.data.parts import text_of
from mtlv.data.source import Card
from mtlv.data.tables.json_rows import json_at
from mtlv.errors import DataError
from mtlv.plan.task import Task

CARD = Card.of_task(
    Task(
        "BioASQ",
        kind="multiclass",
        source="bioasq",
        classes=("yes", "no"),
        description="The answer that snippets of abstracts give to a question of a biomedical expert.",
        main_metric="accuracy",
    ),
    title="BioASQ, questions on abstracts: yes or no (BLURB: 670 / 75 / 140)",
    address="http://participants-area.bioasq.org/datasets/",
    licence="the organizers' terms, on registration",
    citation="Nentidis A, Bougiatiotis K, Krithara A, Paliouras G. Results of the seventh edition of the "
    "BioASQ challenge. ECML PKDD 2019 Workshops, 553-568.",
    by_hand="register at http://participants-area.bioasq.org/datasets/ for task 7b; the scripts of BLURB "
    "(https://microsoft.github.io/BLURB/) create train.tsv, dev.tsv and test.tsv from it; put them in "
    "one folder",
)


def _examples(file: Path, part: str) -> Iterator[Example]:
    if file.suffix.lower() == ".json":
        yield from _from_json(file, part)
        return
    for place, (id_, question, snippets, answer) in tab_rows(file, 4):
        yield Example(id_, question, answer.lower(), place, part, snippets)


def _from_json(file: Path, part: str) -> Iterator[Example]:
    content = json_at(file.name, text_of(file))
    questions = content.get("questions") if isinstance(content, dict) else None
    if not isinstance(questions, list):
        raise DataError(f"`{file.name}` has no questions", allowed="an object with the list `questions`")
    for number, row in enumerate(questions, start=1):
        if isinstance(row, dict) and row.get("type") != "yesno":
            continue
        yield _question(row, part, f"{file.name}: question {number}")


def _question(row: Any, part: str, place: str) -> Example:
    fields = row if isinstance(row, dict) else {}
    exact = fields.get("exact_answer")
    answer = exact[0] if isinstance(exact, list) and exact else exact  # some releases have a list of one
    listed = fields.get("snippets")
    snippets: list[Any] = [x.get("text") if isinstance(x, dict) else None for x in listed] if listed else []
    texts: list[Any] = [fields.get("id"), fields.get("body"), answer, *snippets]
    if not all(isinstance(text, str) for text in texts):
        raise DataError(
            f"`{place}` is incomplete", allowed="`id`, `body`, `snippets` with `text`, `exact_answer`"
        )
    id_, body, answer, *snippets = texts
    return Example(id_, body, answer.lower(), place, part, " ".join(snippets))


load = by_parts(CARD, (".tsv", ".json"), _examples)
