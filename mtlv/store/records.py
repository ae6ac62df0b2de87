"""Records of trained units: what the store keeps of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from numpy.typing import NDArray

from mtlv.plan import Scores


@dataclass(frozen=True)
class EpochRecord:
    """One epoch of one unit; `timestamp_ms` is kept so that logging again changes nothing.

    `tokens` is 0 in units that were trained before tokens were counted. `factors` are those of a balancer, by
    task or head.
    """

    epoch: int
    loss: float
    heads: dict[str, float]
    learning_rate: float
    seconds: float
    documents: int
    timestamp_ms: int
    tokens: int = 0
    factors: dict[str, float] = field(default_factory=dict)

    def task_losses(self, tasks: Mapping[str, Sequence[str]]) -> list[float]:
        """Return for each task the loss of its head, given the tasks of each head.

        Their mean does not depend on the number of heads, unlike `loss`, which is by default their sum.
        """
        return [loss for head, loss in self.heads.items() for _ in tasks[head]] or [self.loss]


@dataclass(frozen=True)
class UnitRecord:
    """A finished unit."""

    key: str
    epochs: tuple[EpochRecord, ...]
    chosen_epoch: int  # whose weights are kept as the best for the whole model; later stages start from it
    chosen_epochs: Mapping[str, int]  # by task, the epoch whose weights were kept and tested
    train_seconds: float
    total_seconds: float  # seconds including validation and test
    parameters: int  # number of trained weights
    peak_memory_mb: float  # of the unit on CUDA, or of the process on CPU
    device: str
    validation: Scores = field(repr=False)  # of the kept weights
    test: Scores = field(repr=False)
    curve: tuple[Mapping[str, NDArray], ...] = field(repr=False)  # validation outputs by task, per epoch
    # by task, see `mtlv.units.teacher_outputs.entropies`; empty without a teacher, and in older units
    teacher_entropy: Mapping[str, float] = field(default_factory=dict)
    stack: int = 1  # number of units that it was trained with, itself included; they shared its seconds

    @property
    def documents(self) -> int:
        return sum(epoch.documents for epoch in self.epochs)

    def epoch_at(self, epoch: int) -> EpochRecord:
        """Return the record of `epoch`, or of the last epoch if the unit had stopped before."""
        return self.epochs[min(epoch, len(self.epochs) - 1)]

    def validation_at(self, epoch: int) -> Scores:
        """Return the validation scores after `epoch`, or after the last one if it had stopped before."""
        return self.validation.with_outputs(self.curve[min(epoch, len(self.curve) - 1)])
