"""The gradient probe (`training.probe`): affinities and conflicts between tasks, measured in training.

Tasks are compared by the gradients of their losses at weights that all share. Each probe has two halves of
documents that it draws itself, and a gradient of one half only meets gradients of the other: on the same
documents, two tasks would also share their noise, and a task could not be compared with itself, which is the
null of conflicts between tasks. The model is in evaluation mode, so no random number is drawn, and training
is the same bit for bit as without a probe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from mtlv.plan.probed import EpochConflicts, ProbeRecord
from mtlv.training.hooks import Hook
from mtlv.training.loop import HeadLosses

if TYPE_CHECKING:
    from mtlv.data.batches import Batch
    from mtlv.training.state import EpochProgress

MIN_LOSS = 1e-8
"""Added to losses by which gradients are divided."""
Halves = tuple["Batch", "Batch"]
Rows = tuple[list[torch.Tensor], torch.Tensor]
"""The gradients of the losses of T tasks, [T, n] for each of the weights, and the losses [T]."""


class Probe(Hook):
    """Base class of a probe, which measures nothing. Its state is saved in the checkpoints of a unit."""

    def take(self) -> dict[str, Any]:
        """Return the state as tensors and plain values."""
        return {}

    def put_back(self, state: Mapping[str, Any]) -> None:
        """Restore the state from `take`."""

    def result(self) -> ProbeRecord | None:
        """Return the means over all probes of training."""
        return None


@dataclass(frozen=True)
class Comparison:
    """Matrices [T, T] of one probe, in fp64 on the CPU; rows receive, columns give.

    Args:
        affinity: g_j · g_i / L_j, for receiver j and giver i.
        cosine: of g_j and g_i.
        conflict: share of negative cosines.
    """

    affinity: torch.Tensor
    cosine: torch.Tensor
    conflict: torch.Tensor


def compare(first: Rows, second: Rows) -> Comparison:
    """Compare the gradients on one half of the documents with those on the other.

    The affinity is the first order of TAG's, g_j · g_i / L_j (Fifty et al., NeurIPS 2021), with gradients of
    different documents as in transfer; the mean over which half receives.
    """
    (gradients, loss), (other_gradients, other_loss) = first, second
    pairs = zip(gradients, other_gradients, strict=True)
    products = (
        torch.stack([one @ two.T for one, two in pairs]).sum(0).double().cpu()
    )  # [T, T], first by second
    lengths = torch.outer(_lengths(gradients), _lengths(other_gradients)).double().cpu()
    cosine = torch.where(lengths > 0, products / lengths, 0.0)
    shares = [
        product / (loss_by_task.double().cpu()[:, None] + MIN_LOSS)
        for product, loss_by_task in ((products, loss), (products.T, other_loss))
    ]
    return Comparison(_mean(*shares), _mean(cosine, cosine.T), _mean(cosine < 0, cosine.T < 0))


def _lengths(rows: list[torch.Tensor]) -> torch.Tensor:
    return torch.stack([row.norm(dim=1) for row in rows]).norm(dim=0)


def _mean(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return (one.double() + other.double()) / 2


class GradientProbe(Probe):
    """Compares the gradients of T tasks after every n-th optimizer step.

    Args:
        losses: the losses of the model's tasks, each a term.
        draw: function of the number of a probe that returns two batches of different documents of each data
            set.
        every: optimizer steps between two probes.
        weights: the weights that all tasks share, whose gradients are compared.
    """

    def __init__(
        self,
        losses: HeadLosses,
        draw: Callable[[int], Iterable[Halves]],
        *,
        every: int,
        weights: Sequence[nn.Parameter],
    ) -> None:
        self.losses, self.draw, self.every, self.weights = losses, draw, every, tuple(weights)
        self.tasks = tuple(task for head in losses.objective.heads for task in head.tasks)
        square = len(self.tasks), len(self.tasks)
        self._state = {
            "probes": torch.zeros(2, dtype=torch.float64),  # odd and even
            "affinities": torch.zeros(2, *square, dtype=torch.float64),
            "cosines": torch.zeros(square, dtype=torch.float64),
            "conflicts": torch.zeros(square, dtype=torch.float64),
            "epochs": torch.zeros(0, 6, dtype=torch.float64),  # sums, in the order of `EpochConflicts`
        }

    def on_step(self, progress: EpochProgress) -> None:
        if progress.step % self.every == 0:
            number = progress.step // self.every
            self._add(self.measure(number), number, progress.epoch)

    def measure(self, number: int) -> Comparison:
        """Compare the gradients on the documents of one probe; changes neither weights nor random numbers."""
        model = self.losses.model
        training = model.training
        model.eval()
        try:
            firsts, seconds = zip(*self.draw(number), strict=True)
            return compare(self._rows(firsts), self._rows(seconds))
        finally:
            model.train(training)

    def _rows(self, batches: Sequence[Batch]) -> Rows:
        """Return the gradients, in fp32, and the losses; no `grad` is written."""
        first = self.weights[0].detach()
        rows = [first.new_empty(len(self.tasks), weight.numel()) for weight in self.weights]
        values = first.new_empty(len(self.tasks))
        for batch in batches:
            terms = self.losses.objective.here(batch.targets)
            losses = self.losses(batch.to(first.device), terms)
            for term, loss in zip(terms, losses, strict=True):
                parts = torch.autograd.grad(loss, self.weights, retain_graph=True, materialize_grads=True)
                for row, part in zip(rows, parts, strict=True):
                    row[term] = part.flatten()
                values[term] = loss.detach()
        return rows, values

    def _add(self, comparison: Comparison, number: int, epoch: int) -> None:
        state, even = self._state, 1 - number % 2
        state["probes"][even] += 1
        state["affinities"][even] += comparison.affinity
        state["cosines"] += comparison.cosine
        state["conflicts"] += comparison.conflict
        if not len(state["epochs"]) or state["epochs"][-1, 0] != epoch:
            state["epochs"] = torch.cat(
                [state["epochs"], state["epochs"].new_tensor([[epoch, 0, 0, 0, 0, 0]])]
            )
        between = ~torch.eye(len(self.tasks), dtype=torch.bool)
        means = [
            mean
            for matrix in (comparison.cosine, comparison.conflict)
            for mean in (matrix[between].mean(), matrix.diagonal().mean())
        ]
        state["epochs"][-1, 1:] += torch.stack([torch.ones(()), *means])

    def take(self) -> dict[str, Any]:
        return {name: values.clone() for name, values in self._state.items()}

    def put_back(self, state: Mapping[str, Any]) -> None:
        self._state = {name: state[name] for name in self._state}

    def result(self) -> ProbeRecord:
        state = self._state
        odd, even = (int(count) for count in state["probes"])
        counts, probes = state["probes"].clamp(min=1), max(odd + even, 1)
        return ProbeRecord(
            tasks=self.tasks,
            probes=(odd, even),
            affinities=(state["affinities"] / counts[:, None, None]).tolist(),
            cosines=(state["cosines"] / probes).tolist(),
            conflicts=(state["conflicts"] / probes).tolist(),
            epochs=[
                EpochConflicts(int(epoch), int(count), *(total / count for total in totals))
                for epoch, count, *totals in state["epochs"].tolist()
            ],
        )
