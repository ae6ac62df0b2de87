"""Scores of every kind come back from the disk as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mtlv.data.targets import spans_column
from mtlv.plan import Scores, TaskScores
from mtlv.plan.spans import Span
from mtlv.store.scores_file import read_scores, write_scores

MASK = np.array([True, False, True])
TASKS = {
    "yes: no": TaskScores(np.array([0.5, 0.1, 1], np.float32), np.array([1, 0, 1], np.int8), MASK),
    "classes": TaskScores(np.eye(3, 4, dtype=np.float32), np.array([0, 3, 1]), MASK),
    "number": TaskScores(np.array([0.5, -2, 7], np.float32), np.array([1, 2, 3], np.float32), MASK),
    "spans": TaskScores(
        spans_column([[Span(0, 2, "X"), Span(3, 4, "Ü")], [], [Span(1, 2)]]), spans_column([[], [], []]), MASK
    ),
}


def test_every_kind_comes_back(tmp_path: Path) -> None:
    scores = Scores(("u",), "test", ("a", "b", "c"), TASKS)
    write_scores(scores, tmp_path / "s.parquet")
    back = read_scores(tmp_path / "s.parquet")
    assert (back.units, back.part, back.ids) == (("u",), "test", ("a", "b", "c"))
    assert back.groups is None
    assert list(back.tasks) == list(TASKS)
    for name, task in TASKS.items():
        for one, other in zip(vars(back.tasks[name]).values(), vars(task).values(), strict=True):
            assert one.dtype == other.dtype
            assert one.tolist() == other.tolist()
            assert all(isinstance(span, Span) for row in one if one.dtype == object for span in row)


def test_groups_come_back(tmp_path: Path) -> None:
    write_scores(Scores(("u",), "test", ("a", "b", "c"), TASKS, ("g", "g", "h")), tmp_path / "s.parquet")
    assert read_scores(tmp_path / "s.parquet").groups == ("g", "g", "h")
