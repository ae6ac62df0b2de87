"""From task losses to the one number that is minimised."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import torch

from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task

Combine = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""(head losses [K], head weights [K]) -> scalar."""


def _loss_proportional(losses: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
    # The shares are constants: a gradient through them would push easy heads up.
    return (losses * (losses / losses.mean()).detach()).sum()


COMBINE: dict[str, Combine] = {
    "sum": lambda losses, _: losses.sum(),
    "mean": lambda losses, _: losses.mean(),
    "weighted_sum": lambda losses, weights: (weights * losses).sum(),
    "weighted_mean": lambda losses, weights: (weights * losses).sum() / weights.sum(),
    "loss_proportional": _loss_proportional,
}


class Objective:
    """Loss of a model on a batch: the mean over a head's tasks, then `combine` over the heads.

    Args:
        heads: the model's heads, K of them.
        tasks: the tasks by name; a task's weight multiplies its loss.
        combine: one of `COMBINE`.
        head_weights: None for equal weights, `size` for each head's share of the model's tasks (a
            GMHL with linear heads then has MTL's gradients), or weights by any task of the head.
    """

    def __init__(
        self,
        heads: Sequence[HeadSpec],
        *,
        tasks: Mapping[str, Task],
        combine: str,
        head_weights: str | Mapping[str, float] | None,
    ) -> None:
        self.heads = tuple(heads)
        self.names = tuple(head.name for head in heads)
        self.combine = COMBINE[combine]
        self.weights = torch.tensor(_weights(self.heads, head_weights))
        self.task_weights = {h.name: torch.tensor([tasks[t].weight for t in h.tasks]) for h in heads}
        self._places: dict[tuple[int, ...], torch.Tensor] = {}

    def to(self, device: torch.device) -> Objective:
        """Move the weights to `device`."""
        self.weights = self.weights.to(device)
        self.task_weights = {name: weights.to(device) for name, weights in self.task_weights.items()}
        self._places = {}
        return self

    def __call__(
        self,
        model: MultiTaskModel,
        logits: Mapping[str, torch.Tensor],
        targets: Mapping[str, torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The scalar to minimise, and each head's own loss [K] for the record.

        Heads without logits, whose tasks the batch's source does not have, count nowhere; their loss is NaN.
        """
        here = [number for number, name in enumerate(self.names) if name in logits]
        return self.combined(self.losses(model, logits, targets, here), here)

    def here(self, targets: Collection[str]) -> list[int]:
        """Numbers of the heads whose tasks have targets in a batch."""
        return [number for number, head in enumerate(self.heads) if head.tasks[0] in targets]

    def losses(
        self,
        model: MultiTaskModel,
        logits: Mapping[str, torch.Tensor],
        targets: Mapping[str, torch.Tensor],
        here: Sequence[int],
    ) -> torch.Tensor:
        """The loss of each of some heads [here]: means over documents, or over words."""
        return torch.stack([self._loss(model, number, logits, targets) for number in here])

    def combined(self, losses: torch.Tensor, here: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """As the whole, from the losses of some heads [here]."""
        if len(here) == len(self.heads):
            return self.combine(losses, self.weights), losses.detach()
        places = self._on_device(tuple(here), losses.device)
        record = losses.new_full((len(self.heads),), torch.nan).index_copy(0, places, losses.detach())
        return self.combine(losses, self.weights[places]), record

    def _on_device(self, here: tuple[int, ...], device: torch.device) -> torch.Tensor:
        """Numbers of heads as an index that is copied to the device once: each copy is waited for."""
        if here not in self._places:
            self._places[here] = torch.tensor(here, device=device)
        return self._places[here]

    def _loss(
        self,
        model: MultiTaskModel,
        number: int,
        logits: Mapping[str, torch.Tensor],
        targets: Mapping[str, torch.Tensor],
    ) -> torch.Tensor:
        name, wanted = self.names[number], [targets[task] for task in self.heads[number].tasks]
        per_task = model.kinds[name].losses(logits[name], wanted)  # [T]
        return (per_task * self.task_weights[name]).mean()


def _weights(heads: Sequence[HeadSpec], given: str | Mapping[str, float] | None) -> list[float]:
    if given is None:
        return [1.0] * len(heads)
    if isinstance(given, str):
        total = sum(len(head.tasks) for head in heads)
        return [len(head.tasks) / total for head in heads]
    return [next((given[task] for task in head.tasks if task in given), 1.0) for head in heads]
