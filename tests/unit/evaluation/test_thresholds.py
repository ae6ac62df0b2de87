"""Thresholds come from validation scores alone, by a rule that can be checked by brute force."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.metrics import f1_score

from mtlv.errors import PlanError
from mtlv.evaluation.thresholds import fit_thresholds, grid_values

GRID = grid_values(0.05, 0.95, 0.05)


@pytest.fixture
def fit(scores_of):
    def run(outputs, targets, *, split="validation", **options):
        scores, names = scores_of(outputs, targets, split=split)
        return fit_thresholds(scores, names, **{"scope": "per_plan", "fixed": 0.5, "grid": GRID, **options})

    return run


def best(score, grid=GRID):
    top = max(map(score, grid))
    return min((v for v in grid if score(v) >= top - 1e-12), key=lambda v: (round(abs(v - 0.5), 9), v))


def test_grid_values_are_round_and_hold_both_ends():
    assert len(GRID) == 19
    assert GRID[:3] == (0.05, 0.1, 0.15)
    assert GRID[-1] == 0.95
    with pytest.raises(PlanError, match="the threshold grid is empty"):
        grid_values(0.5, 0.1, 0.1)


@pytest.mark.parametrize("levels", [None, 20])
@pytest.mark.parametrize("seed", range(4))
def test_per_plan_has_the_highest_macro_f1(fit, random_arrays, seed, levels):
    outputs, targets = random_arrays(seed, levels=levels)
    fitted = fit(outputs, targets)
    expected = best(lambda v: f1_score(targets, outputs >= v, average="macro", zero_division=0))
    assert set(fitted.values.values()) == {expected}
    assert fitted.scope == "per_plan"


@pytest.mark.parametrize("levels", [None, 20])
@pytest.mark.parametrize("seed", range(4))
def test_per_task_has_the_highest_f1_of_each(fit, random_arrays, seed, levels):
    outputs, targets = random_arrays(seed, levels=levels)
    for t, value in enumerate(fit(outputs, targets, scope="per_task").values.values()):
        assert value == best(lambda v, t=t: f1_score(targets[:, t], outputs[:, t] >= v, zero_division=0))


def test_ties_go_to_the_value_nearest_a_half_then_to_the_lower(fit):
    perfect = np.array([[0.0], [1.0]])
    assert fit(perfect, [[0], [1]]).values == {"task 0": 0.5}
    assert fit(perfect, [[0], [1]], grid=(0.6, 0.4, 0.1)).values == {"task 0": 0.4}


def test_equal_means_are_a_tie_whatever_the_order_of_their_sum(fit):
    """F1 is 2/5, 2/3 and 1/2 at 0.3, and 1/2, 2/3 and 2/5 at 0.5; as floats one of the means is larger."""
    found = np.array([[2 / 5, 2 / 3, 1 / 2], [1 / 2, 2 / 3, 2 / 5]]).mean(axis=1)
    assert found[0] > found[1]
    truth = np.repeat([1, 0], [3, 3])
    columns = [[0.6, 0, 0, 0.4, 0, 0], [0.6, 0.6, 0, 0.6, 0, 0], [0.6, 0.4, 0, 0.6, 0.4, 0.4]]
    fitted = fit(np.array(columns).T, np.stack([truth] * 3, axis=1), grid=(0.3, 0.5))
    assert set(fitted.values.values()) == {0.5}


def test_fixed_takes_what_it_is_given(fit):
    assert fit([[0.9, 0.1]], [[0, 1]], scope="fixed", fixed=0.3).values == {"task 0": 0.3, "task 1": 0.3}


def test_a_task_without_positives_falls_back_with_a_warning(fit, random_arrays):
    outputs, targets = random_arrays(0)
    targets[:, 2] = 0
    fitted = fit(outputs, targets, scope="per_task", fixed=0.45)
    assert fitted.values["task 2"] == 0.45
    warning = "task `task 2` has no positive document in validation; its threshold stays at 0.45"
    assert fitted.warnings == (warning,)
    whole = fit(outputs, targets, fixed=0.45)
    assert set(whole.values.values()) == {
        best(lambda v: f1_score(targets, outputs >= v, average="macro", zero_division=0))
    }
    assert not whole.warnings
    nothing = fit(outputs, np.zeros_like(targets), fixed=0.45)
    assert set(nothing.values.values()) == {0.45}
    assert "no task has a positive document" in nothing.warnings[0]


def test_positives_that_are_masked_do_not_count(scores_of, random_arrays):
    outputs, targets = random_arrays(0, tasks=1)
    scores, names = scores_of(outputs, targets, split="validation", mask=targets == 0)
    assert fit_thresholds(scores, names, scope="per_task", fixed=0.5, grid=GRID).warnings


@pytest.mark.parametrize("scope", ["per_plan", "per_task"])
def test_documents_without_a_target_choose_nothing(scores_of, random_arrays, scope):
    """Their outputs and targets say the opposite of what those of all others do."""
    outputs, targets = random_arrays(1, tasks=2)
    strange = [np.concatenate([outputs, 1 - outputs]), np.concatenate([targets, targets])]
    known = np.repeat([True, False], len(targets))[:, None] & np.ones(2, bool)
    options = {"scope": scope, "fixed": 0.5, "grid": GRID}
    all_known, names = scores_of(outputs, targets, split="validation")
    expected = fit_thresholds(all_known, names, **options)
    assert fit_thresholds(*scores_of(*strange, split="validation", mask=known), **options) == expected
    assert fit_thresholds(*scores_of(*strange, split="validation"), **options) != expected
    negative = [strange[0], np.concatenate([targets, np.zeros_like(targets)])]
    assert fit_thresholds(*scores_of(*negative, split="validation", mask=known), **options) == expected


@pytest.mark.parametrize("scope", ["per_plan", "per_task", "fixed"])
def test_test_scores_are_refused(fit, scope):
    with pytest.raises(PlanError, match=r"thresholds are fitted on validation scores only \(got test\)"):
        fit([[0.1]], [[1]], split="test", scope=scope)


def test_thresholds_are_frozen(fit):
    with pytest.raises(dataclasses.FrozenInstanceError):
        fit([[0.9]], [[1]]).scope = "fixed"
