"""Features of size, labels, curve, difficulty and usable information, by hand and on trained units."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from mtlv_lab import task_statistics
from mtlv_lab.task_statistics import mean_pvi

from mtlv.errors import GroupingError
from mtlv.plan import Scores, Task, TaskScores

FEATURES = {
    name: getattr(task_statistics, name)
    for name in ("log_size", "label_entropy", "curve_slope", "difficulty", "pvi")
}
TASKS = (Task("heart", source="reports"), Task("lung", source="reports"))
TARGETS = {"heart": np.array([0, 0, 1, 1]), "lung": np.array([1, 1, 1, 0])}
TRAINING = {"heart": np.array([0, 1] * 4), "lung": np.array([1, 1, 1, 0] * 4)}


def record(name: str, *epochs: list[float]):
    """A unit of one task with outputs after each epoch; the last one's weights were kept."""
    curve = [{name: np.array(outputs)} for outputs in epochs]
    mask = np.ones(4, bool)
    tasks = {name: TaskScores(curve[-1][name], TARGETS[name], mask)}
    scores = Scores(("unit",), "validation", ("a", "b", "c", "d"), tasks)
    return SimpleNamespace(
        validation=scores, curve=curve, validation_at=lambda epoch: scores.with_outputs(curve[epoch])
    )


@pytest.fixture
def view(monkeypatch):
    rows = [(np.arange(len(labels)), labels) for labels in TRAINING.values()]
    monkeypatch.setattr(task_statistics, "rows_and_labels", lambda _: rows)
    good, even, bad = [0.0, 0.0, 1.0, 1.0], [0.5] * 4, [1.0, 1.0, 0.0, 0.0]
    records = [record("heart", bad, even, good), record("lung", [0.75] * 4), record("lung", [0.75] * 4)]
    corpus = SimpleNamespace(names=("heart", "lung"), tasks=TASKS)
    return SimpleNamespace(corpus=corpus, records=records)


def values(view, name):
    column = FEATURES[name].compute(view)
    assert column.shape == (2, 1)
    return column[:, 0]


def test_sizes_and_entropies_are_of_training_documents(view):
    assert values(view, "log_size") == pytest.approx(np.log([8, 16]))
    assert values(view, "label_entropy") == pytest.approx([1, -0.75 * np.log2(0.75) - 0.25 * np.log2(0.25)])


def test_a_curve_that_rises_has_a_positive_slope_and_one_epoch_has_none(view):
    rising, flat = values(view, "curve_slope")
    precision = [0.5, 0.5, 1.0]  # average precision, of ties in the first two epochs
    assert rising == pytest.approx(np.polyfit([1 / 3, 2 / 3, 1], precision, 1)[0])
    assert flat == 0


def test_difficulty_is_what_the_kept_weights_miss(view):
    assert values(view, "difficulty") == pytest.approx([0, 1 - 0.75])


def test_usable_information_is_measured_against_the_shares_in_training(view):
    assert values(view, "pvi") == pytest.approx([1, 0])
    assert mean_pvi([[0.5, 0.25, 0.25]], [0], [0, 1, 2, 2]) == pytest.approx(1), "of classes"
    assert mean_pvi([0.25], [1], [0, 1]) == pytest.approx(-1), "worse than the shares"
    assert np.isfinite(mean_pvi([0.0], [1], [0, 0])), (
        "an output of 0, and a label that training does not have"
    )


def test_features_of_units_need_each_task_alone(view):
    view.records.pop(0)
    for name in ("curve_slope", "difficulty", "pvi"):
        with pytest.raises(GroupingError, match="needs a model of each task alone"):
            FEATURES[name].compute(view)
        with pytest.raises(GroupingError, match="needs a model of each task alone"):
            FEATURES[name].cover(("heart", "lung"), [frozenset(("heart", "lung"))])
    with pytest.raises(GroupingError, match="needs a class per text"):
        FEATURES["label_entropy"].fits(
            [Task("pain", kind="regression", source="reports", main_metric="pearson")]
        )
