"""Which epochs' weights are kept: the best on validation, of a model as a whole or of each of its tasks."""

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
    """What each epoch came to on validation, and the weights of those that are best for something.

    Args:
        groups: names of tasks that are judged together: all of a model, or each by itself.
        best: whether the best epochs' weights are kept, and not the last one's.
        patience: epochs without a better value after which a group needs no more; None is all epochs.
    """

    groups: tuple[tuple[str, ...], ...]
    best: bool
    patience: int | None
    values: list[list[float]] = field(default_factory=list)  # of each epoch, one per group
    kept: dict[int, Weights] = field(default_factory=dict)  # by epoch, with some that may yet become the best

    @property
    def idle(self) -> bool:
        """Whether nothing depends on validation."""
        return not self.best and self.patience is None

    @property
    def done(self) -> bool:
        """Whether no group got better for as long as patience lasts."""
        if self.patience is None or not self.values:
            return False
        return all(len(self.values) - 1 - first >= self.patience for first in self._firsts)

    @property
    def epoch(self) -> int:
        """The best of the model as a whole: by the mean over its tasks."""
        sizes = [len(group) for group in self.groups]
        return _first_best([float(np.average(values, weights=sizes)) for values in self.values])

    @property
    def epochs(self) -> dict[str, int]:
        """The best epoch by task; where validation says the same of all, the model's."""
        found = dict[str, int]()
        for group, values in zip(self.groups, zip(*self.values, strict=True), strict=True):
            told = max(values) > min(values)
            found |= dict.fromkeys(group, _first_best(values) if told else self.epoch)
        return found

    @property
    def weights(self) -> dict[int, Weights]:
        """Of the best epochs, by epoch."""
        return {epoch: self.kept[epoch] for epoch in sorted({self.epoch, *self.epochs.values()})}

    def add(self, values: Sequence[float], weights: Callable[[], Weights]) -> None:
        """An epoch has ended.

        Args:
            values: on validation, one per group; higher is better.
            weights: gives a copy of the model's.
        """
        self.values.append(list(values))
        if not self.best:
            return
        # Where all epochs are equal so far, a worse one may yet come and make the first the best.
        wanted, now = {self.epoch, *self._firsts}, len(self.values) - 1
        self.kept = {epoch: kept for epoch, kept in self.kept.items() if epoch in wanted}
        if now in wanted:
            self.kept[now] = weights()

    @property
    def _firsts(self) -> list[int]:
        """The first of the best epochs of each group."""
        return [_first_best(values) for values in zip(*self.values, strict=True)]

    def take(self) -> dict[str, Any]:
        """What came of the epochs so far, as tensors and plain values."""
        return {"values": self.values, "kept": self.kept}

    def put_back(self, state: Mapping[str, Any]) -> None:
        """Go on from what `take` gave."""
        self.values = [list(values) for values in state["values"]]
        self.kept = dict(state["kept"])


def _first_best(values: Sequence[float]) -> int:
    """The epoch with the highest value; a tie keeps the earlier."""
    return list(values).index(max(values))
