"""Measures of transferability beside what each source gained: Spearman's correlation within targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from mtlv.evaluation.predictors import RankCorrelation, order_within_tasks
from mtlv.evaluation.transfer import TransferEffect, Transfers


@dataclass(frozen=True)
class MeasuredTransfer:
    """What a measure predicts of the sources of each target, and their gains, as fractions."""

    measure: str
    targets: int  # number of targets with two sources or more
    cells: int  # number of their cells
    order: RankCorrelation | None  # order of the cells within targets; None of too few targets or sources
    named: float  # gain of the source, or sources, for which the measure is largest, mean over targets
    # average, best: the same of all sources, and of the one that gained most
    average: float
    best: float


def measured_transfers(transfers: Transfers, found: Sequence[TransferEffect]) -> Iterator[MeasuredTransfer]:
    """Yield the outcome of each measure, over cells of learned tasks that have it and a gain.

    Args:
        transfers: the transfers.
        found: their effects.
    """
    judged = [cell for cell in found if transfers.judges(cell.source, cell.target)]
    for measure, values in transfers.suits.items():
        rows: dict[str, list[tuple[float, float]]] = {}
        said, came = np.full((2, len(transfers.sources), len(transfers.targets)), np.nan)
        for cell in judged:
            if (cell.source, cell.target) in values:
                value = values[cell.source, cell.target]
                at = transfers.sources.index(cell.source), transfers.targets.index(cell.target)
                said[at], came[at] = value, cell.mean
                rows.setdefault(cell.target, []).append((value, cell.mean))
        several = [each for each in rows.values() if len(each) > 1]
        if several:
            yield MeasuredTransfer(
                measure,
                len(several),
                sum(map(len, several)),
                order_within_tasks([(transfers.targets, said, came)]),
                fmean(_named(each) for each in several),
                fmean(fmean(gain for _, gain in each) for each in several),
                fmean(max(gain for _, gain in each) for each in several),
            )


def _named(cells: Sequence[tuple[float, float]]) -> float:
    """Return the gain of the source with the largest value, the mean of several with an equal one."""
    largest = max(value for value, _ in cells)
    return fmean(gain for value, gain in cells if value == largest)
