"""Predictions are read from the runs that a run's groups follow from, and from no others."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from mtlv_lab.measured_runs import predictions_of
from mtlv_lab.prediction import Prediction
from mtlv_lab.surrogate import fit_surrogate
from predictions import TASKS, World, a_run, compared, planted
from scipy.stats import norm, ttest_ind

from mtlv.evaluation.compared_runs import ComparedGroups, ComparedRun, Comparison
from mtlv.grouping import random_groups

ABC = ("a", "b", "c")


def of_groups(run: ComparedRun, groups: Any) -> ComparedRun:
    names = tuple(map(tuple, groups))
    return replace(run, plan=tuple((group,) for group in names), groups=ComparedGroups(names))


def drawn(world: World, number: int, *, seeds: int = 1, **params: str) -> ComparedRun:
    """A run of random groups, with the scores of a world."""
    labels = np.array(random_groups(len(TASKS), 2 + number % 3, seed=number).labels)
    members = [labels == label for label in range(labels.max() + 1)]
    groups = [np.array(TASKS)[member].tolist() for member in members]

    def kept() -> dict[str, float]:
        scores = np.nansum(
            [world.scores(member) for member in members], axis=0
        )  # without noise: shared units
        return dict(zip(TASKS, scores.tolist(), strict=True))

    run = a_run(f"drawn {number}", [0.5] * 9, params={"grouping.method": "random_even"} | params)
    children = [replace(run.children[0], seed=seed, kept=kept()) for seed in range(seeds)]
    return of_groups(replace(run, children=tuple(children)), groups)


def chosen(feature: str, sources: str, **params: str) -> ComparedRun:
    params = {"grouping.features": feature, "grouping.from": f'["{sources}"]'} | params
    return a_run("chosen", [0.6] * 9, params=params)


def predicted(comparison: Comparison) -> Prediction:
    (prediction,) = predictions_of(comparison, comparison.runs[-1]).values()
    return prediction


def test_a_surrogate_is_fitted_to_the_named_runs_of_the_fold() -> None:
    world = World(planted())
    runs = [drawn(world, number) for number in range(20)]
    other = replace(drawn(world, 99), key="other", name="other")
    moved = [replace(run.children[0], fold=1, kept=dict.fromkeys(TASKS, 0.9)) for run in runs]
    runs = [replace(run, children=(*run.children, child)) for run, child in zip(runs, moved, strict=True)]
    found = predicted(compared(other, *runs, chosen("surrogate", "drawn *")))
    groups = {frozenset(group[0]) for run in runs for group in run.plan}
    assert {frozenset(np.array(found.tasks)[row]) for row in found.member} == groups
    assert (found.units, found.alike, found.epochs) == (len(groups), True, (2, 2))
    assert found.seconds == 20 * 600
    assert set(found.partitions) == {run.name for run in runs}
    for run in runs:
        rows = found.partitions[run.name]
        own = [set(np.array(found.tasks)[found.member[row]]) for row in rows]
        assert own == [set(group[0]) for group in run.plan]
        for row in rows:
            for at in np.flatnonzero(found.member[row]):
                scores = [
                    one.children[0].kept[found.tasks[at]]
                    for one in runs
                    if set(np.array(found.tasks)[found.member[row]]) in [set(g[0]) for g in one.plan]
                ]
                assert found.scores[row, at] == pytest.approx(np.mean(scores))
    fitted = fit_surrogate(found.member, found.scores)
    np.testing.assert_allclose(found.effects, fitted.value.effects)
    np.testing.assert_allclose(found.held_out, fitted.held_out)
    for group in found.groups:
        own = np.isin(found.tasks, group)
        np.testing.assert_allclose(found.chosen[own], fitted.value.scores(own)[own])
    assert found.repeated is None
    again = [replace(run, children=tuple(replace(c, seed=1) for c in run.children)) for run in runs[:2]]
    again = [replace(run, key=f"again {at}", name=f"drawn again {at}") for at, run in enumerate(again)]
    twice = predicted(compared(*runs, *again, chosen("surrogate", "drawn *")))
    assert twice.units == len(groups) + sum(len(run.plan) for run in again)
    assert twice.repeated is not None


def test_runs_with_other_settings_were_trained_otherwise() -> None:
    world = World(planted())
    runs = [drawn(world, number, **{"training.epochs": "1"}) for number in range(20)]
    found = predicted(compared(*runs, chosen("surrogate", "drawn *")))
    assert (found.alike, found.epochs) == (False, (1, 1))
    random = replace(runs[0], params=runs[0].params | chosen("surrogate", "drawn *").params)
    random = replace(random, key="r", name="r", params=random.params | {"grouping.method": "random"})
    assert predictions_of(compared(*runs, random), random) == {}, "its groups were drawn, not predicted"
    proposed = replace(chosen("group_score", "drawn *"), key="p", name="drawn too")
    more = predicted(compared(*runs, proposed, chosen("surrogate", "drawn *")))
    assert "drawn too" not in more.partitions, "its groups were chosen"


def test_nothing_is_predicted_without_the_runs_that_the_feature_needs() -> None:
    world = World(planted())
    runs = [drawn(world, number) for number in range(20)]
    for run in (
        chosen("surrogate", "drawn 1"),
        chosen("label_name", "drawn *"),
        replace(chosen("surrogate", "drawn *"), elsewhere=True),
        replace(chosen("surrogate", "drawn *"), data_digest="other"),
    ):
        assert predictions_of(compared(*runs, run), run) == {}
    assert predictions_of(compared(*runs), runs[0]) == {}


def test_measured_groups_predict_themselves() -> None:
    world = World(planted())
    runs = [drawn(world, number) for number in range(3)]
    run = of_groups(chosen("group_score", "drawn *"), [group[0] for group in runs[1].plan])
    found = predicted(compared(*runs, run))
    for name in TASKS:
        assert found.chosen[found.tasks.index(name)] == runs[1].children[0].kept[name]
    assert found.chosen_for_scores == [True] * len(found.groups)
    assert not np.isfinite(found.effects).any()


def alone_and_in_pairs(seeds: int) -> list[ComparedRun]:
    rng = np.random.default_rng(0)
    runs = []
    for group in [*((name,) for name in ABC), *combinations(ABC, 2)]:
        run = of_groups(a_run(" with ".join(group), [0.5] * 9), [group])
        children = [
            replace(run.children[0], seed=seed, kept={name: float(rng.random()) for name in group})
            for seed in range(seeds)
        ]
        runs.append(replace(run, children=tuple(children)))
    return runs


def test_pairs_predict_alone_and_the_gains_with_errors_of_seeds() -> None:
    runs = alone_and_in_pairs(2)
    scores = {
        (frozenset(run.plan[0][0]), name): [child.kept[name] for child in run.children]
        for run in runs
        for name in run.plan[0][0]
    }

    def found(value: str, *groups: tuple[str, ...]) -> Prediction:
        run = of_groups(chosen("pair_gain", "*", **{"grouping.value": value}), groups)
        return predicted(compared(*runs, run))

    together = found("mean", ABC)
    alone = [np.mean(scores[frozenset(name), name]) for name in ABC]
    for value, combine in (("mean", np.mean), ("sum", np.sum)):
        gains = [combine(np.delete(row, at)) for at, row in enumerate(together.effects)]
        np.testing.assert_allclose(found(value, ABC).chosen, np.array(alone) + gains)
    np.testing.assert_allclose(found("mean", *((name,) for name in ABC)).chosen, alone)
    for to, by in permutations(ABC, 2):
        at = ABC.index(to), ABC.index(by)
        pair, one = scores[frozenset((to, by)), to], scores[frozenset(to), to]
        assert together.effects[at] == pytest.approx(np.mean(pair) - np.mean(one))
        interval = ttest_ind(pair, one, equal_var=False).confidence_interval()
        assert norm.ppf(0.975) * together.errors[at] == pytest.approx((interval.high - interval.low) / 2)
        assert together.together[at] == 2, "one of each seed"
    first, rest = together.repeated
    for row, run in enumerate(runs):
        one, two = (child.kept for child in run.children)
        for at, name in enumerate(ABC):
            np.testing.assert_array_equal(
                (first[row, at], rest[row, at]), (one.get(name, np.nan), two.get(name, np.nan))
            )
    runs[1:] = [replace(run, children=run.children[:1]) for run in runs[1:]]
    for table in found("mean", ABC).repeated:
        assert np.isfinite(table).any(axis=1).tolist() == [True] + [False] * 5
    runs[0] = replace(runs[0], children=runs[0].children[:1])
    assert found("mean", ABC).repeated is None
    assert np.isnan(found("mean", ABC).errors[0, 1]), "a single unit says nothing of errors"
