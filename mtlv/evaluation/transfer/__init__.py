"""Transfer between tasks: scores after an intermediate task, or with a partner, compared with the task alone.

There is no published rule for the colours of such a matrix or graph; this one is mtlv's own. The difference
of a cell is the score with the source minus the baseline of the target, paired by fold and seed; with several
folds, the mean over the seeds of each. Its mean has a 95% interval by Student's t over the pairs. A source
`helps` if the interval is above 0, `harms` if it is below, is `neutral` if it contains 0, and
`unknown` with fewer than 3 pairs, or if the source or the target is not learned by a model of its own
(`mtlv.evaluation.learned`): then the difference says nothing about the tasks.

One cell in twenty is coloured by chance alone, so each cell also has the p of the paired t-test corrected for
all cells (Holm, 1979). The t-test assumes independent pairs and normal differences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.significance import DECIMALS, Interval, by_fold, holm, paired_t, t_interval

POINTS = 100  # scores are fractions, shown as points
MINUS = "\N{MINUS SIGN}"

Pair = tuple[int, int]
"""Fold and seed, as `Child.pair`."""
Scores = Mapping[Pair, float]
Verdict = Literal["helps", "harms", "neutral", "unknown"]


@dataclass(frozen=True)
class TransferText:
    """Texts for a matrix of transfers."""

    id: str  # ASCII; prefix of the ids of blocks and of file names
    title: str  # title of the section
    columns: str  # heading of the columns
    partner: str  # noun for a column in sentences
    alone: str  # training of the baseline
    after: str  # training of a cell


INTERMEDIATE = TransferText(
    "transfer",
    "Transfer",
    "intermediate task",
    "intermediate task",
    "trained on the target alone",
    "trained on the intermediate task first, then on the target",
)
LEARNED_WITH = TransferText(
    "pairs",
    "Pairs of tasks",
    "learned with",
    "partner",
    "learned alone",
    "learned together with the other task",
)


@dataclass(frozen=True)
class Transfers:
    """Scores of every target alone and with every source.

    A score is the main metric of the target as a fraction (a correlation may be negative). Scores that are
    not finite, and pairs that only one side has, are ignored. There is no cell if source and target are the
    same.
    """

    targets: tuple[str, ...]  # names of the rows
    sources: tuple[str, ...]  # names of the columns
    baseline: Mapping[str, Scores]  # scores of each target alone; targets may be missing
    after: Mapping[tuple[str, str], Scores]  # scores by (source, target); cells may be missing
    wording: TransferText = INTERMEDIATE  # texts for intermediate tasks or for pairs
    unlearned: frozenset[str] = frozenset()  # tasks that a model of their own does not learn

    @property
    def names(self) -> tuple[str, ...]:
        """All tasks, targets first."""
        return tuple(dict.fromkeys((*self.targets, *self.sources)))

    def judges(self, source: str, target: str) -> bool:
        """Whether the rule gives a verdict on a cell, if it has enough pairs."""
        return not {source, target} & self.unlearned


@dataclass(frozen=True)
class TransferEffect:
    """Effect of a source on a target; scores, differences and ends of the interval are fractions."""

    source: str
    target: str
    n: int  # number of pairs: folds, or seeds if there is only one fold
    # baseline, after: mean scores over these pairs
    baseline: float
    after: float
    mean: float  # mean of the differences
    # low, high: ends of the 95% interval of the mean; None for fewer than 3 pairs. If all differences are
    # equal, its width is 0
    low: float | None
    high: float | None
    p: float | None  # two-sided p of the paired t-test; None for fewer than 3 pairs or equal differences
    p_holm: float | None  # p corrected for all cells of the matrix with a verdict
    verdict: Verdict  # verdict by the rule of this module


def in_order(
    baseline: Mapping[str, Scores], after: Mapping[tuple[str, str], Scores], **more: Any
) -> Transfers:
    """Return transfers with targets in order of first appearance, those with a baseline first.

    Sources are in this order, too, with those that are also targets first.
    """
    targets = dict.fromkeys([*baseline, *(target for _, target in after)])
    sources_with_runs = dict.fromkeys(source for source, _ in after)
    sources = dict.fromkeys([*(name for name in targets if name in sources_with_runs), *sources_with_runs])
    return Transfers(tuple(targets), tuple(sources), baseline, after, **more)


def numbers(cell: TransferEffect | None) -> dict[str, Any]:
    """Return the numbers of a cell; all None if it was not measured."""
    names = ("baseline", "after", "mean", "low", "high", "n", "p", "p_holm", "verdict")
    return {"difference" if name == "mean" else name: getattr(cell, name, None) for name in names}


def effects(transfers: Transfers) -> tuple[TransferEffect, ...]:
    """Return the cells with at least one pair, row by row, with verdicts by the rule of this module."""
    cells = [
        cell
        for target in transfers.targets
        for source in transfers.sources
        if (cell := _effect(transfers, source, target)) is not None
    ]
    corrected = holm([cell.p if transfers.judges(cell.source, cell.target) else None for cell in cells])
    return tuple(replace(cell, p_holm=p) for cell, p in zip(cells, corrected, strict=True))


def baseline_mean(transfers: Transfers, target: str) -> float | None:
    """Return the target's mean score alone; None if it was not measured."""
    known = _finite(transfers.baseline.get(target, {}))
    return fmean(known.values()) if known else None


def verdict_of(interval: Interval | None) -> Verdict:
    """Return the verdict for the interval of the mean over the pairs; None for too few of them."""
    if interval is None:
        return "unknown"
    return "helps" if interval.low > 0 else "harms" if interval.high < 0 else "neutral"


def points(value: float) -> str:
    """Format a difference in points with its sign, `+1.5` or `−0.3`; `0.0` has no sign."""
    text = f"{POINTS * value:+.1f}"
    return text[1:] if float(text) == 0 else text.replace("-", MINUS)


def _finite(scores: Scores) -> dict[Pair, float]:
    return {pair: score for pair, score in scores.items() if math.isfinite(score)}


def _common_scores(
    transfers: Transfers, source: str, target: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scores [n] with the source and alone, on the common folds and seeds, as in `by_fold`."""
    after = _finite(transfers.after.get((source, target), {}))
    alone = _finite(transfers.baseline.get(target, {}))
    both = sorted(after.keys() & alone.keys())
    after, alone = ({pair: scores[pair] for pair in both} for scores in (after, alone))
    return np.array(by_fold(after)), np.array(by_fold(alone))


def _effect(transfers: Transfers, source: str, target: str) -> TransferEffect | None:
    """Return the effect of a cell, without the corrected p; None without a pair."""
    after, alone = _common_scores(transfers, source, target)
    if not after.size:
        return None
    differences = np.round(after - alone, DECIMALS)
    interval = t_interval(differences)
    return TransferEffect(
        source=source,
        target=target,
        n=differences.size,
        baseline=float(alone.mean()),
        after=float(after.mean()),
        mean=float(differences.mean()),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        p=paired_t(differences).p,
        p_holm=None,
        verdict=verdict_of(interval) if transfers.judges(source, target) else "unknown",
    )
