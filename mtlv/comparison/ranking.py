"""Ranking of runs: which are shown to be worse than the best, and which one is recommended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import fmean

from mtlv.comparison.pairwise_tests import PairwiseTest, tested_pairs
from mtlv.comparison.sections.parts import finite_mean_and_sd, learned_nothing
from mtlv.evaluation.comparison import ComparedRun, Comparison, is_random
from mtlv.evaluation.pairs import comparable, different_tasks
from mtlv.evaluation.random_factors import has_random_factors
from mtlv.evaluation.verdict import decides

MARGIN = 0.01  # of the score, that a lower cost is worth


@dataclass(frozen=True)
class Standing:
    """A run with a main score, compared with the best.

    Args:
        run: the run.
        mean, sd: of its main score.
        pair: the test of this run and the best; None for the best itself, or without a test.
        best: whether it is the best.
        is_behind_words: whether a bag of words is as good, see `mtlv.evaluation.learned`.
    """

    run: ComparedRun
    mean: float
    sd: float | None
    pair: PairwiseTest | None = None
    best: bool = False
    is_behind_words: bool = False

    @property
    def worse(self) -> bool | None:
        """Whether it is shown to be worse than the best; None if nothing can decide."""
        return False if self.best else is_shown_worse(self.run, self.pair)

    @property
    def tested(self) -> bool:
        """Whether tests over folds and seeds decide, and not only the interval over test documents."""
        return self.pair is not None and tests_decide(self.pair)

    @property
    def difference(self) -> float:
        """Return its score minus that of the best, over the folds and seeds of both."""
        assert self.pair is not None
        return difference_of(self.run, self.pair)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the 95% interval of the difference over test documents, where it is known."""
        return interval_of(self.run, self.pair) if self.pair else None

    @property
    def control(self) -> str:
        """Why others are to be recommended: what the run is a control for."""
        return control_of(self.run)

    @property
    def cost(self) -> tuple[int, float, float]:
        """Models, seconds of training and negative score: the order of runs that are equally good."""
        seconds = self.run.seconds
        return len(self.run.plan), fmean(seconds) if seconds else inf, -self.mean


def control_of(run: ComparedRun) -> str:
    """Return what a run is a control for: random groups or factors, or groups measured to choose others."""
    if has_random_factors(run):
        return "control: random factors"
    lower = run.params.get("grouping.place", "1") != "1"
    return "control: random groups" if is_random(run) else lower * "measured to choose groups"


def following(found: Sequence[Standing]) -> Standing:
    """Return what follows the first: the first run that is not a control, if there is one."""
    return next((each for each in found[1:] if not each.control), found[1])


def score_runs(comparison: Comparison) -> list[Standing]:
    """Return all runs with a main score, highest first, not yet compared with the best."""
    means = ((run, *finite_mean_and_sd(run.mains)) for run in comparison.runs)
    found = [
        Standing(run, mean, sd, is_behind_words=comparison.learning(run).behind is not None)
        for run, mean, sd in means
        if mean is not None
    ]
    return sorted(found, key=lambda each: -each.mean)


def standings(comparison: Comparison) -> list[Standing]:
    """Return the finished runs that learned something and are comparable with the best, highest first."""
    left = {run.key for run in learned_nothing(comparison)}
    found = [
        each for each in score_runs(comparison) if each.run.key not in left and each.run.status == "FINISHED"
    ]
    if not found:
        return []
    found.sort(key=lambda each: (-each.mean, bool(each.control)))  # of equal models, a control comes last
    best = found[0]
    pairs = by_runs(comparison)
    return [
        replace(each, pair=pairs.get(frozenset((each.run.key, best.run.key))), best=each is best)
        for each in found
        if comparable(each.run, best.run)
    ]


def by_runs(comparison: Comparison) -> dict[frozenset[str], PairwiseTest]:
    """Return the test of two runs by their keys."""
    return {frozenset((pair.run.key, pair.other.key)): pair for pair in tested_pairs(comparison)}


def tests_decide(pair: PairwiseTest) -> bool:
    """Whether the tests over folds and seeds decide, and not the interval over test documents."""
    return decides(pair.verdict, pair.values.n)


def is_shown_worse(run: ComparedRun, pair: PairwiseTest | None) -> bool | None:
    """Whether `run` is shown to be worse than the other run of `pair`; None if nothing can decide."""
    if pair is None:
        return None
    if tests_decide(pair):
        return pair.verdict.sign == (-1 if pair.run is run else 1)
    interval = interval_of(run, pair)
    return None if interval is None else interval[1] < 0


def recommend(found: Sequence[Standing]) -> Standing | None:
    """Return the cheapest run that is not shown to be worse than the best, and better than a bag of words.

    None without two runs to compare, or if no run is better than a bag of words. The best of several controls
    is high by chance, so a control is recommended only if all others are shown to be worse.

    Args:
        found: `standings`, highest first.
    """
    if len(found) < 2:
        return None
    near = found[0].mean - MARGIN
    equal = [each for each in found if each.worse is False or (each.worse is None and each.mean >= near)]
    useful = [each for each in equal if not each.is_behind_words]
    candidates = [each for each in useful if not each.control] or useful[:1]
    return min(
        (each for each in candidates if each.mean >= candidates[0].mean - MARGIN),
        key=lambda each: each.cost,
        default=None,
    )


def recommend_run(comparison: Comparison) -> ComparedRun | None:
    """Return the recommended run; None if fewer than two runs of the same tasks can be ranked."""
    found = None if different_tasks(comparison) else recommend(standings(comparison))
    return None if found is None else found.run


def difference_of(run: ComparedRun, pair: PairwiseTest) -> float:
    """Return the score of `run` minus that of the other, over the folds and seeds of both."""
    return pair.values.mean if pair.run is run else -pair.values.mean


def interval_of(run: ComparedRun, pair: PairwiseTest) -> tuple[float, float] | None:
    """Return the ends of the interval of `run` - the other over test documents."""
    if pair.documents is None:
        return None
    low, high = pair.documents.main.low, pair.documents.main.high
    return (low, high) if pair.run is run else (-high, -low)
