"""The gain of a run over a bag of words: shown by tests over folds, or else by its documents."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mtlv.evaluation.reference import BesideWords, Gain, Lag
from mtlv.evaluation.significance import Interval, by_fold

ABOVE, ACROSS, BELOW = Interval(0.01, 0.03), Interval(-0.01, 0.03), Interval(-0.03, -0.01)


def beside(gains: Sequence[float], interval: Interval | None = None, *, seeds: int = 1) -> BesideWords:
    """Each gain is of a fold, or of so many seeds of it."""
    pairs = [(n // seeds, n % seeds) for n in range(len(gains))]
    mains = {pair: (0.5 + gain, 0.5) for pair, gain in zip(pairs, gains, strict=True)}
    return BesideWords(mains, interval=interval)


@pytest.mark.parametrize(("interval", "is_shown"), [(ABOVE, True), (ACROSS, False), (BELOW, False)])
def test_documents_decide_with_one_fold(interval: Interval, is_shown: bool) -> None:
    assert beside([0.02], interval).gain == Gain(pytest.approx(0.02), interval, is_shown)


def test_nothing_is_said_where_nothing_can_decide() -> None:
    assert BesideWords().gain is None
    assert BesideWords().means is None
    assert beside([0.02]).gain is None
    assert beside([0.02, -0.01, 0.01, 0.02, -0.02]).gain is None, "five folds show nothing and decide nothing"
    assert beside([float("nan")], ABOVE).gain is None


def test_folds_decide_before_documents() -> None:
    gains = [0.02, -0.021, 0.022, -0.019, 0.01, -0.01]
    gain = beside(gains, ABOVE).gain
    assert gain is not None
    assert not gain.is_shown
    assert gain.mean == pytest.approx(sum(gains) / 6)
    assert gain.interval is not None
    assert gain.interval.low < 0 < gain.interval.high < 0.03
    steady = beside([0.02, 0.021, 0.022, 0.019, 0.02, 0.018], ACROSS).gain
    assert steady is not None
    assert steady.is_shown
    worse = beside([-0.02, -0.021, -0.022, -0.019, -0.02, -0.018], ABOVE).gain
    assert worse is not None
    assert not worse.is_shown


def test_seeds_of_a_fold_are_no_folds() -> None:
    gains = [0.02, -0.021, 0.022, -0.019, 0.01, -0.01]
    found = beside(gains, ABOVE, seeds=2)
    assert len(by_fold({pair: own for pair, (own, _) in found.mains.items()})) == 3
    assert found.gain == Gain(pytest.approx(sum(gains) / 6), ABOVE, True)


def test_tasks_behind_are_those_with_a_lower_mean_in_three_digits() -> None:
    tasks = {
        "near": [(0.70049, 0.70051)],
        "little": [(0.5, 0.6), (0.6, 0.52)],
        "none": [],
        "ahead": [(0.6, 0.1)],
        "much": [(0.1, 0.6)],
        "equal": [(0.5004, 0.5004)],
    }
    found = BesideWords({}, tasks).lags
    assert [lag.task for lag in found] == ["much", "little", "near"], "near has 0.700 against 0.701"
    assert found[1] == Lag("little", pytest.approx(0.55), pytest.approx(0.56))
