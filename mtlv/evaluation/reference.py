"""A run beside a bag of words (`mtlv.units.bag_of_words`): whether its gain is shown, and the tasks behind.

The rules are those for two runs: the tests over folds or seeds decide if they can, and otherwise the interval
over resampled test documents (`mtlv.evaluation.verdict`). Nothing is corrected for several runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from statistics import fmean

from mtlv.evaluation.significance import Interval, by_fold, compare_pairs
from mtlv.evaluation.verdict import decides, verdicts

DIGITS = 3  # in which a task is behind
Pair = tuple[float, float]
"""A score of a run, and that of the bag of words."""


@dataclass(frozen=True)
class ReferenceScores:
    """Test scores of a bag of words on one fold."""

    main: float  # main metric of the plan
    tasks: Mapping[str, float]  # main metric of each task that counts in the test part
    # main metric of the plan on resamples of the test documents; empty if it is not one of sums
    draws: Sequence[float] = ()


@dataclass(frozen=True)
class Gain:
    """Main score of a run minus that of the bag of words."""

    mean: float  # over folds and seeds
    interval: Interval | None  # of the tests or of the documents, whichever decided
    is_shown: bool  # whether the run is shown to be better


@dataclass(frozen=True)
class Lag:
    """A task on which a bag of words is better, with means over folds and seeds."""

    task: str
    score: float
    words: float


@dataclass(frozen=True)
class BesideWords:
    """Scores of a run and of the bag of words.

    Args:
        mains: main scores, by fold and seed.
        tasks: main metrics of each task, one pair per fold and seed.
        interval: of the difference of the main scores, over resampled test documents; None if unknown.
    """

    mains: Mapping[tuple[int, int], Pair] = field(default_factory=dict)
    tasks: Mapping[str, Sequence[Pair]] = field(default_factory=dict)
    interval: Interval | None = None

    @property
    def means(self) -> Pair | None:
        """Mean main scores; None if there are none."""
        return _means(self.mains.values()) if self.mains else None

    @property
    def gain(self) -> Gain | None:
        """The gain of the run; None if nothing can decide whether it is shown."""
        known = {pair: both for pair, both in self.mains.items() if all(map(isfinite, both))}
        if not known:
            return None
        run, words = ({pair: both[side] for pair, both in known.items()} for side in (0, 1))
        values = compare_pairs(by_fold(run), by_fold(words))
        (verdict,) = verdicts([values])
        if decides(verdict, values.n):
            return Gain(values.mean, values.interval, verdict.sign > 0)
        if self.interval is None:
            return None
        return Gain(values.mean, self.interval, self.interval.low > 0)

    @property
    def lags(self) -> tuple[Lag, ...]:
        """The tasks on which the bag of words is better, the largest difference first."""
        lags = (Lag(task, *_means(pairs)) for task, pairs in self.tasks.items() if pairs)
        behind = [lag for lag in lags if round(lag.score, DIGITS) < round(lag.words, DIGITS)]
        return tuple(sorted(behind, key=lambda lag: lag.score - lag.words))


def _means(pairs: Iterable[Pair]) -> Pair:
    scores, words = zip(*pairs, strict=True)
    return fmean(scores), fmean(words)
