from __future__ import annotations

from mtlv.comparison.blocks import Baseline, FigureBlock
from mtlv.comparison.files import visible

ROWS = (
    {"run": "r0", "task": "a", "f1": 0.5},
    {"run": "r0", "task": "b", "f1": None},
    {"run": "r1", "task": "a", "f1": 0.75},
    {"run": "r1", "task": "b", "f1": 0.25},
    {"run": "r1", "other": "r0", "p": 0.5},
    {"note": "of no run"},
)


def figure(baseline: Baseline | None = None) -> FigureBlock:
    return FigureBlock("f", "t", "c", {}, ROWS, baseline)


def test_rows_of_runs_and_tasks_that_are_off_are_left_out():
    assert visible(figure(), {"r1"}, {"a"}, "r0") == [ROWS[2], ROWS[5]]
    assert visible(figure(), {"r0", "r1"}, {"a", "b"}, "r0") == [dict(row) for row in ROWS]


def test_a_pair_shows_while_both_runs_are_on():
    assert ROWS[4] in visible(figure(), {"r0", "r1"}, set(), "r0")
    assert ROWS[4] not in visible(figure(), {"r1"}, set(), "r0")


def test_the_baseline_counts_while_it_is_off():
    rows = visible(figure(Baseline("f1", ("task",))), {"r1"}, {"a", "b"}, "r0")
    assert [row["delta"] for row in rows] == [0.25, None, None]


def test_the_baseline_is_that_of_the_same_fields():
    rows = visible(figure(Baseline("f1", ("task",))), {"r0", "r1"}, {"a", "b"}, "r1")
    assert [row["delta"] for row in rows[:4]] == [-0.25, None, 0.0, 0.0]


def test_rows_given_are_not_changed():
    visible(figure(Baseline("f1", ("task",))), {"r0", "r1"}, {"a", "b"}, "r0")
    assert all("delta" not in row for row in ROWS)
