"""Ranking of runs: which are shown to be worse than the best, and which one is recommended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from mtlv.comparison.pairwise_tests import PairwiseTest, compare_with_intervals
from mtlv.comparison.parts import finite_mean, finite_mean_and_sd, learned_nothing
from mtlv.comparison.parts.costs import cost_unit
from mtlv.evaluation.compared_runs import ComparedRun, Comparison, is_random
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
        training: its cost, see `mtlv.comparison.parts.costs`; infinite if unknown.
    """

    run: ComparedRun
    mean: float
    sd: float | None
    pair: PairwiseTest | None = None
    best: bool = False
    is_behind_words: bool = False
    training: float = inf

    @property
    def worse(self) -> bool | None:
        """Whether it is shown to be worse than the best; None if nothing can decide."""
        return False if self.best else is_shown_worse(self.run, self.pair)

    @property
    def tested(self) -> bool:
        """Whether tests over folds and seeds decide, and not only the interval over test documents."""
        return self.pair is not None and is_decided_by_tests(self.pair)

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
        """Models, cost of training and negative score: the order of runs that are equally good."""
        return len(self.run.plan), self.training, -self.mean


def control_of(run: ComparedRun) -> str:
    """Return what a run is a control for: random groups or factors, or fewer documents to learn from."""
    if float(run.params.get("data.train_share", 1)) < 1:
        return "control: fewer training documents"
    if has_random_factors(run):
        return "control: random factors"
    return "control: random groups" if is_random(run) else ""


def following(ranked: Sequence[Standing]) -> Standing:
    """Return what follows the first: the first run that is not a control, if there is one."""
    return next((standing for standing in ranked[1:] if not standing.control), ranked[1])


def score_runs(comparison: Comparison) -> list[Standing]:
    """Return all runs with a main score, highest first, not yet compared with the best."""
    unit = cost_unit(comparison)
    means = ((run, *finite_mean_and_sd(run.mains), finite_mean(unit.values(run))) for run in comparison.runs)
    ranked = [
        Standing(
            run,
            mean,
            sd,
            is_behind_words=comparison.learning(run).behind is not None,
            training=inf if training is None else training,
        )
        for run, mean, sd, training in means
        if mean is not None
    ]
    return sorted(ranked, key=lambda standing: -standing.mean)


def standings(comparison: Comparison) -> list[Standing]:
    """Return the finished, trained runs that learned something and compare with the best, highest first."""
    left = {run.key for run in learned_nothing(comparison)}
    ranked = [
        standing
        for standing in score_runs(comparison)
        if standing.run.key not in left and standing.run.status == "FINISHED" and not standing.run.is_imported
    ]
    if not ranked:
        return []
    # Of equal models, a control comes last.
    ranked.sort(key=lambda standing: (-standing.mean, bool(standing.control)))
    best = ranked[0]
    pairs = by_runs(comparison)
    return [
        replace(standing, pair=pairs.get(frozenset((standing.run.key, best.run.key))), best=standing is best)
        for standing in ranked
        if comparable(standing.run, best.run)
    ]


def by_runs(comparison: Comparison) -> dict[frozenset[str], PairwiseTest]:
    """Return the test of two runs by their keys."""
    return {frozenset((pair.run.key, pair.other.key)): pair for pair in compare_with_intervals(comparison)}


def is_decided_by_tests(pair: PairwiseTest) -> bool:
    """Whether the tests over folds and seeds decide, and not the interval over test documents."""
    return decides(pair.verdict, pair.values.n)


def is_shown_worse(run: ComparedRun, pair: PairwiseTest | None) -> bool | None:
    """Whether `run` is shown to be worse than the other run of `pair`; None if nothing can decide."""
    if pair is None:
        return None
    if is_decided_by_tests(pair):
        return pair.verdict.sign == (-1 if pair.run is run else 1)
    interval = interval_of(run, pair)
    return None if interval is None else interval[1] < 0


def recommend(ranked: Sequence[Standing]) -> Standing | None:
    """Return the cheapest run that is not shown to be worse than the best, and better than a bag of words.

    None without two runs to compare, or if no run is better than a bag of words. The best of several controls
    is high by chance, so a control is recommended only if all others are shown to be worse.

    Args:
        ranked: `standings`, highest first.
    """
    if len(ranked) < 2:
        return None
    near = ranked[0].mean - MARGIN
    equal = [
        standing
        for standing in ranked
        if standing.worse is False or (standing.worse is None and standing.mean >= near)
    ]
    useful = [standing for standing in equal if not standing.is_behind_words]
    candidates = [standing for standing in useful if not standing.control] or useful[:1]
    return min(
        (standing for standing in candidates if standing.mean >= candidates[0].mean - MARGIN),
        key=lambda standing: standing.cost,
        default=None,
    )


def recommend_run(comparison: Comparison) -> ComparedRun | None:
    """Return the recommended run; None if fewer than two runs of the same tasks can be ranked."""
    standing = None if different_tasks(comparison) else recommend(standings(comparison))
    return None if standing is None else standing.run


def difference_of(run: ComparedRun, pair: PairwiseTest) -> float:
    """Return the score of `run` minus that of the other, over the folds and seeds of both."""
    return pair.values.mean if pair.run is run else -pair.values.mean


def interval_of(run: ComparedRun, pair: PairwiseTest) -> tuple[float, float] | None:
    """Return the ends of the interval of `run` - the other over test documents."""
    if pair.documents is None:
        return None
    low, high = pair.documents.main.low, pair.documents.main.high
    return (low, high) if pair.run is run else (-high, -low)
