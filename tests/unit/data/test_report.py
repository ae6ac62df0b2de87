"""What `mtlv data check` counts, for each kind of task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtlv.data.joined import join
from mtlv.data.report import CorpusCheck
from mtlv.data.source import Corpus
from mtlv.data.splits import make_folds
from mtlv.data.targets import spans_column
from mtlv.plan.spans import Span
from mtlv.plan.task import UNKNOWN, Task

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


def said(lines, start):
    """Return what stands behind the title of a line."""
    (found,) = [line for line in lines if line.startswith(start)]
    return found.removeprefix(start).strip()


@pytest.mark.parametrize("kind", KINDS)
def test_counts_of_every_kind(kind):
    made = corpus(kind)
    _, _, counts, unlabelled = KINDS[kind]
    lines = CorpusCheck(made, make_folds(made)).lines
    for name, count in counts.items():
        total, *parts = map(int, said(lines, name + "  ").split())
        assert (total, sum(parts), len(parts)) == (count, count, 3)
    assert said(lines, "labels ") == str(len(counts))
    assert said(lines, "tasks ") == f"1 {kind}"
    assert said(lines, "documents ") == f"40, {unlabelled} with no label set"


def test_without_folds_only_all_is_counted():
    lines = CorpusCheck(corpus("multiclass")).lines
    assert [line.split() for line in lines[-3:]] == [
        ["label", "all"],
        ["m:", "no", "20"],
        ["m:", "yes", "20"],
    ]


def test_lengths_are_counts_that_documents_have():
    lines = CorpusCheck(corpus("binary"), lengths=np.arange(1, N + 1), max_length=30).lines
    wanted = "1 to 40, median 21, 95 % up to 39; 10 documents are truncated at 30 (55 tokens, 7%)"
    assert said(lines, "tokens ") == wanted


def repeats(made):
    """Return the numbers of exact and of near repeats."""
    words = said(CorpusCheck(made).lines, "duplicates ").split()
    return int(words[0]), int(words[7])


def test_a_text_with_another_second_is_no_duplicate():
    task = KINDS["regression"][0]
    values = {"r": np.array([0, 1], np.float32)}
    made = Corpus("made", (task,), ("1", "2"), ("a", "a"), values, seconds=("b", "c"))
    assert repeats(made) == (0, 0)
    marks = ((Span(0, 1),), (Span(1, 2),))
    assert repeats(replace(made, seconds=None, mentions=marks)) == (0, 0)
    assert repeats(replace(made, seconds=None)) == (1, 0)


def test_near_repeats_are_counted_apart():
    made = corpus("binary")
    texts = ("Document 1.", "document 2", *made.texts[2:38], "DOCUMENT 1", " document 1")
    lines = CorpusCheck(replace(made, texts=texts)).lines
    assert said(lines, "duplicates ") == (
        "1 documents repeat an earlier one exactly; 2 texts differ from an earlier one only in case, spaces "
        "or punctuation"
    )


def test_a_pair_of_joined_corpora_is_no_duplicate_by_its_first_text():
    paired = replace(corpus("regression"), texts=("a",) * N, seconds=corpus("regression").texts)
    marked = replace(
        corpus("binary"), name="marked", texts=("b",) * N, mentions=tuple((Span(n, n + 1),) for n in range(N))
    )
    assert repeats(join([paired, marked]))[0] == 0
    assert repeats(join([replace(paired, seconds=("a",) * N), marked]))[0] == N - 1


def test_documents_that_are_known_to_lack_a_label_are_no_label_set() -> None:
    made = corpus("binary")
    values = made.targets["a"].copy()
    values[1:6] = UNKNOWN  # one of them was yes
    lines = CorpusCheck(replace(made, targets={"a": values})).lines
    assert "documents   40, 31 with no label set" in lines
    assert "labels      1" in lines
    assert [line.split() for line in lines[-2:]] == [["a", "9"], ["a:", "no", "26"]]
