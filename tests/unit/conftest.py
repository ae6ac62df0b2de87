"""Small corpora that a model can learn, one for each kind of task."""

from __future__ import annotations

import numpy as np
import pytest

from mtlv.data.source import Corpus
from mtlv.data.targets import spans_column
from mtlv.plan import Task
from mtlv.plan.spans import Span

WORDS = ("the", "heart", "lung", "liver", "brain", "is", "was", "not", "very", "large", "small", "clear")


def _texts(rng: np.random.Generator, count: int) -> list[list[str]]:
    return [[str(word) for word in rng.choice(WORDS, rng.integers(4, 9))] for _ in range(count)]


def yes_no(rng: np.random.Generator) -> Corpus:
    rows = _texts(rng, 40)
    tasks = tuple(Task(f"has {word}", source="notes") for word in ("heart", "lung"))
    targets = {f"has {w}": np.array([w in row for row in rows], np.int8) for w in ("heart", "lung")}
    return Corpus("notes", tasks, _ids(rows), _joined(rows), targets)


def relations(rng: np.random.Generator) -> Corpus:
    rows, classes = _texts(rng, 30), ("none", "one", "both")
    task = Task("relation", "multiclass", "pairs", classes, main_metric="accuracy")
    values = np.array([("heart" in row) + ("lung" in row) for row in rows], np.int64)
    return Corpus("pairs", (task,), _ids(rows), _joined(rows), {"relation": values})


def similar(rng: np.random.Generator) -> Corpus:
    rows, others = _texts(rng, 24), _texts(rng, 24)
    scores = [("heart" in a) + 0.5 * ("lung" in b) for a, b in zip(rows, others, strict=True)]
    task = Task("similarity", "regression", "sts", main_metric="pearson")
    values = {"similarity": np.array(scores, np.float32)}
    return Corpus("sts", (task,), _ids(rows), _joined(rows), values, seconds=_joined(others))


def organs(rng: np.random.Generator) -> Corpus:
    rows = _texts(rng, 36)
    spans = [[Span(at, at + 1, "Organ") for at, w in enumerate(row) if w in WORDS[1:5]] for row in rows]
    task, words = (
        Task("organs", "tagging", "ner", ("Organ",), main_metric="entity_f1"),
        tuple(map(tuple, rows)),
    )
    return Corpus("ner", (task,), _ids(rows), _joined(rows), {"organs": spans_column(spans)}, words=words)


def _ids(rows: list[list[str]]) -> tuple[str, ...]:
    return tuple(str(number) for number in range(len(rows)))


def _joined(rows: list[list[str]]) -> tuple[str, ...]:
    return tuple(" ".join(row) for row in rows)


@pytest.fixture(scope="session")
def one_corpus_per_kind() -> list[Corpus]:
    """Yes/no, classes, numbers of pairs, and tags; 24 to 40 documents each."""
    rng = np.random.default_rng(0)
    return [make(rng) for make in (yes_no, relations, similar, organs)]
