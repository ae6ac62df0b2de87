"""Paired tests between two runs: what their values on the same folds and seeds can decide, and what not.

Values are paired by fold and seed. Wilcoxon's signed-rank test asks whether the differences lie symmetrically
round zero, the paired t-test whether their mean is zero. Both take the pairs as independent. Seeds of one
fold are not independent folds, so `by_fold` averages them first. Folds that share training documents (and a
test set) are not independent either: then p-values come out too small (Nadeau and Bengio, "Inference for the
generalization error", Machine Learning 52, 2003), and whoever shows them has to say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from mtlv.formatting import many

ALPHA = 0.05
MOST_EXACT = 50  # pairs; above, the normal approximation is as good
DECIMALS = 12  # differences are rounded to it, so that 0.3 - 0.2 and 0.2 - 0.1 count as tied

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A 95% interval: its ends."""

    low: float
    high: float

    @property
    def without_zero(self) -> bool:
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class PairedTest:
    """What a paired test found.

    Args:
        statistic: signed rank sum W = min(W+, W-), or t; nothing where it is not defined.
        p: two-sided; nothing where the pairs are too few for the test to decide.
        effect: matched-pairs rank-biserial correlation (Wilcoxon) or Cohen's d_z (t); its sign is the
            direction of what the test shows.
        method: how `p` was computed.
        reason: why there is no `p`; empty where there is one.
        least: the smallest `p` that so many pairs can give.
    """

    statistic: float | None
    p: float | None
    effect: float | None
    method: str
    reason: str = ""
    least: float = 0.0


@dataclass(frozen=True)
class PairedComparison:
    """Two runs on the same n folds and seeds; differences are first - second.

    Args:
        n: pairs.
        higher, lower: pairs in which the first run is above the second, and below it.
        mean: of the differences.
        interval: Student's, of the mean; see `t_interval`.
        wilcoxon, t: the tests.
    """

    n: int
    higher: int
    lower: int
    mean: float
    interval: Interval | None
    wilcoxon: PairedTest
    t: PairedTest


def smallest_p(n: int) -> float:
    """The smallest two-sided p that Wilcoxon's test can give for n pairs: 2 of 2**n choices of signs."""
    return min(1.0, 2.0 / 2.0**n)


def fewest_pairs(alpha: float = ALPHA) -> int:
    """The least number of pairs with which Wilcoxon's test can reach `alpha`: 6 for 0.05."""
    n = 1
    while smallest_p(n) > alpha:
        n += 1
    return n


def by_fold(values: Mapping[tuple[int, int], float]) -> list[float]:
    """Values by (fold, seed) as the tests take them: the mean over seeds of each fold; of one fold each seed.

    Seeds of a fold share its documents, so their values are one measurement of that fold, repeated; counted
    as so many folds they make p too small (Hurlbert, "Pseudoreplication and the design of ecological field
    experiments", Ecological Monographs 54, 1984). Within one fold they are all there is: then the tests say
    something on the noise of training, and nothing on other documents.
    """
    folds: dict[int, list[float]] = {}
    for (fold, _), value in values.items():
        folds.setdefault(fold, []).append(value)
    return list(values.values()) if len(folds) == 1 else [fmean(each) for each in folds.values()]


def compare_pairs(first: Sequence[float], second: Sequence[float]) -> PairedComparison:
    """Both tests and the interval for values [n] of two runs, paired by position.

    Raises:
        ValueError: the lengths differ, or there is no pair.
    """
    if len(first) != len(second) or not len(first):
        raise ValueError(f"cannot pair {len(first)} with {len(second)} values")
    differences = np.round(np.asarray(first, np.float64) - np.asarray(second, np.float64), DECIMALS)
    return PairedComparison(
        n=differences.size,
        higher=int((differences > 0).sum()),
        lower=int((differences < 0).sum()),
        mean=float(differences.mean()),
        interval=t_interval(differences),
        wilcoxon=wilcoxon(differences),
        t=paired_t(differences),
    )


def wilcoxon(differences: Sequence[float] | Floats) -> PairedTest:
    """Wilcoxon's signed-rank test of differences [n], two-sided; zeros are left out (Wilcoxon, 1945).

    For at most 50 unequal pairs p is exact: the share of all 2**n choices of signs whose rank sum is at least
    as far out. Ties share their mean rank, and the choices are of these ranks, so that p is exact with ties
    too. Above that: SciPy's normal approximation with the variance corrected for ties.

    `scipy.stats.wilcoxon` gives the same p for up to 13 pairs, and for up to 50 without ties and zeros. With
    ties or zeros among 14 to 50 pairs it takes the normal approximation, where this stays exact. The effect
    is (W+ - W-) / (W+ + W-) (Kerby, 2014).
    """
    values = np.asarray(differences, np.float64)
    moved = values[values != 0]
    equal = values.size - moved.size
    if not moved.size:
        return PairedTest(None, None, None, "none", "the runs are equal in every pair")
    ranks = _mean_ranks(np.abs(moved))
    above = float(ranks[moved > 0].sum())
    below = float(ranks[moved < 0].sum())
    p, method = _decided(moved, ranks, above)
    reason = ""
    if p is None:
        pairs = many(moved.size, "unequal pair" if equal else "pair")
        verb = "is" if moved.size == 1 else "are"
        reason = f"{pairs} {verb} too few for Wilcoxon, whose p cannot be below {smallest_p(moved.size):.3g}"
    left_out = f", {many(equal, 'equal pair')} left out" if equal else ""
    effect, least = (above - below) / (above + below), smallest_p(moved.size)
    return PairedTest(min(above, below), p, effect, method + left_out, reason, least)


def _mean_ranks(values: Floats) -> Floats:
    """Ranks from 1 of values [n]; equal ones share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last: Floats = np.cumsum(counts, dtype=np.float64)
    return (last - (counts - 1) / 2)[place]


def _decided(moved: Floats, ranks: Floats, above: float) -> tuple[float | None, str]:
    """p and how it was computed, for differences [n] other than zero."""
    if smallest_p(moved.size) > ALPHA:
        return None, "none"
    if moved.size <= MOST_EXACT:
        return _exact(ranks, above), "exact" if np.unique(ranks).size == ranks.size else "exact with ties"
    from scipy import stats

    return float(stats.wilcoxon(moved, method="auto").pvalue), "normal approximation"


def _exact(ranks: Floats, above: float) -> float:
    """Two-sided p of the rank sum `above` over all choices of signs of `ranks` [n].

    Counts the choices of each sum rank by rank. Mean ranks are halves, so sums are counted doubled.
    """
    doubled = np.rint(2 * ranks).astype(int)
    chance = np.zeros(doubled.sum() + 1)
    chance[0] = 1.0
    for rank in doubled:
        shifted = np.zeros_like(chance)
        shifted[rank:] = chance[: chance.size - rank]
        chance = (chance + shifted) / 2
    at = round(2 * above)
    return float(min(1.0, 2 * min(chance[: at + 1].sum(), chance[at:].sum())))


def paired_t(differences: Sequence[float] | Floats) -> PairedTest:
    """Student's paired t-test of differences [n], two-sided; d_z is mean / standard deviation (ddof 1).

    By `scipy.special`: importing `scipy.stats`, whose figures these are, would take a second of every page.
    """
    values = np.asarray(differences, np.float64)
    if values.size < 2:
        return PairedTest(None, None, None, "none", "one pair has no spread, so there is no t")
    spread = float(values.std(ddof=1))
    if spread <= 10.0**-DECIMALS:
        return PairedTest(None, None, None, "none", "all differences are equal, so there is no t")
    from scipy.special import stdtr

    effect, freedom = float(values.mean()) / spread, values.size - 1
    t = effect * values.size**0.5
    p = 2 * float(stdtr(freedom, -abs(t)))
    return PairedTest(t, p, effect, f"t with {many(freedom, 'degree')} of freedom")


def t_interval(differences: Sequence[float] | Floats) -> Interval | None:
    """Student's 95% interval of the mean of differences [n]: mean ± t * s / sqrt(n); nothing for n < 2.

    It leaves zero out where `paired_t` has p < 0.05. All equal differences give an interval of no width.
    """
    values = np.asarray(differences, np.float64)
    if values.size < 2:
        return None
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if spread <= 10.0**-DECIMALS:
        return Interval(mean, mean)
    from scipy.special import stdtrit

    half = float(stdtrit(values.size - 1, 1 - ALPHA / 2)) * spread / values.size**0.5
    return Interval(mean - half, mean + half)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values corrected for all tests that were made (Holm, 1979), in the order given.

    Sorted upwards, the i-th of m (from 0) is multiplied by m - i, cut at 1, and never below the one before.
    Places without a p-value stay empty and do not count.
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    out: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for i, (p, place) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - i)))
        out[place] = highest
    return out
