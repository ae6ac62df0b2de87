"""Bootstrap intervals: a plain loop over drawn documents, whole groups, and how often equal runs differ."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mtlv.evaluation.bootstrap import (
    Resampled,
    document_interval,
    document_weights,
    resample_f1,
    task_intervals,
)
from mtlv.evaluation.metrics import Decisions, decide, f1_macro, f1_micro


def test_each_draw_takes_as_many_documents_as_there_are():
    ids = [f"d{i}" for i in range(40)]
    weights = document_weights(ids, resamples=200)
    assert weights.shape == (200, 40)
    assert (weights.sum(axis=1) == 40).all()
    assert weights.mean() == pytest.approx(1.0)
    assert weights.mean(axis=0) == pytest.approx(1.0, abs=0.3), "each as often as the others"
    assert (weights == document_weights(ids, resamples=200)).all()
    assert (weights != document_weights([*ids[1:], "other"], resamples=200)).any()


def test_f1_of_a_draw_is_f1_of_the_drawn_documents(scores_of, random_arrays):
    outputs, targets = random_arrays(3, documents=50, tasks=4)
    mask = np.random.default_rng(0).random(targets.shape) < 0.9
    scores, names = scores_of(outputs, targets, mask=mask)
    d = decide(scores, names, dict.fromkeys(names, 0.5))
    weights = document_weights(scores.ids, resamples=25)
    found = resample_f1(d, weights, names)
    for draw, row in enumerate(weights):
        places = np.repeat(np.arange(50), row.astype(int))
        drawn = Decisions(d.truth[places], d.predicted[places], d.known[places])
        assert found.main[draw] == pytest.approx(f1_macro(drawn), abs=1e-12)
        assert found.micro[draw] == pytest.approx(f1_micro(drawn), abs=1e-12)
        for at, name in enumerate(names):
            alone = Decisions(drawn.truth[:, [at]], drawn.predicted[:, [at]], drawn.known[:, [at]])
            assert found.tasks[name][draw] == pytest.approx(f1_macro(alone), abs=1e-12)


def test_the_interval_of_a_difference_is_paired_and_averages_children(random_arrays):
    outputs, targets = random_arrays(1, documents=300, tasks=5)
    weights = document_weights([str(i) for i in range(300)], resamples=500)
    good = resample_f1(Decisions.of(targets, outputs >= 0.5), weights)
    bad = resample_f1(Decisions.of(targets, outputs >= 0.2), weights)
    same = document_interval([good.main], [good.main], groups=300)
    assert (same.low, same.high) == (0.0, 0.0)
    one = document_interval([good.main], [bad.main], groups=300)
    low, high = np.quantile(good.main - bad.main, [tail(300), 1 - tail(300)])
    assert (one.low, one.high) == pytest.approx((low, high))
    assert one.low > 0
    two = document_interval([good.micro, good.micro], [bad.micro, good.micro], groups=300)
    assert two.high == pytest.approx(np.quantile((good.micro - bad.micro) / 2, 1 - tail(300)))


def test_intervals_of_tasks_are_paired_and_of_the_tasks_that_all_results_have():
    rng = np.random.default_rng(0)
    main = rng.normal(size=500)
    good = Resampled(main, tasks={"a": main, "b": main + 1, "c": main})
    bad = Resampled(main, tasks={"b": main, "a": main - rng.random(500)})
    found = task_intervals([good, good], [bad, good], groups=300)
    assert list(found) == ["a", "b"]
    assert (found["b"].low, found["b"].high) == pytest.approx((0.5, 0.5))
    halves = np.quantile((main - bad.tasks["a"]) / 2, [tail(300), 1 - tail(300)])
    assert (found["a"].low, found["a"].high) == pytest.approx(tuple(halves))
    assert not task_intervals([good], [bad], groups=4)


def tail(n):
    """Hesterberg's level of the lower end."""
    return stats.norm.cdf(-stats.t.ppf(0.975, n - 1) * np.sqrt(n / (n - 1)))


def test_fewer_groups_give_wider_intervals_and_too_few_none():
    drawn = np.random.default_rng(0).normal(size=1_000)
    some = [document_interval([drawn], [0 * drawn], groups=n) for n in (5, 9, 99)]
    assert [each.high - each.low for each in some] == sorted(
        (each.high - each.low for each in some), reverse=True
    )
    assert tail(10_000) == pytest.approx(0.025, abs=1e-4)
    assert document_interval([drawn], [0 * drawn], groups=4) is None


def test_groups_are_drawn_whole():
    ids, groups = [f"d{i}" for i in range(9)], list("aabbbbcdd")
    weights = document_weights(ids, groups, resamples=300)
    for group in "abcd":
        columns = weights[:, [i for i, each in enumerate(groups) if each == group]]
        assert (columns == columns[:, :1]).all()
    first = [groups.index(group) for group in "abcd"]
    assert (weights[:, first].sum(axis=1) == 4).all()
    assert weights.mean() == pytest.approx(1.0, abs=0.1)
    assert (document_weights(ids, ids, resamples=9) == document_weights(ids, resamples=9)).all()


def excludes_zero(rng, groups):
    """Whether the interval between two equally good runs leaves zero out: 25 abstracts of 8 sentences."""
    of = np.repeat(np.arange(25), 8)
    truth = rng.random((200, 1)) < 0.4
    hits = [rng.random((200, 1)) < 1 / (1 + np.exp(-2 * rng.normal(size=25)))[of][:, None] for _ in range(2)]
    weights = document_weights(
        [str(i) for i in range(200)], [str(i) for i in of] if groups else None, resamples=300
    )
    runs = [resample_f1(Decisions.of(truth, truth == hit), weights) for hit in hits]
    return document_interval([runs[0].main], [runs[1].main], groups=25 if groups else 200).without_zero


def test_equal_runs_differ_by_their_documents_in_five_percent_of_cases_where_groups_are_drawn():
    rng = np.random.default_rng(3)
    assert 0.02 <= np.mean([excludes_zero(rng, groups=True) for _ in range(250)]) <= 0.08
    assert np.mean([excludes_zero(rng, groups=False) for _ in range(50)]) > 0.2
