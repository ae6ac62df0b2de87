"""The unit of training times: minutes, or seconds if all runs are short."""

from __future__ import annotations

from dataclasses import dataclass

from mtlv.comparison.blocks import TableColumn
from mtlv.comparison.parts import finite_mean
from mtlv.evaluation.compared_runs import Comparison

KEY = "train_seconds"  # field of a table's rows
SHORT = 120  # seconds; if every run takes less, times are shown in seconds


@dataclass(frozen=True)
class TimeUnit:
    """A unit of time."""

    name: str
    sign: str
    seconds: int


MINUTES, SECONDS = TimeUnit("minutes", "min", 60), TimeUnit("seconds", "s", 1)


def unit_of(comparison: Comparison) -> TimeUnit:
    """Return the unit for the training times of a comparison."""
    times = (finite_mean(run.seconds) for run in comparison.runs)
    longest = max((time for time in times if time is not None), default=0.0)
    return SECONDS if 0 < longest < SHORT else MINUTES


def training(comparison: Comparison) -> TableColumn:
    """Return the column of training times."""
    unit = unit_of(comparison)
    return TableColumn(KEY, f"training, {unit.sign}", digits=1, best="low", scale=1 / unit.seconds)
