"""What the tests between two runs show: one rule, which table, picture and sentences share.

A run is better where every test that can decide shows it after Holm's correction over all pairs of runs. Both
tests can from 6 pairs on, as long as the correction leaves Wilcoxon's a p that is small enough; the t-test
alone from 2. Where one shows a difference and the other none, or the opposite one, they disagree, and neither
run is called better. Of equal runs with independent, normal differences 5% or fewer are called different.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtlv.evaluation.significance import ALPHA, PairedComparison, PairedTest, holm


@dataclass(frozen=True)
class Verdict:
    """What two tests show of a pair of runs.

    Args:
        wilcoxon, t: 1 where the test shows the first run to be better, -1 the second, 0 no difference;
            nothing where it cannot decide on so few pairs.
        wilcoxon_holm, t_holm: p corrected for all pairs of runs; nothing where there is no p.
        tests: the most tests that a correction counts.
    """

    wilcoxon: int | None
    t: int | None
    wilcoxon_holm: float | None
    t_holm: float | None
    tests: int

    @property
    def said(self) -> frozenset[int]:
        """What the tests that can decide show."""
        return frozenset(found for found in (self.wilcoxon, self.t) if found is not None)

    @property
    def sign(self) -> int:
        """1 where the first run is better, -1 where the second is, 0 where neither is shown to be."""
        return min(self.said) if len(self.said) == 1 else 0

    @property
    def disagree(self) -> bool:
        return len(self.said) > 1


def verdicts(comparisons: Sequence[PairedComparison]) -> list[Verdict]:
    """The verdict on each of all pairs of runs that are looked at, by the rule of this file."""
    wilcoxon = holm([found.wilcoxon.p for found in comparisons])
    t = holm([found.t.p for found in comparisons])
    counts = [sum(p is not None for p in corrected) for corrected in (wilcoxon, t)]
    return [
        Verdict(_shown(found.wilcoxon, w, counts[0]), _shown(found.t, p, counts[1]), w, p, max(counts))
        for found, w, p in zip(comparisons, wilcoxon, t, strict=True)
    ]


def _shown(test: PairedTest, corrected: float | None, tests: int) -> int | None:
    """The direction comes from the statistic that shows the difference, not from the mean."""
    if corrected is None or test.effect is None:
        return None
    if corrected <= ALPHA:
        return 1 if test.effect > 0 else -1
    return 0 if test.least * tests <= ALPHA else None
