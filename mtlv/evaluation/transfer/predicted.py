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


def measured_transfers(transfers: Transfers, cells: Sequence[TransferEffect]) -> Iterator[MeasuredTransfer]:
    """Yield the outcome of each measure, over cells of learned tasks that have it and a gain.

    Args:
        transfers: the transfers.
        cells: their effects.
    """
    judged = [cell for cell in cells if transfers.judges(cell.source, cell.target)]
    for measure, values in transfers.suits.items():
        rows: dict[str, list[tuple[float, float]]] = {}
        predicted, measured = np.full((2, len(transfers.sources), len(transfers.targets)), np.nan)
        for cell in judged:
            if (cell.source, cell.target) in values:
                value = values[cell.source, cell.target]
                at = transfers.sources.index(cell.source), transfers.targets.index(cell.target)
                predicted[at], measured[at] = value, cell.mean
                rows.setdefault(cell.target, []).append((value, cell.mean))
        several = [pairs for pairs in rows.values() if len(pairs) > 1]
        if several:
            yield MeasuredTransfer(
                measure,
                len(several),
                sum(map(len, several)),
                order_within_tasks([(transfers.targets, predicted, measured)]),
                fmean(_gain_of_largest(pairs) for pairs in several),
                fmean(fmean(gain for _, gain in pairs) for pairs in several),
                fmean(max(gain for _, gain in pairs) for pairs in several),
            )


def _gain_of_largest(cells: Sequence[tuple[float, float]]) -> float:
    """Return the gain of the source with the largest value, the mean of several with an equal one."""
    largest = max(value for value, _ in cells)
    return fmean(gain for value, gain in cells if value == largest)
