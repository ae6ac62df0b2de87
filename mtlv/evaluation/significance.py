"""Paired tests between two runs: what their values on the same folds and seeds can decide, and what not.

Values are paired by fold and seed. Wilcoxon's signed-rank test asks whether the differences lie symmetrically
round zero, the paired t-test whether their mean is zero. Both take the pairs as independent. Folds that share
training documents (and a test set) are not: then p-values come out too small (Nadeau and Bengio, "Inference
for the generalization error", Machine Learning 52, 2003), and whoever shows them has to say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.bootstrap import Interval, bootstrap_mean
from mtlv.words import many

ALPHA = 0.05
LEVEL = 1 - ALPHA  # of intervals
MOST_EXACT = 50  # pairs; above, the normal approximation is as good, and SciPy takes it from here on too
DECIMALS = 12  # differences are rounded to it, so that 0.3 - 0.2 and 0.2 - 0.1 count as tied

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairedTest:
    """What a paired test found.

    Args:
        statistic: signed rank sum W = min(W+, W-), or t; nothing where it is not defined.
        p: two-sided; nothing where the pairs are too few for the test to decide.
        effect: matched-pairs rank-biserial correlation (Wilcoxon) or Cohen's d_z (t).
        method: how `p` was computed.
        reason: why there is no `p`; empty where there is one.
    """

    statistic: float | None
    p: float | None
    effect: float | None
    method: str
    reason: str = ""


@dataclass(frozen=True)
class PairedComparison:
    """Two runs on the same n folds and seeds; differences are first - second.

    Args:
        n: pairs.
        mean: of the differences.
        interval: bootstrap interval of the mean over pairs; nothing for one pair.
        wilcoxon, t: the tests.
    """

    n: int
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


def compare_pairs(first: Sequence[float], second: Sequence[float]) -> PairedComparison:
    """Both tests and the bootstrap interval for values [n] of two runs, paired by position.

    Raises:
        ValueError: the lengths differ, or there is no pair.
    """
    if len(first) != len(second) or not len(first):
        raise ValueError(f"cannot pair {len(first)} with {len(second)} values")
    differences = np.round(np.asarray(first, np.float64) - np.asarray(second, np.float64), DECIMALS)
    return PairedComparison(
        n=differences.size,
        mean=float(differences.mean()),
        interval=bootstrap_mean(differences, level=LEVEL) if differences.size > 1 else None,
        wilcoxon=wilcoxon(differences),
        t=paired_t(differences),
    )


def wilcoxon(differences: Sequence[float] | Floats) -> PairedTest:
    """Wilcoxon's signed-rank test of differences [n], two-sided; zeros are left out (Wilcoxon, 1945).

    For at most 50 differences p is exact: the share of all 2**n choices of signs whose rank sum is at least
    as far out. Ties share their mean rank, and the choices are of these ranks, so that p is exact with ties
    too. Above that: the normal approximation with the variance corrected for ties. p is SciPy's in all
    three cases. The effect is (W+ - W-) / (W+ + W-) (Kerby, 2014).
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
    return PairedTest(min(above, below), p, (above - below) / (above + below), method + left_out, reason)


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
