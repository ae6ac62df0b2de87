"""MedNLI: sentences of clinical notes with statements that follow, contradict or neither (agreement needed).

Reads `mli_train_v1.jsonl`, `mli_dev_v1.jsonl` and `mli_test_v1.jsonl`. A pair is the sentence (premise) and
the statement (hypothesis), in this order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mtlv.data.examples import Example, by_parts
from mtlv.data.source import Card
from mtlv.data.tables.rows import read_table
from mtlv.errors import DataError
from mtlv.plan.task import Task

COLUMNS = ("sentence1", "sentence2", "gold_label")

CARD = Card.of_task(
    Task(
        "MedNLI",
        kind="multiclass",
        source="mednli",
        classes=("entailment", "contradiction", "neutral"),
        description="Whether a statement follows from a sentence of a clinical note, or contradicts it.",
        main_metric="accuracy",
    ),
    title="MedNLI, whether a statement follows from a clinical sentence (agreement needed)",
    address="https://physionet.org/content/mednli/",
    licence="PhysioNet Credentialed Health Data License",
    citation="Romanov A, Shivade C. Lessons from natural language inference in the clinical domain. "
    "Proc. EMNLP 2018, 1586-1596.",
    by_hand="become a credentialed user of PhysioNet, sign the agreement at "
    "https://physionet.org/content/mednli/, and put the three mli_*_v1.jsonl into one folder",
)


def _examples(file: Path, part: str) -> list[Example]:
    table = read_table(file, encoding="utf-8")
    table.need(COLUMNS, "MedNLI's release")
    examples: list[Example] = []
    for line, row in table.rows:
        cells: list[Any] = [row.get(name) for name in COLUMNS]
        if not all(isinstance(cell, str) for cell in cells):
            raise DataError(f"`{file.name}:{line}` is incomplete", allowed=f"text in {', '.join(COLUMNS)}")
        premise, hypothesis, answer = cells
        id_ = f"{file.stem}.{row.get('pairID') or line}"
        examples.append(Example(id_, premise, answer, f"{file.name}:{line}", part, hypothesis))
    return examples


load = by_parts(CARD, (".jsonl",), _examples)
