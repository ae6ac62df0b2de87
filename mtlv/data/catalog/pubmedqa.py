"""PubMedQA: titles of papers as questions, abstracts without their conclusions, and yes, no or maybe.

Reads `ori_pqal.json` and the test list `test_ground_truth.json` next to it. A pair is the question and its
contexts, joined by spaces. The other 500 are divided into 450 and 50 by the draws of the data set's script,
`preprocess/split_dataset.py`, whose test part is the published list. Validation is its fold 0, as in HELM.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mtlv.data.examples import Example, answers_corpus
from mtlv.data.options import DataOptions
from mtlv.data.parts import from_github, text_of
from mtlv.data.source import Card, Corpus
from mtlv.data.tables.json_rows import json_at
from mtlv.errors import DataError
from mtlv.plan.task import Task

QUESTIONS = "ori_pqal.json"
TEST = "test_ground_truth.json"

CARD = Card.of_task(
    Task(
        "PubMedQA",
        kind="multiclass",
        source="pubmedqa",
        classes=("yes", "no", "maybe"),
        description="The answer that an abstract gives to a research question.",
        main_metric="accuracy",
    ),
    title="PubMedQA (PQA-L), 1,000 questions on abstracts: yes, no or maybe",
    address="https://github.com/pubmedqa/pubmedqa",
    licence="MIT, as its repository states",
    citation="Jin Q, Dhingra B, Liu Z, Cohen W, Lu X. PubMedQA: a dataset for biomedical research question "
    "answering. Proc. EMNLP 2019, 2567-2577.",
    downloads=(
        *from_github(
            "pubmedqa/pubmedqa",
            "1f00b98d5cc626844bf8c4ca513b6e62c40071ec/data",
            {QUESTIONS: "8b3276be8942ebbd77f3ddcda12c1749bf0e490045a736fd8438ee40cf37a41d"},
        ),
        *from_github(
            "pubmedqa/pubmedqa",
            "3e7616d288b52edaf38f5fd5c59821c7806bde86/data",
            {TEST: "939fe566f09017d13b1ca64d2ddfee0bc2374b366048152997669cccedc44d51"},
        ),
    ),
)


def load(path: Path, options: DataOptions) -> Corpus:  # noqa: ARG001
    """Load all questions; those of the test list are the test part.

    Raises:
        DataError: a missing file, invalid JSON, an incomplete question, or a test list that does not match.
    """
    file = path / QUESTIONS if path.is_dir() else path
    if not file.is_file():
        raise DataError(f"no `{QUESTIONS}` in `{path}`", then="run `mtlv data fetch pubmedqa`")
    listed = file.with_name(TEST)
    answers = _read(listed) if listed.is_file() else {}
    examples = [_example(id_, row, answers, file.name) for id_, row in _read(file).items()]
    validation = _validation({example.id: example.answer for example in examples}, answers)
    examples = [replace(e, part="validation") if e.id in validation else e for e in examples]
    strange = sorted(answers.keys() - {example.id for example in examples})
    if strange:
        raise DataError(f"`{TEST}` lists questions that are not in `{file.name}`", got=", ".join(strange))
    note = "" if answers else f"there is no `{TEST}`: the questions are not split"
    return answers_corpus(CARD, examples, note)


def _validation(answers: Mapping[str, str], test: Mapping[str, Any]) -> list[str]:
    """Return the ids of fold 0 of the script's ten; none if its test part is not `test`: other questions."""
    rng = random.Random(0)
    rest, drawn = _divide(answers, 2, rng)
    return _divide({id_: answers[id_] for id_ in rest}, 10, rng)[0] if set(drawn) == set(test) else []


def _divide(answers: Mapping[str, str], count: int, rng: random.Random) -> list[list[str]]:
    """Divide ids into `count` parts of equal size, as the script does, with a like share of each answer."""
    parts: list[list[str]] = [[] for _ in range(count)]
    for answer in CARD.tasks()[0].classes:
        ids = [id_ for id_ in answers if answers[id_] == answer]
        rng.shuffle(ids)
        size = -(-len(ids) // count)
        for number, part in enumerate(parts):
            part += ids[number * size : (number + 1) * size]
    if len(parts[0]) != len(parts[-1]):  # the last part has fewer: it takes one of each other
        for part in filter(None, parts[:-1]):
            parts[-1].append(part.pop(part.index(rng.choice(part))))
    return parts


def _read(file: Path) -> Mapping[str, Any]:
    content = json_at(file.name, text_of(file))
    if not isinstance(content, dict):
        raise DataError(
            f"`{file.name}` is not a JSON object", allowed="an object with an entry per PubMed id"
        )
    return content


def _example(id_: str, row: Any, test: Mapping[str, Any], name: str) -> Example:
    """Build an example of a question; `test` is empty if there is no split."""
    fields = row if isinstance(row, dict) else {}
    question, answer, listed = (fields.get(key) for key in ("QUESTION", "final_decision", "CONTEXTS"))
    contexts: list[Any] = listed if isinstance(listed, list) else [None]
    if not all(isinstance(text, str) for text in (question, answer, *contexts)):
        raise DataError(
            f"`{name}`: question `{id_}` is incomplete", allowed="`QUESTION`, `CONTEXTS`, `final_decision`"
        )
    if test.get(id_, answer) != answer:
        raise DataError(
            f"question `{id_}` has two answers", got=f"{answer} in `{name}`, {test[id_]} in `{TEST}`"
        )
    part = ("test" if id_ in test else "train") if test else ""
    return Example(id_, str(question), str(answer), f"{name}: {id_}", part, " ".join(contexts))
