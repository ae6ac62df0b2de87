"""Paired tests between two runs over their values on the same folds and seeds.

Values are paired by fold and seed. The null hypothesis of Wilcoxon's signed-rank test is that the differences
are symmetric around zero, that of the paired t-test that their mean is zero. Both assume independent pairs.
Seeds of one fold are not independent folds, so `by_fold` averages them first. Folds that share training
documents (and a test set) are not independent either: p-values are then too small (Nadeau and Bengio,
"Inference for the generalization error", Machine Learning 52, 2003), which must be reported with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.kinds.numbers import mean_ranks
from mtlv.formatting import many

ALPHA = 0.05
FEWEST = 3  # pairs for Student's t: two differences that happen to be nearly equal would have a p near 0
MOST_EXACT = 50  # pairs; with more, the normal approximation is as good
DECIMALS = 12  # for rounding differences, so that 0.3 - 0.2 and 0.2 - 0.1 are tied

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """Ends of a 95% interval."""

    low: float
    high: float

    @property
    def without_zero(self) -> bool:
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class PairedTest:
    """Result of a paired test.

    Args:
        p: two-sided; None if there are too few pairs for the test to decide.
        effect: matched-pairs rank-biserial correlation (Wilcoxon) or Cohen's d_z (t); its sign is the
            direction of the difference.
        method: how `p` was computed.
        reason: why there is no `p`; empty if there is one.
        least: smallest possible `p` with this number of pairs.
    """

    p: float | None
    effect: float | None
    method: str
    reason: str = ""
    least: float = 0.0


@dataclass(frozen=True)
class PairedComparison:
    """Two runs on the same n folds and seeds; differences are first - second."""

    n: int  # number of pairs
    # higher, lower: number of pairs in which the first run is above the second, and below it
    higher: int
    lower: int
    mean: float  # mean of the differences
    interval: Interval | None  # Student's interval of the mean; see `t_interval`
    # wilcoxon, t: results of the tests
    wilcoxon: PairedTest
    t: PairedTest


def smallest_p(n: int) -> float:
    """Return the smallest two-sided p of Wilcoxon's test for n pairs: 2 of 2**n choices of signs."""
    return min(1.0, 2.0 / 2.0**n)


def fewest_pairs(alpha: float = ALPHA) -> int:
    """Return the smallest number of pairs with which Wilcoxon's test can reach `alpha`: 6 for 0.05."""
    n = 1
    while smallest_p(n) > alpha:
        n += 1
    return n


def by_fold(values: Mapping[tuple[int, int], float]) -> list[float]:
    """Return values by (fold, seed) for the tests: the mean over seeds of each fold; with one fold each seed.

    Seeds of a fold share its documents, so their values are repeated measurements of that fold; counting them
    as separate folds makes p too small (Hurlbert, "Pseudoreplication and the design of ecological field
    experiments", Ecological Monographs 54, 1984). With one fold, there are only seeds: the tests then cover
    the noise of training, but not other documents.
    """
    folds: dict[int, list[float]] = {}
    for (fold, _), value in values.items():
        folds.setdefault(fold, []).append(value)
    return list(values.values()) if len(folds) == 1 else [fmean(seeds) for seeds in folds.values()]


def compare_pairs(first: Sequence[float], second: Sequence[float]) -> PairedComparison:
    """Compute both tests and the interval for values [n] of two runs, paired by position.

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

    For at most 50 unequal pairs, p is exact: the share of all 2**n choices of signs whose rank sum is at
    least as extreme. Ties have their mean rank, and the choices are of these ranks, so p is also exact with
    ties. For more pairs: SciPy's normal approximation with the variance corrected for ties.

    `scipy.stats.wilcoxon` gives the same p for up to 13 pairs, and for up to 50 without ties and zeros. With
    ties or zeros among 14 to 50 pairs, it uses the normal approximation, while this p is exact. The effect
    is (W+ - W-) / (W+ + W-) (Kerby, 2014).
    """
    values = np.asarray(differences, np.float64)
    moved = values[values != 0]
    equal = values.size - moved.size
    if not moved.size:
        return PairedTest(None, None, "none", "the runs are equal in every pair")
    ranks = mean_ranks(np.abs(moved))
    above = float(ranks[moved > 0].sum())
    below = float(ranks[moved < 0].sum())
    p, method = _p_and_method(moved, ranks, above)
    reason = ""
    if p is None:
        pairs = many(moved.size, "unequal pair" if equal else "pair")
        verb = "is" if moved.size == 1 else "are"
        reason = f"{pairs} {verb} too few for Wilcoxon, whose p cannot be below {smallest_p(moved.size):.3g}"
    left_out = f", {many(equal, 'equal pair')} left out" if equal else ""
    effect, least = (above - below) / (above + below), smallest_p(moved.size)
    return PairedTest(p, effect, method + left_out, reason, least)


def _p_and_method(moved: Floats, ranks: Floats, above: float) -> tuple[float | None, str]:
    """Return p and its method, for nonzero differences [n]."""
    if smallest_p(moved.size) > ALPHA:
        return None, "none"
    if moved.size <= MOST_EXACT:
        return _exact(ranks, above), "exact" if np.unique(ranks).size == ranks.size else "exact with ties"
    from scipy import stats

    return float(stats.wilcoxon(moved, method="auto").pvalue), "normal approximation"


def _exact(ranks: Floats, above: float) -> float:
    """Return the two-sided p of the rank sum `above` over all choices of signs of `ranks` [n].

    Counts the choices for each sum, rank by rank. Mean ranks may be halves, so sums are doubled.
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

    Uses `scipy.special`, because importing `scipy.stats` would add a second to every page; the results are
    equal.
    """
    values = np.asarray(differences, np.float64)
    if values.size < FEWEST:
        subject = "one pair is" if values.size == 1 else f"{values.size} pairs are"
        return PairedTest(None, None, "none", f"{subject} too few for the t-test, which needs {FEWEST}")
    spread = float(values.std(ddof=1))
    if spread <= 10.0**-DECIMALS:
        return PairedTest(None, None, "none", "all differences are equal, so there is no t")
    from scipy.special import stdtr

    effect, freedom = float(values.mean()) / spread, values.size - 1
    p = 2 * float(stdtr(freedom, -abs(effect) * values.size**0.5))
    return PairedTest(p, effect, f"t with {many(freedom, 'degree')} of freedom")


def t_interval(differences: Sequence[float] | Floats) -> Interval | None:
    """Return Student's 95% interval of the mean of differences [n]: mean ± t * s / sqrt(n).

    None for n < 3. It excludes zero if `paired_t` has p < 0.05. If all differences are equal, its width is 0.
    """
    values = np.asarray(differences, np.float64)
    if values.size < FEWEST:
        return None
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if spread <= 10.0**-DECIMALS:
        return Interval(mean, mean)
    from scipy.special import stdtrit

    half = float(stdtrit(values.size - 1, 1 - ALPHA / 2)) * spread / values.size**0.5
    return Interval(mean - half, mean + half)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values corrected for all tests (Holm, 1979), in the given order.

    In ascending order, the i-th of m (from 0) is multiplied by m - i, limited to 1, and at least the previous
    one. Places without a p-value stay None and do not count.
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    out: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for i, (p, place) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - i)))
        out[place] = highest
    return out
