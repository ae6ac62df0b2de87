"""The sign and the choice of predictors, beside the order: by hand, and compared with scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mtlv_lab.prediction import Prediction
from mtlv_lab.predictors import (
    FEWEST,
    REPEATED,
    gains_of_others,
    of_measured_groups,
    of_partitions,
    order_within_tasks,
    regret,
    sign_auc,
)
from predictions import TASKS, World, a_prediction, planted
from sklearn.metrics import roc_auc_score


def test_the_auc_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        predicted, measured = rng.integers(4, size=20).astype(float), rng.normal(size=20)
        expected = roc_auc_score(measured > measured.mean(), predicted)
        assert sign_auc(predicted, measured) == pytest.approx(expected)
    assert sign_auc(np.array([1.0, 2, 3]), np.array([0.0, 0, 1])) == 1
    assert sign_auc(np.array([1.0, 1, 1]), np.array([0.0, 0, 1])) == 0.5
    assert sign_auc(np.array([1.0, 0, 2]), np.array([0.0, 1, 2])) == 1, "a score at the mean is not above it"
    assert np.isnan(sign_auc(np.arange(3.0), np.ones(3))), "no score is above the mean"


def test_of_measured_groups_the_sign_is_a_mean_over_tasks() -> None:
    found = a_prediction(World(planted(), noise=0.05))
    judged, _ = of_measured_groups([found])
    said, came = gains_of_others(found)
    each = []
    for task in range(9):
        known = np.isfinite(said[:, task]) & np.isfinite(came[:, task])
        gains = came[known, task]
        each.append(roc_auc_score(gains > gains.mean(), said[known, task]))
    sign = judged["surrogate"].sign
    assert sign.value == pytest.approx(np.mean(each))
    assert sign.interval.low > 0.5
    assert sign.interval.high <= 1
    assert judged["surrogate"].order == order_within_tasks([(TASKS, said, came)])


def partitions(scores: list[float]) -> Prediction:
    """Partitions of nine tasks into a group of three and six, with the same score for all tasks of each."""
    member = np.zeros((2 * len(scores), 9), bool)
    for number in range(len(scores)):
        member[2 * number, [number, number + 1, number + 2]] = True
        member[2 * number + 1] = ~member[2 * number]
    table = np.where(member, np.repeat(scores, 2)[:, None], np.nan)
    rows = {f"drawn {number}": (2 * number, 2 * number + 1) for number in range(len(scores))}
    made = a_prediction(World(planted()))
    return replace(made, member=member, scores=table, held_out=0 * table, partitions=rows)


SCORES = [0.5, 0.7, 0.9, 0.6, 0.4]


def test_the_score_of_a_partition_is_the_mean_over_tasks() -> None:
    found = partitions(SCORES)
    np.testing.assert_allclose(of_partitions(found, found.scores), SCORES)
    table = found.scores.copy()
    table[0, 0] += 0.9
    assert of_partitions(found, table)[0] == pytest.approx(0.5 + 0.1)
    table[0, 0] = np.nan
    assert np.isnan(of_partitions(found, table)).tolist() == [True, False, False, False, False]


def said(found: Prediction, values: list[float]) -> np.ndarray:
    return np.where(found.member, np.repeat(values, 2)[:, None], np.nan)


def test_the_regret_is_what_the_first_choice_loses_to_the_best() -> None:
    found = partitions(SCORES)
    assert regret([found], [said(found, [1, 2, 3, 2, 1])]) == 0
    assert regret([found], [said(found, [9, 2, 3, 2, 1])]) == pytest.approx(0.4)
    assert regret([found], [said(found, [9, 9, 3, 2, 1])]) == pytest.approx(0.9 - 0.6), "the mean of both"
    assert regret([found], [said(found, [0] * 5)]) == pytest.approx(0.9 - np.mean(SCORES))
    assert of_measured_groups([found])[1] == pytest.approx(0.9 - np.mean(SCORES))
    both = [said(found, [9, 2, 3, 2, 1]), said(found, [1, 2, 3, 2, 1])]
    assert regret([found, found], both) == pytest.approx(0.2), "the mean over folds"


def test_a_partition_of_which_nothing_is_said_is_not_chosen_but_may_be_the_best() -> None:
    six = partitions([*SCORES, 0.8])
    table = said(six, [5, 4, 3, 2, 1, 0])
    table[4, 3] = np.nan
    assert np.isfinite(table[4]).sum() == 2
    assert regret([six], [table]) == pytest.approx(0.4)
    assert len(six.partitions) == FEWEST + 1
    table[0, 0] = np.nan
    assert regret([six], [table]) is None, "of four"
    none = replace(six, partitions={})
    assert regret([none], [said(six, [1] * 6)]) is None
    assert of_measured_groups([none])[1] is None


def test_another_seed_is_compared_with_the_first() -> None:
    """Of noise alone nothing is repeated; of groups that matter, what the noise leaves."""
    world = World(planted())
    found = a_prediction(world)
    rng = np.random.default_rng(0)
    for effect, noise, least, most in ((1.0, 1e-4, 0.9, 1.0), (0.0, 1.0, -0.25, 0.25)):
        first, rest = (effect * found.scores + rng.normal(size=found.scores.shape) * noise for _ in range(2))
        judged, _ = of_measured_groups([replace(found, repeated=(first, rest))])
        assert least <= judged[REPEATED].order.value <= most
        assert judged[REPEATED].order == order_within_tasks([(TASKS, first, rest)])
        assert judged[REPEATED].sign == order_within_tasks([(TASKS, first, rest)], statistic=sign_auc)
        assert judged[REPEATED].regret == pytest.approx(regret([replace(found, scores=rest)], [first]))
    assert REPEATED not in of_measured_groups([found])[0]
    one_fold = of_measured_groups([found, replace(found, repeated=(first, rest))])[0]
    assert one_fold[REPEATED] == judged[REPEATED], "folds without other seeds are left out"


def test_the_regret_of_a_fit_is_that_of_its_predictions_for_groups_left_out() -> None:
    found = partitions(SCORES)
    found = replace(found, held_out=-found.scores)  # so the worst is chosen
    judged, _ = of_measured_groups([found])
    assert judged["surrogate"].regret == pytest.approx(0.9 - 0.4)
