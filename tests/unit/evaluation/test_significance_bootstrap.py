"""Bootstrap intervals: SciPy's on the same draws, and a plain loop over drawn documents."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mtlv.evaluation import decide
from mtlv.evaluation.bootstrap import (
    Interval,
    bootstrap_mean,
    document_interval,
    document_weights,
    resampled_f1,
)
from mtlv.evaluation.metrics import Decisions, f1_macro, f1_micro
from mtlv.seeding import seed_from


@pytest.mark.parametrize("n", [2, 5, 12])
def test_the_interval_of_a_mean_is_scipys_on_the_same_draws(n):
    values = np.random.default_rng(n).normal(0.02, 0.05, n)
    found = bootstrap_mean(values)
    rng = np.random.default_rng(seed_from("bootstrap mean", *values.tolist()))
    known = stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", random_state=rng)
    assert found.low == pytest.approx(known.confidence_interval.low, abs=1e-12)
    assert found.high == pytest.approx(known.confidence_interval.high, abs=1e-12)
    assert (found.level, found.resamples) == (0.95, 10_000)


def test_the_same_values_give_the_same_interval():
    assert bootstrap_mean([0.1, 0.2, 0.4]) == bootstrap_mean([0.1, 0.2, 0.4])
    with pytest.raises(ValueError, match="at least one"):
        bootstrap_mean([])


def test_an_interval_knows_whether_zero_is_outside():
    assert Interval(0.1, 0.2, 0.95, 10).without_zero
    assert Interval(-0.2, -0.1, 0.95, 10).without_zero
    assert not Interval(-0.2, 0.1, 0.95, 10).without_zero
    assert not Interval(0.0, 0.1, 0.95, 10).without_zero


def test_each_draw_takes_as_many_documents_as_there_are():
    ids = [f"d{i}" for i in range(40)]
    weights = document_weights(ids, 200)
    assert weights.shape == (200, 40)
    assert (weights.sum(axis=1) == 40).all()
    assert weights.mean() == pytest.approx(1.0)
    assert (weights == document_weights(ids, 200)).all()
    assert (weights != document_weights([*ids[1:], "other"], 200)).any()


def test_f1_of_a_draw_is_f1_of_the_drawn_documents(scores_of, random_arrays):
    outputs, targets = random_arrays(3, documents=50, tasks=4)
    mask = np.random.default_rng(0).random(targets.shape) < 0.9
    scores, names = scores_of(outputs, targets, mask=mask)
    d = decide(scores, names, dict.fromkeys(names, 0.5))
    weights = document_weights(scores.ids, 25)
    found = resampled_f1(d, weights)
    for draw, row in enumerate(weights):
        places = np.repeat(np.arange(50), row.astype(int))
        drawn = Decisions(d.truth[places], d.predicted[places], d.known[places])
        assert found.main[draw] == pytest.approx(f1_macro(drawn), abs=1e-12)
        assert found.micro[draw] == pytest.approx(f1_micro(drawn), abs=1e-12)


def test_the_interval_of_a_difference_is_paired_and_averages_children(random_arrays):
    outputs, targets = random_arrays(1, documents=300, tasks=5)
    weights = document_weights([str(i) for i in range(300)], 500)
    good = resampled_f1(Decisions.of(targets, outputs >= 0.5), weights)
    bad = resampled_f1(Decisions.of(targets, outputs >= 0.2), weights)
    same = document_interval([good], [good], "main")
    assert (same.low, same.high) == (0.0, 0.0)
    one = document_interval([good], [bad], "main")
    low, high = np.quantile(good.main - bad.main, [0.025, 0.975])
    assert (one.low, one.high) == pytest.approx((low, high))
    assert one.low > 0
    two = document_interval([good, good], [bad, good], "micro")
    assert two.high == pytest.approx(np.quantile((good.micro - bad.micro) / 2, 0.975))
