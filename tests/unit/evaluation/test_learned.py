"""The two rules: when training has ended, and when a task was learned."""

from __future__ import annotations

import numpy as np
import pytest

from mtlv.data.targets import spans_column
from mtlv.evaluation.learned import (
    RISE,
    TrainingEnd,
    constant_scores,
    learning,
    training_end,
)
from mtlv.plan import Scores, Task, TaskScores
from mtlv.plan.spans import Span

YES = Task("yes")
CLASSES = Task("class", "multiclass", "c", ("none", "one", "two"), ("none",), main_metric="accuracy")


def scores_of(*targets: tuple[Task, np.ndarray, np.ndarray | None]) -> Scores:
    """Test scores of some tasks, all wrong, with masks."""
    count = len(targets[0][1])
    tasks = {
        task.name: TaskScores(
            np.zeros((count, len(task.classes)) if task.kind == "multiclass" else count),
            values,
            np.ones(count, bool) if mask is None else mask,
        )
        for task, values, mask in targets
    }
    return Scores(("unit",), "test", tuple(map(str, range(count))), tasks)


# ---- Trained to the end ------------------------------------------------------------------------------------


def test_a_metric_that_rises_by_more_than_a_hundredth_has_not_ended() -> None:
    assert training_end([[0.2, 0.5, 0.75]]) == TrainingEnd(0.25)
    assert not TrainingEnd(0.011).reached
    assert TrainingEnd(RISE).reached
    assert TrainingEnd(-0.5).reached


@pytest.mark.parametrize(("epochs", "before"), [(2, 1), (3, 1), (4, 1), (5, 2), (10, 3), (24, 8)])
def test_the_rise_is_that_of_the_last_third(epochs: int, before: int) -> None:
    curve = [epoch**2 / 1000 for epoch in range(epochs)]
    rise = ((epochs - 1) ** 2 - (epochs - 1 - before) ** 2) / 1000
    assert training_end([curve]) == TrainingEnd(pytest.approx(rise))


def test_the_rise_is_the_mean_over_folds_of_any_number_of_epochs() -> None:
    assert training_end([[0.25, 0.5], [0.5, 0.5, 0.25]]) == TrainingEnd(0.0)


def test_one_epoch_shows_no_end() -> None:
    end = training_end([[0.5], [0.25, 0.25]])
    assert end == TrainingEnd(None)
    assert end is not None
    assert not end.reached


def test_nothing_is_said_without_curves() -> None:
    assert training_end([]) is None
    assert training_end([[], [0.5, 0.75]]) is None


# ---- Learned -----------------------------------------------------------------------------------------------


def test_always_yes_is_measured_on_the_test_documents_with_a_target() -> None:
    mask = np.array([True] * 8 + [False] * 2)
    test = np.array([1, 1, 0, 0, 0, 0, 0, 0, 1, 1])
    found = constant_scores(scores_of((YES, test, mask)), [YES], {"yes": np.ones(100)})
    p = 2 / 8
    assert found == {"yes": pytest.approx(2 * p / (1 + p))}


def test_the_class_is_chosen_on_training_and_measured_on_test() -> None:
    test, training = np.array([0, 0, 0, 1, 2]), np.array([2, 2, 2, 1, 0])
    assert constant_scores(scores_of((CLASSES, test, None)), [CLASSES], {"class": training}) == {"class": 0.2}


def test_a_metric_without_the_negative_class_has_another_constant() -> None:
    """`none` is the most frequent, but always `none` has an F1 of 0."""
    task = Task("class", "multiclass", "c", CLASSES.classes, ("none",), main_metric="f1_micro_positive")
    test, training = np.array([0, 0, 1, 2, 2]), np.array([0, 0, 0, 1, 2, 2])
    found = constant_scores(scores_of((task, test, None)), [task], {"class": training})
    assert found == {"class": pytest.approx(2 * 2 / (5 + 3))}


def test_a_constant_number_has_no_correlation_and_no_tags_no_entities() -> None:
    number = Task("number", "regression", main_metric="pearson")
    values = np.array([0.1, 0.5, 0.3])
    assert constant_scores(scores_of((number, values, None)), [number], {"number": values}) == {"number": 0}
    tags = Task("tags", "tagging", "t", ("Organ",), main_metric="entity_f1")
    spans = spans_column([[Span(0, 1, "Organ")], []])
    assert constant_scores(scores_of((tags, spans, None)), [tags], {"tags": spans}) == {"tags": 0}


def test_a_task_on_which_no_document_counts_is_not_judged() -> None:
    assert constant_scores(scores_of((YES, np.zeros(4), None)), [YES], {"yes": np.ones(4)}) == {}


def test_no_better_is_a_mean_difference_of_zero_or_less() -> None:
    pairs = {"better": [(0.4, 0.3), (0.3, 0.3)], "equal": [(0.4, 0.5), (0.5, 0.4)], "worse": [(0.2, 0.3)]}
    tasks = [Task(name) for name in (*pairs, "unknown")]
    found = learning(None, tasks, lambda task: pairs.get(task.name, []))
    assert [each.task.name for each in found.unlearned] == ["equal", "worse"]
    assert (found.unlearned[1].score, found.unlearned[1].constant) == (0.2, 0.3)
    assert found.tasks == 3
    assert not found.nothing


def test_a_task_is_ranked_well_from_halfway_between_the_constant_answer_and_one() -> None:
    precisions = {"high": [0.5, 0.7], "low": [0.5, 0.69], "none": []}
    tasks = [Task(name) for name in precisions]
    pairs = [(0.1, 0.2), (0.2, 0.2)]
    found = learning(None, tasks, lambda _: pairs, average_precision=precisions.__getitem__)
    assert [each.ranked for each in found.unlearned] == [True, False, False]
    assert found.unlearned[0].average_precision == pytest.approx(0.6)


def test_nothing_was_learned_only_if_every_judged_task_was_not() -> None:
    def of(*names: str) -> bool:
        return learning(None, [*map(Task, names)], lambda task: pairs.get(task.name, [])).nothing

    pairs = {"good": [(0.9, 0.1)], "bad": [(0.1, 0.1)]}
    assert of("bad")
    assert of("bad", "unknown")
    assert not of("bad", "good")
    assert not of("unknown")
