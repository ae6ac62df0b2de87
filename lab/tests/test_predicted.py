"""Planted effects are found and rank the tasks; of noise nothing is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mtlv_lab.predicted import validate
from mtlv_lab.predictors import FEWEST, gains_of_others, spearman
from predictions import TASKS, World, a_prediction, a_run, compared, planted, predictions, regrouped
from scipy.stats import spearmanr


def outcome(world, found):
    """The scores that the groups of a prediction come to; a measured group's are those that were measured."""
    out = np.full(len(TASKS), np.nan)
    for group in found.groups:
        own, row = np.isin(TASKS, group), found.row(group)
        scores = world.scores(own) if row is None or not found.alike else found.scores[row]
        out[own] = scores[own]
    return out


def found_of(world, prediction, *others, **changes):
    run = a_run("proposed", outcome(world, prediction), prediction=prediction, **changes)
    return validate(compared(*(others or (run,)), *([run] if others else ())), run, predictions(run))


def test_planted_effects_rank_the_tasks():
    world = World(planted(), noise=0.02)
    found = found_of(world, a_prediction(world))
    assert [set(group) for group in found.first.groups] == [set("abc"), set("def"), set("ghi")]
    assert found.on_validation.value > 0.8
    assert found.on_validation.shown
    assert found.on_others.value > 0.5
    assert found.on_others.shown


def test_nothing_is_said_of_noise():
    shown, values, others = [], [], []
    for seed in range(30):
        world = World(0 * planted(), noise=0.1, seed=seed)
        found = found_of(world, a_prediction(world, seed=100 * seed))
        shown += [found.on_validation.shown, found.on_others.shown]
        values.append(found.on_validation.value)
        others.append(found.on_others.value)
    assert np.mean(shown) <= 0.05
    assert abs(np.mean(values)) < 0.2
    assert -0.3 < np.mean(others) < 0.05


def test_a_prediction_of_the_opposite_is_not_shown():
    world = World(planted())
    found = a_prediction(world)
    run = a_run("proposed", 1 - outcome(world, found), prediction=replace(found, alike=False))
    against = validate(compared(a_run("base", [0.5] * 9), run), run, predictions(run))
    assert against.on_validation.value < -0.8
    assert not against.on_validation.shown


def test_gains_are_over_the_mean_of_the_other_measured_groups():
    world = World(planted(), noise=0.05)
    prediction = regrouped(a_prediction(world), "ad", "be", "cf", "ghi")
    found = found_of(world, prediction)
    assert any(prediction.row(group) is not None for group in prediction.groups)
    for each in found.tasks:
        at, row = TASKS.index(each.task), prediction.row(prediction.groups[each.group])
        scores = prediction.scores[:, at].copy()
        if row is not None:
            scores[row] = np.nan
            assert each.predicted == pytest.approx(prediction.held_out[row, at])
        else:
            assert each.predicted == pytest.approx(prediction.chosen[at])
        mean = np.nanmean(scores)
        assert each.predicted_gain == pytest.approx(each.predicted - mean)
        assert each.validation_gain == pytest.approx(each.validation - mean)
        assert each.test is not None
        assert each.test_gain is None, "there is no run to compare with"
    assert found.level


def test_measured_groups_that_were_trained_otherwise_are_no_reference():
    world = World(planted(), noise=0.05)
    prediction = a_prediction(world, alike=False)
    base = a_run("base", np.linspace(0.1, 0.5, 9), params={"training.epochs": "9"})
    found = found_of(world, prediction, base)
    assert found.reference == (base,)
    assert not found.level
    for each in found.tasks:
        at = TASKS.index(each.task)
        assert each.predicted == pytest.approx(prediction.chosen[at]), "not of a fit without its group"
        assert each.predicted_gain == pytest.approx(each.predicted - np.nanmean(prediction.scores[:, at]))
        assert each.validation_gain == pytest.approx(each.validation - base.children[0].kept[each.task])
        assert each.test_gain == pytest.approx(each.validation_gain)


def test_runs_of_random_groups_that_were_trained_alike_are_the_reference():
    world = World(planted())
    prediction = a_prediction(world, alike=False)
    random = {"grouping.method": "random_even"}
    controls = [a_run(f"drawn {n}", [0.2 + 0.2 * n] * 9, params=random | {"k": "2"}) for n in (1, 2)]
    other = a_run("drawn 3", [0.9] * 9, params=random | {"training.epochs": "9"})
    found = found_of(world, prediction, a_run("base", [0.1] * 9), *controls, other)
    assert found.reference == tuple(controls), "whatever the number of their groups"
    assert found.level
    assert found.tasks[0].validation_gain == pytest.approx(found.tasks[0].validation - 0.5)


def test_without_a_reference_nothing_is_compared():
    world = World(planted())
    prediction = a_prediction(world, alike=False)
    found = found_of(world, prediction)
    assert found.reference == ()
    assert found.both == []
    assert found.on_validation is None
    other = found_of(world, prediction, a_run("base", [0.5] * 9, data_digest="other"))
    assert other.reference == ()


def test_of_few_tasks_or_equal_gains_there_is_no_correlation():
    world = World(planted())
    prediction = a_prediction(world)
    run = a_run("proposed", outcome(world, prediction), prediction=prediction)
    for known in (FEWEST - 1, FEWEST):
        child = replace(run.children[0], kept=dict(list(run.children[0].kept.items())[:known]))
        own = replace(run, children=(child,))
        found = validate(compared(own), own, predictions(own))
        assert len(found.both) == known
        assert (found.on_validation is None) == (known < FEWEST)
    flat = replace(prediction, scores=np.where(prediction.member, 0.5, np.nan), chosen=np.full(9, 0.6))
    same = validate(compared(run), run, {0: flat})
    assert same.on_others is None


def test_seeds_are_averaged_and_folds_are_points_of_their_own():
    world = World(planted(), noise=0.02)
    first, second = a_prediction(world), a_prediction(world, seed=500)
    run = a_run("proposed", outcome(world, first), prediction=first)
    child = run.children[0]
    higher = replace(child, seed=1, kept={name: value + 0.2 for name, value in child.kept.items()})
    other = a_run("other", outcome(world, second), prediction=second).children[0]
    run = replace(run, children=(child, higher, replace(other, fold=1)))
    found = validate(compared(run), run, predictions(run))
    assert [each.fold for each in found.tasks] == [0] * 9 + [1] * 9
    by = {(each.fold, each.task): each for each in found.tasks}
    assert by[0, "a"].validation == pytest.approx(child.kept["a"] + 0.1)
    assert by[1, "a"].validation == pytest.approx(other.kept["a"])
    folds = [[by[fold, name] for name in TASKS] for fold in (0, 1)]
    each = [
        spearmanr([one.predicted_gain for one in own], [one.validation_gain for one in own]).statistic
        for own in folds
    ]
    assert found.on_validation.value == pytest.approx(np.mean(each))
    assert found.on_validation.tasks == 9


def test_neither_gain_of_a_measured_group_knows_its_score():
    prediction = a_prediction(World(planted(), noise=0.05), partitions=8)
    predicted, measured = gains_of_others(prediction)
    row, at = np.argwhere(np.isfinite(predicted))[3]
    others = np.delete(prediction.scores[:, at], row)
    assert predicted[row, at] == pytest.approx(prediction.held_out[row, at] - np.nanmean(others))
    assert measured[row, at] == pytest.approx(prediction.scores[row, at] - np.nanmean(others))
    assert not np.isfinite(predicted[~prediction.member]).any()


def test_spearman_is_scipys():
    rng = np.random.default_rng(0)
    first, second = rng.integers(5, size=(2, 4, 12)).astype(float)
    expected = [spearmanr(*pair).statistic for pair in zip(first, second, strict=True)]
    np.testing.assert_allclose(spearman(first, second), expected)
    assert np.isnan(spearman(np.ones(5), np.arange(5.0)))
