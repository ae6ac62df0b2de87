"""The surrogate predicts groups that it has not seen, and only sizes between those that it has."""

from __future__ import annotations

import numpy as np
import pytest
from mtlv_lab.surrogate import PENALTIES, SurrogateValue, _fit, fit_surrogate
from scipy.stats import spearmanr

from mtlv.errors import GroupingError
from mtlv.grouping import best_partition, random_groups

CENTRES = np.array([(0, 0), (0.2, 0), (0, 0.2), (3, 0), (3.2, 0), (3, 0.2), (0, 3), (0.2, 3)])
COUNTS = np.array([4, 8, 16, 4, 8, 16, 4, 32])
TASKS = len(COUNTS)


def normal_means(group):
    """Minus the risk of each task's mean, shared within a group [T]: the toy with a closed answer."""
    inside = np.flatnonzero(group)
    weights = COUNTS[inside] / COUNTS[inside].sum()
    away = ((weights @ CENTRES[inside] - CENTRES[inside]) ** 2).sum(axis=1)
    out = np.full(TASKS, np.nan)
    out[inside] = -(2 / COUNTS[inside].sum() + away)
    return out


def drawn(partitions, ks, seed=0):
    """The groups of random partitions [n, T]."""
    found = [random_groups(TASKS, ks[n % len(ks)], seed=seed + n).labels for n in range(partitions)]
    return np.concatenate([np.eye(TASKS, dtype=bool)[list(labels)].T[: max(labels) + 1] for labels in found])


def scored(member, noise=0.0, seed=0):
    clean = np.stack([normal_means(group) for group in member])
    return clean + noise * np.random.default_rng(seed).normal(size=clean.shape)


def test_it_finds_the_best_partition_of_normal_means():
    member = drawn(60, (2, 3, 4))
    fitted = fit_surrogate(member, scored(member))
    assert best_partition(fitted.value).labels == (0, 0, 0, 1, 1, 1, 2, 2)
    assert fitted.skill > 0.7
    unseen = drawn(40, (2, 3, 4), seed=1000)
    measured = scored(unseen)
    predicted = np.stack([fitted.value.scores(group) for group in unseen])
    rank = [
        spearmanr(predicted[unseen[:, task], task], measured[unseen[:, task], task]).statistic
        for task in range(TASKS)
    ]
    assert np.mean(rank) > 0.9


def test_noise_is_not_predicted():
    rng = np.random.default_rng(3)
    skills = []
    for seed in range(20):
        member = drawn(30, (2, 3, 4), seed=seed)
        skills.append(fit_surrogate(member, rng.normal(size=member.shape)).skill)
    assert -0.5 < np.mean(skills) < 0.05


def test_held_out_predictions_are_those_of_fits_without_the_group():
    member = drawn(12, (2, 3, 4))
    scores = scored(member, noise=0.5)
    fitted = fit_surrogate(member, scores)
    for row in (0, 5, 17):
        rest = np.delete(np.arange(len(member)), row)
        for task in np.flatnonzero(member[row]):
            fit = _fit(member[rest], scores[rest], task, fitted.penalty)
            predicted = fit.alone + fit.effects @ member[row]
            assert fitted.held_out[row, task] == pytest.approx(predicted, abs=1e-9)


def test_skill_is_over_the_mean_of_the_other_groups():
    member = drawn(12, (2, 3, 4))
    scores = scored(member, noise=0.5)
    fitted = fit_surrogate(member, scores)
    missed = varied = 0.0
    for row, task in zip(*np.nonzero(member), strict=True):
        others = member[:, task] & (np.arange(len(member)) != row)
        missed += (scores[row, task] - fitted.held_out[row, task]) ** 2
        varied += (scores[row, task] - scores[others, task].mean()) ** 2
    assert fitted.skill == pytest.approx(1 - missed / varied)


def test_effects_of_tasks_and_of_sizes_are_recovered():
    rng = np.random.default_rng(0)
    effects, alone = rng.normal(size=(TASKS, TASKS)), rng.normal(size=TASKS)
    truth = SurrogateValue(effects, alone, (1, TASKS))
    member = rng.random((400, TASKS)) < 0.5
    member = member[member.any(axis=1)]
    fitted = fit_surrogate(member, np.stack([truth.scores(group) for group in member]))
    np.testing.assert_allclose(fitted.value.effects, truth.effects, atol=1e-3)
    np.testing.assert_allclose(fitted.value.intercepts, alone, atol=3e-3)
    assert fitted.skill == pytest.approx(1, abs=1e-5)
    group = member[:1]
    gained = np.nansum(truth.scores(group[0]) - np.where(group[0], alone, np.nan))
    assert truth.of(group) == pytest.approx(gained)


def test_standard_errors_are_those_of_fits_to_other_noise():
    member = drawn(24, (2, 3, 4))
    clean, rng = scored(member), np.random.default_rng(0)
    fits = [_fit(member, clean + 0.3 * rng.normal(size=member.shape), 2, 1.0) for _ in range(400)]
    spread = np.std([fit.effects for fit in fits], axis=0)
    stated = np.sqrt(np.mean([fit.errors**2 for fit in fits], axis=0))
    others = np.arange(TASKS) != 2
    assert fits[0].errors[2] == 0
    assert (stated[others] > spread[others]).all()
    assert (stated[others] < 3 * spread[others]).all()


def test_effects_of_noise_are_within_their_errors():
    rng, beyond = np.random.default_rng(1), []
    for seed in range(20):
        member = drawn(24, (2, 3, 4), seed=100 * seed)
        fitted = fit_surrogate(member, rng.normal(size=member.shape))
        off = ~np.eye(TASKS, dtype=bool)
        beyond.append((np.abs(fitted.value.effects) > 1.96 * fitted.errors)[off].mean())
    assert 0.005 < np.mean(beyond) < 0.1


def test_without_evidence_for_pairs_only_the_size_counts():
    member = drawn(40, (2, 3, 4))
    sizes = member.sum(axis=1, keepdims=True)
    fitted = fit_surrogate(member, np.where(member, 0.5 + 0.1 * sizes, np.nan))
    off = fitted.value.effects[~np.eye(TASKS, dtype=bool)]
    np.testing.assert_allclose(off, 0.1, atol=1e-6)
    np.testing.assert_allclose(fitted.value.intercepts, 0.6, atol=1e-6)


def test_groups_of_one_size_say_nothing_of_others():
    member = drawn(40, (4,))
    fitted = fit_surrogate(member, scored(member))
    assert fitted.value.sizes == (2, 2)
    one, two, three = np.eye(3, TASKS).cumsum(axis=0).astype(bool)
    assert fitted.value.of(np.stack([one, three])).tolist() == [-np.inf, -np.inf]
    assert np.isfinite(fitted.value.of(np.stack([two, np.zeros_like(two)]))).all()
    assert len(set(best_partition(fitted.value).labels)) == 4


def test_scores_that_do_not_vary_have_no_skill():
    member = drawn(20, (2, 3, 4))
    assert np.isnan(fit_surrogate(member, np.ones(member.shape)).skill)


def test_too_few_groups_and_unknown_scores_are_refused():
    member = drawn(2, (2,))
    with pytest.raises(GroupingError, match="three groups or more"):
        fit_surrogate(member, scored(member))
    member = drawn(20, (2, 3))
    scores = scored(member)
    scores[0] = np.nan
    with pytest.raises(GroupingError, match="scores of measured groups must be finite"):
        fit_surrogate(member, scores)


def test_effects_are_those_of_a_ridge_regression_with_free_intercept_and_slope():
    member = drawn(12, (2, 3, 4))
    scores = scored(member, noise=0.5)
    fitted = fit_surrogate(member, scores)
    for task in range(TASKS):
        rows = member[:, task]
        others = member[rows].astype(float)
        others[:, task] = 0
        free = np.stack([np.ones(rows.sum()), others.sum(axis=1)], axis=1)
        design = np.concatenate([free, others], axis=1)
        penalty = fitted.penalty * np.diag([0.0, 0.0, *np.ones(TASKS)])
        # The slope and equal effects are the same: lstsq takes the solution without a penalty on the slope.
        solution = np.linalg.lstsq(design.T @ design + penalty, design.T @ scores[rows, task], rcond=None)[0]
        expected = solution[0] + solution[1] * others.sum(axis=1) + others @ solution[2:]
        predicted = np.array([fitted.value.scores(group)[task] for group in member[rows]])
        np.testing.assert_allclose(predicted, expected, atol=1e-6)


def test_the_penalty_has_the_smallest_error_on_held_out_groups():
    chosen = set()
    for noise, seed in ((0.0, 0), (0.5, 1), (3.0, 2)):
        member = drawn(14, (2, 3, 4), seed=seed)
        scores = scored(member, noise=noise, seed=seed)
        table = np.where(member, scores, np.nan)
        errors = [sum(_fit(member, table, task, each).error for task in range(TASKS)) for each in PENALTIES]
        fitted = fit_surrogate(member, scores)
        assert fitted.penalty == PENALTIES[int(np.argmin(errors))]
        chosen.add(fitted.penalty)
    assert len(chosen) > 1, "noise asks for more"
