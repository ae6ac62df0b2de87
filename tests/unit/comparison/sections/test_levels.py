"""Levels of a hierarchy: scores of ancestors are those of their labels together."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from drawing import block, svg
from sklearn.metrics import f1_score

from mtlv.comparison.sections import levels
from mtlv.evaluation.metrics import Decisions


@pytest.fixture
def comparison(comparison_of):
    """Two labels below one ancestor, and one that is at the top."""
    plain = comparison_of(runs=2, children=2, tasks=3)
    names = sorted(task.name for task in plain.tasks)
    above = {names[0]: (("top",), (names[0],)), names[1]: (("top",), (names[1],)), names[2]: ((names[2],),)}
    tasks = tuple(replace(task, levels=above[task.name]) for task in plain.tasks)
    return replace(plain, tasks=tasks)


def cells(child, name: str) -> tuple[np.ndarray, np.ndarray]:
    task = child.test.tasks[name]
    return task.targets == 1, task.outputs >= child.tasks[name]["threshold"]


def test_scores_of_a_level_are_those_of_its_nodes(comparison):
    rows = {(row["run"], row["level"]): row for row in block(levels.build(comparison), "levels").rows}
    names = sorted(task.name for task in comparison.tasks)
    for run in comparison.runs:
        macro, micro, hierarchical = [], [], []
        for child in run.children:
            first, second, third = (cells(child, name) for name in names)
            top = [np.stack([a | b, c], axis=1) for a, b, c in zip(first, second, third, strict=True)]
            macro.append(f1_score(*top, average="macro", zero_division=0))
            micro.append(f1_score(*top, average="micro", zero_division=0))
            every = [np.stack([a | b, c, a, b], axis=1) for a, b, c in zip(first, second, third, strict=True)]
            hierarchical.append(f1_score(*every, average="micro", zero_division=0))
        row = rows[run.key, "1"]
        assert (row["macro"], row["micro"]) == pytest.approx((np.mean(macro), np.mean(micro)))
        assert row["macro_sd"] == pytest.approx(np.std(macro, ddof=1))
        assert rows[run.key, "all"]["micro"] == pytest.approx(np.mean(hierarchical))
        assert rows[run.key, "labels"]["macro"] == pytest.approx(np.mean(run.mains))
        counts = [rows[run.key, level]["labels"] for level in ("labels", "1", "2", "all")]
        assert counts == [3, 2, 2, 4]


def test_a_node_with_an_unknown_label_is_known_only_if_another_is_true():
    below = np.array([[True], [True]])
    known = np.array([[True, False], [True, False], [True, True]])
    truth = np.array([[True, False], [False, False], [False, False]])
    rolled = levels.roll_up(Decisions(truth, np.ones((3, 2), bool) & known, known), below)
    assert rolled.known.tolist() == [[True], [False], [True]]
    assert rolled.truth.tolist() == [[True], [False], [False]]
    assert rolled.predicted.tolist() == [[True], [False], [True]]


def test_there_is_no_section_without_a_hierarchy_or_scores(comparison, comparison_of):
    assert levels.build(comparison_of(runs=2)) is None
    bare = tuple(
        replace(run, children=tuple(replace(child, test=None) for child in run.children))
        for run in comparison.runs
    )
    assert levels.build(replace(comparison, runs=bare)) is None


def test_a_run_on_other_documents_is_left_out(comparison):
    first, second = comparison.runs
    others = replace(comparison, baseline=first.key, runs=(first, replace(second, data_digest="other")))
    assert {row["run"] for row in block(levels.build(others), "levels").rows} == {first.key}


def test_the_figure_goes_from_the_top_to_the_labels(comparison):
    figure = block(levels.build(comparison), "levels_scores")
    assert {row["level"] for row in figure.rows} == {"1", "2", "labels"}
    ticks = re.findall(r"<text[^>]*>(1|2|labels)</text>", svg(figure))
    assert ticks == ["1", "2", "labels"]


def test_the_tenth_level_is_below_the_ninth(comparison):
    first, *others = sorted(comparison.tasks, key=lambda task: task.name)
    deep = replace(first, levels=tuple((f"node {n}",) for n in range(11)))
    figure = block(levels.build(replace(comparison, tasks=(deep, *others))), "levels_scores")
    ticks = re.findall(r"<text[^>]*>(\d\d?|labels)</text>", svg(figure))
    assert ticks == [*map(str, range(1, 12)), "labels"]
