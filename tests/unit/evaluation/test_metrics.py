"""Each figure equals scikit-learn's, on random and on edge-case arrays."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from sklearn import metrics as sk

from mtlv.errors import PlanError, TrainingError
from mtlv.evaluation.metrics import average_precision, decide, evaluate, roc_auc


def sk_roc_auc(targets, outputs):
    return sk.roc_auc_score(targets, outputs) if 0 < targets.sum() < len(targets) else 0.5


def reference(targets, outputs, limit):
    predicted = (outputs >= limit).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "f1_macro": sk.f1_score(targets, predicted, average="macro", zero_division=0),
            "f1_micro": sk.f1_score(targets, predicted, average="micro", zero_division=0),
            "subset_accuracy": sk.accuracy_score(targets, predicted),
            "hamming_score": sk.jaccard_score(targets, predicted, average="samples", zero_division=1),
            "hamming_loss": sk.hamming_loss(targets, predicted),
            "precision_macro": sk.precision_score(targets, predicted, average="macro", zero_division=0),
            "recall_macro": sk.recall_score(targets, predicted, average="macro", zero_division=0),
            "average_precision_macro": sk.average_precision_score(targets, outputs, average="macro"),
            "roc_auc_macro": np.mean([sk_roc_auc(*each) for each in zip(targets.T, outputs.T, strict=True)]),
        }


@pytest.mark.parametrize("limit", [0.5, 0.3])
def test_plan_figures_equal_scikit_learns(scores_of, arrays, limit):
    outputs, targets = arrays
    scores, names = scores_of(outputs, targets)
    found = evaluate(scores, names, dict.fromkeys(names, limit)).plan.as_dict()
    assert found == pytest.approx(reference(targets, outputs, limit), abs=1e-12)


def test_task_figures_equal_scikit_learns(scores_of, arrays):
    outputs, targets = arrays
    scores, names = scores_of(outputs, targets)
    limits = {name: 0.3 + 0.1 * t for t, name in enumerate(names)}
    found = evaluate(scores, names, limits).tasks
    for t, name in enumerate(names):
        predicted = outputs[:, t] >= limits[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            area = sk.average_precision_score(targets[:, t], outputs[:, t])
        p, r, f, _ = sk.precision_recall_fscore_support(
            targets[:, t], predicted, average="binary", zero_division=0
        )
        expected = {"f1": f, "precision": p, "recall": r, "average_precision": area}
        expected["roc_auc"] = sk_roc_auc(targets[:, t], outputs[:, t])
        expected |= {"support": targets[:, t].sum(), "threshold": limits[name]}
        assert found[name].as_dict() == pytest.approx(expected, abs=1e-12)


def test_average_precision_without_positive_is_zero():
    assert average_precision(np.zeros(4, bool), np.arange(4.0)) == 0.0


@pytest.mark.parametrize("truth", [[], [False, False], [True, True]])
def test_roc_auc_without_positive_or_negative_is_that_of_a_constant(truth):
    assert roc_auc(np.array(truth, bool), np.arange(len(truth)) / 2) == 0.5


def test_roc_auc_counts_equal_outputs_as_half():
    truth, outputs = np.array([1, 0, 1, 0, 0], bool), np.array([0.7, 0.7, 0.2, 0.1, 0.2])
    assert roc_auc(truth, outputs) == pytest.approx((0.5 + 1 + 1 + 0 + 1 + 0.5) / 6)


def test_hamming_score_by_hand(scores_of):
    scores, names = scores_of(
        [[0.9, 0.9, 0.1], [0.1, 0.1, 0.1], [0.9, 0.1, 0.1]], [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    )
    figures = evaluate(scores, names, dict.fromkeys(names, 0.5)).plan
    assert figures.hamming_score == pytest.approx((1 / 3 + 1 + 0) / 3)
    assert figures.subset_accuracy == pytest.approx(1 / 3)


@pytest.mark.parametrize("seed", range(5))
def test_hamming_score_is_never_below_subset_accuracy(scores_of, random_arrays, seed):
    scores, names = scores_of(*random_arrays(seed))
    figures = evaluate(scores, names, dict.fromkeys(names, 0.5)).plan
    assert figures.hamming_score >= figures.subset_accuracy


def test_f1_of_one_task_alone_is_no_accuracy(scores_of):
    """Scores [N, 1] taken for classes give accuracy as micro F1, and the mean of yes and no as macro F1."""
    outputs, targets = [[0.9], [0.1], [0.8], *[[0.2]] * 7], [[1], [1], *[[0]] * 8]
    found = evaluate(*scores_of(outputs, targets), {"task 0": 0.5})
    assert (found.tasks["task 0"].f1, found.plan.f1_macro, found.plan.f1_micro) == (0.5, 0.5, 0.5)


def test_cells_without_a_target_count_nowhere(scores_of, random_arrays):
    outputs, targets = random_arrays(3)
    known = np.random.default_rng(3).random(targets.shape) < 0.7
    known[:5] = False
    scores, names = scores_of(outputs, targets, mask=known)
    limits = dict.fromkeys(names, 0.5)
    found = evaluate(scores, names, limits)
    other, _ = scores_of(
        np.where(known, outputs, 1 - outputs), np.where(known, targets, 1 - targets), mask=known
    )
    assert evaluate(other, names, limits) == found
    column = known[:, 0]
    assert found.tasks[names[0]].f1 == pytest.approx(
        sk.f1_score(targets[column, 0], outputs[column, 0] >= 0.5)
    )
    wrong = (targets != (outputs >= 0.5)) & known
    assert found.plan.hamming_loss == pytest.approx(wrong.sum() / known.sum())
    assert found.plan.subset_accuracy == pytest.approx((~wrong[5:].any(axis=1)).mean())
    truth, predicted = (targets == 1) & known, (outputs >= 0.5) & known
    jaccard = sk.jaccard_score(truth[5:], predicted[5:], average="samples", zero_division=1)
    assert found.plan.hamming_score == pytest.approx(jaccard)


def test_what_has_no_target_may_have_any_output(scores_of):
    outputs, targets, known = [[0.9, np.nan], [0.2, 0.3]], [[1, 0], [0, 1]], [[1, 0], [1, 1]]
    scores, names = scores_of(outputs, targets, mask=known)
    assert evaluate(scores, names, dict.fromkeys(names, 0.25)).plan.f1_macro == 1.0


def test_what_tasks_and_plans_are_judged_by(scores_of, random_arrays):
    scores, names = scores_of(*random_arrays(2))
    found = evaluate(scores, names, dict.fromkeys(names, 0.5))
    assert [task.main for task in found.tasks.values()] == [task.f1 for task in found.tasks.values()]
    assert found.plan.main == np.mean([task.f1 for task in found.tasks.values()])


def test_errors_name_the_task_and_the_next_step(scores_of):
    scores, names = scores_of([[0.1, np.nan]], [[0, 1]])
    with pytest.raises(
        TrainingError, match=r"outputs of task `task 1` are not all finite; lower the learning"
    ):
        evaluate(scores, names, dict.fromkeys(names, 0.5))
    with pytest.raises(PlanError, match=r"no threshold \(got task 1\)"):
        decide(*scores_of([[0.1, 0.2]], [[0, 1]]), {"task 0": 0.5})
    with pytest.raises(PlanError, match=r"no scores \(got nowhere\)"):
        evaluate(scores, ["nowhere"], {"nowhere": 0.5})
    with pytest.raises(PlanError, match="no document in the test part; enlarge its share"):
        evaluate(*scores_of(np.zeros((0, 1)), np.zeros((0, 1))), {"task 0": 0.5})


def test_it_is_quick(scores_of, random_arrays):
    scores, names = scores_of(*random_arrays(0, documents=10_000, tasks=23))
    limits = dict.fromkeys(names, 0.5)
    evaluate(scores, names, limits)
    start = time.perf_counter()
    evaluate(scores, names, limits)
    assert time.perf_counter() - start < 0.5  # about 0.03 on an idle core
