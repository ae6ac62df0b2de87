"""Selection of the epochs whose weights are kept: the best of a model, or of each of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

    Weights = Mapping[str, torch.Tensor]


@dataclass
class EpochSelection:
    """Validation values of each epoch, and the weights of the best epochs.

    Args:
        groups: names of tasks that share a best epoch: all of a model, or each separately.
        best: whether to keep the weights of the best epochs instead of the last one.
        patience: epochs without improvement after which a group is finished; None trains all epochs.
    """

    groups: tuple[tuple[str, ...], ...]
    best: bool
    patience: int | None
    values: list[list[float]] = field(default_factory=list)  # of each epoch, one per group
    kept: dict[int, Weights] = field(default_factory=dict)  # by epoch; some may still become the best

    @property
    def idle(self) -> bool:
        """Whether nothing depends on validation."""
        return not self.best and self.patience is None

    @property
    def done(self) -> bool:
        """Whether no group has improved for `patience` epochs."""
        if self.patience is None or not self.values:
            return False
        return all(len(self.values) - 1 - first >= self.patience for first in self._firsts)

    @property
    def epoch(self) -> int:
        """The best epoch of the model as a whole, by the mean over its tasks."""
        sizes = [len(group) for group in self.groups]
        return _first_best([float(np.average(values, weights=sizes)) for values in self.values])

    @property
    def epochs(self) -> dict[str, int]:
        """The best epoch by task; if all epochs are equal for a task, that of the model."""
        epochs = dict[str, int]()
        for group, values in zip(self.groups, zip(*self.values, strict=True), strict=True):
            differ = max(values) > min(values)
            epochs |= dict.fromkeys(group, _first_best(values) if differ else self.epoch)
        return epochs

    @property
    def weights(self) -> dict[int, Weights]:
        """Weights of the best epochs, by epoch."""
        return {epoch: self.kept[epoch] for epoch in sorted({self.epoch, *self.epochs.values()})}

    def add(self, values: Sequence[float], weights: Callable[[], Weights]) -> None:
        """Add an epoch.

        Args:
            values: validation values, one per group; higher is better.
            weights: returns a copy of the model's weights.
        """
        self.values.append(list(values))
        if not self.best:
            return
        # If all epochs are equal so far, a later worse one would make the first the best.
        best_epochs, epoch = {self.epoch, *self._firsts}, len(self.values) - 1
        self.kept = {number: kept for number, kept in self.kept.items() if number in best_epochs}
        if epoch in best_epochs:
            self.kept[epoch] = weights()

    @property
    def _firsts(self) -> list[int]:
        """The first of the best epochs of each group."""
        return [_first_best(values) for values in zip(*self.values, strict=True)]

    def take(self) -> dict[str, Any]:
        """Return the state as tensors and plain values, which later epochs do not change."""
        return {"values": [list(values) for values in self.values], "kept": dict(self.kept)}

    def put_back(self, state: Mapping[str, Any]) -> None:
        """Restore the state from `take`."""
        self.values = [list(values) for values in state["values"]]
        self.kept = dict(state["kept"])


def _first_best(values: Sequence[float]) -> int:
    """Return the epoch with the highest value, on ties the earliest."""
    return list(values).index(max(values))
