"""What measured groups predict of the groups that follow from them, read from the runs of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Parts = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Prediction:
    """Scores of n measured groups of T tasks on validation, and what they predict of the groups that follow.

    Args:
        feature: the `grouping.features` that predicts.
        tasks: names of the T tasks.
        groups: names of the tasks of each group that follows.
        member: [n, T], the tasks of each measured group.
        scores: [n, T], their scores; NaN for other tasks.
        held_out: [n, T], each score predicted from the other groups; NaN where it cannot be.
        chosen: [T], predicted score of each task in its group that follows.
        effects: [T, T], what the task of a row gains with that of the column (diagonal 0); NaN if unknown.
        errors: [T, T], standard errors of the effects, widened for few measurements; NaN if unknown.
        together: [T, T], number of measurements of each two tasks together.
        units: models that were trained to measure the groups.
        seconds: their training; units that several runs share count in each.
        partitions: of each random partition that was measured, by its name, the rows of its groups.
        alike: whether measured groups were trained with the settings of those that follow.
        epochs: fewest and most epochs of a measured group.
        repeated: two tables [n, T]: scores of the first unit of each group, and the means of its others, such
            as those of other seeds; NaN for groups with one unit. None if all have one.
    """

    feature: str
    tasks: tuple[str, ...]
    groups: Parts
    member: NDArray[np.bool_]
    scores: Floats
    held_out: Floats
    chosen: Floats
    effects: Floats
    errors: Floats
    together: NDArray[np.int64]
    units: int
    seconds: float
    partitions: Mapping[str, tuple[int, ...]]
    alike: bool
    epochs: tuple[int, int]
    repeated: tuple[Floats, Floats] | None = None

    def row(self, group: Iterable[str]) -> int | None:
        """Return the row of a group if it was measured."""
        is_member = np.isin(self.tasks, list(group))
        rows = np.flatnonzero((self.member == is_member).all(axis=1))
        return int(rows[0]) if rows.size else None

    @property
    def chosen_for_scores(self) -> list[bool]:
        """For each group that follows, whether it was measured as it is trained: its scores chose it."""
        return [self.alike and self.row(group) is not None for group in self.groups]
