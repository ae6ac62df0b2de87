"""What `mtlv data check` counts, for each kind of task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtlv.data.joined import join
from mtlv.data.report import inspect, lines
from mtlv.data.source import Corpus
from mtlv.data.splits import make_folds
from mtlv.data.targets import spans_column
from mtlv.plan.spans import Span
from mtlv.plan.task import Task

N = 40
KINDS = {
    "binary": (Task("a"), np.arange(N) % 4 == 0, {"a": 10}, 30),
    "multiclass": (
        Task("m", "multiclass", classes=("no", "yes")),
        np.arange(N) % 2,
        {"m: no": 20, "m: yes": 20},
        0,
    ),
    "regression": (
        Task("r", "regression"),
        np.linspace(0, 4, N, dtype=np.float32),
        {f"r: quarter {q}": 10 for q in range(1, 5)},
        0,
    ),
    "tagging": (
        Task("t", "tagging", classes=("X", "Y")),
        spans_column([[Span(0, 1, "X")] * (n % 2) for n in range(N)]),
        {"t: X": 20, "t: Y": 0},
        20,
    ),
}


def corpus(kind, **columns):
    task, values, _, _ = KINDS[kind]
    texts = tuple(f"document {n}" for n in range(N))
    values = values.astype(np.int8) if values.dtype == bool else values
    return Corpus("made", (task,), texts, texts, {task.name: values}, **columns)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_of_every_kind(kind):
    made = corpus(kind)
    _, _, counts, unlabelled = KINDS[kind]
    report = inspect(made, make_folds(made), wanted_folds=1)
    assert report.counts == counts
    assert report.unlabelled == unlabelled
    assert {name: sum(parts.values()) for name, parts in report.per_part.items()} == counts
    text = "\n".join(lines(report))
    assert f"tasks       1 {kind}" in text
    assert f"documents   40, {unlabelled} without labels" in text


def test_without_folds_only_all_is_counted():
    report = inspect(corpus("multiclass"), ())
    assert report.per_part == {}
    assert lines(report)[-1].split() == ["m:", "yes", "20"]


def test_a_pair_is_as_long_as_both_texts():
    def tokens(texts):
        return [len(text.split()) + 2 for text in texts]

    paired = corpus("regression", seconds=("one two three",) * N)
    assert inspect(paired, (), lengths=tokens).lengths.most == 2 + 3 + 3
    assert inspect(corpus("regression"), (), lengths=tokens).lengths.most == 2 + 2


def test_a_text_with_another_second_is_no_duplicate():
    task = KINDS["regression"][0]
    values = {"r": np.array([0, 1], np.float32)}
    made = Corpus("made", (task,), ("1", "2"), ("a", "a"), values, seconds=("b", "c"))
    assert inspect(made, ()).duplicates == 0
    marks = ((Span(0, 1),), (Span(1, 2),))
    assert inspect(replace(made, seconds=None, mentions=marks), ()).duplicates == 0
    assert inspect(replace(made, seconds=None), ()).duplicates == 1


def test_near_repeats_are_counted_apart():
    made = corpus("binary")
    texts = ("Document 1.", "document 2", *made.texts[2:38], "DOCUMENT 1", " document 1")
    report = inspect(replace(made, texts=texts), ())
    assert (report.duplicates, report.near) == (1, 2)
    said = (
        "1 documents repeat an earlier one exactly; 2 texts differ from an earlier one only in case, spaces"
    )
    assert any(said in line for line in lines(report))


def test_a_pair_of_joined_corpora_is_no_duplicate_by_its_first_text():
    paired = replace(corpus("regression"), texts=("a",) * N, seconds=corpus("regression").texts)
    marked = replace(
        corpus("binary"), name="marked", texts=("b",) * N, mentions=tuple((Span(n, n + 1),) for n in range(N))
    )
    assert inspect(join([paired, marked]), ()).duplicates == 0
    assert inspect(join([replace(paired, seconds=("a",) * N), marked]), ()).duplicates == N - 1
