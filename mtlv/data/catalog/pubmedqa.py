"""PubMedQA: titles of papers as questions, abstracts without their conclusions, and yes, no or maybe.

Reads `ori_pqal.json` and the test list `test_ground_truth.json` next to it. A pair is the question and its
contexts, joined by spaces. BLURB's split of the other 500 into 450 and 50 is made by a script, not a file,
so `mtlv` draws the validation documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mtlv.data.examples import Example, answers_corpus
from mtlv.data.options import DataOptions
from mtlv.data.parts import from_github, text_of
from mtlv.data.source import Card, Corpus
from mtlv.data.tables.rows import json_at
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
    strange = sorted(answers.keys() - {example.id for example in examples})
    if strange:
        raise DataError(f"`{TEST}` lists questions that are not in `{file.name}`", got=", ".join(strange))
    note = "" if answers else f"there is no `{TEST}`: the questions are not split"
    return answers_corpus(CARD, examples, note)


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
