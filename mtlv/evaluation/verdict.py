"""Conclusion of the tests between two runs: one rule for tables, figures and sentences.

A run is better if every test that can decide shows it after Holm's correction for all pairs of runs. With 6
pairs or more, both tests can decide if the correction leaves a small enough p for Wilcoxon's; with 3 or more,
the t-test can. If one shows a difference and the other none, or the opposite, they disagree, and neither
run is better. For equal runs with independent, normal differences, 5% or fewer are called different.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtlv.evaluation.significance import ALPHA, PairedComparison, PairedTest, fewest_pairs, holm


@dataclass(frozen=True)
class Verdict:
    """Results of two tests for a pair of runs.

    Args:
        wilcoxon, t: 1 if the test shows that the first run is better, -1 the second, 0 no difference;
            None if it cannot decide with this few pairs.
        wilcoxon_holm, t_holm: p corrected for all pairs of runs; None if there is no p.
        tests: largest number of tests in a correction.
    """

    wilcoxon: int | None
    t: int | None
    wilcoxon_holm: float | None
    t_holm: float | None
    tests: int

    @property
    def results(self) -> frozenset[int]:
        """Results of the tests that can decide."""
        return frozenset(result for result in (self.wilcoxon, self.t) if result is not None)

    @property
    def sign(self) -> int:
        """1 if the first run is better, -1 if the second is, 0 if neither is shown to be."""
        return min(self.results) if len(self.results) == 1 else 0

    @property
    def disagree(self) -> bool:
        return len(self.results) > 1


def decides(verdict: Verdict, n: int) -> bool:
    """Whether the tests over n folds or seeds decide: they show a difference, or could have shown one.

    With fewer pairs than Wilcoxon's test needs, that the t-test shows nothing says nothing.
    """
    return bool(verdict.sign or (verdict.results and n >= fewest_pairs()))


def verdicts(comparisons: Sequence[PairedComparison]) -> list[Verdict]:
    """Return the verdict for each of all pairs of runs, by the rule of this module."""
    wilcoxon = holm([pair.wilcoxon.p for pair in comparisons])
    t = holm([pair.t.p for pair in comparisons])
    counts = [sum(p is not None for p in corrected) for corrected in (wilcoxon, t)]
    return [
        Verdict(_direction(pair.wilcoxon, w, counts[0]), _direction(pair.t, p, counts[1]), w, p, max(counts))
        for pair, w, p in zip(comparisons, wilcoxon, t, strict=True)
    ]


def _direction(test: PairedTest, corrected: float | None, tests: int) -> int | None:
    """Return the direction of the test's own statistic, not of the mean."""
    if corrected is None or test.effect is None:
        return None
    if corrected <= ALPHA:
        return 1 if test.effect > 0 else -1
    return 0 if test.least * tests <= ALPHA else None
