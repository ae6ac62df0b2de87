"""Objective: from the losses of tasks to the scalar that is minimised."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import torch

from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.registries import OBJECTIVES
from mtlv.training.teaching import ALL, NO_TEACHER, Teaching

Heads = tuple[int, ...]
"""Indices of heads of a model."""
NO_LESSONS: Mapping[str, torch.Tensor] = MappingProxyType({})


class Objective:
    """Loss of a model on the batches of a step: the mean over a head's tasks, then `combine` over the heads.

    Args:
        heads: the model's heads, K of them.
        tasks: the tasks by name; a task's weight multiplies its loss.
        combine: one of `mtlv.registries.OBJECTIVES`.
        head_weights: None for equal weights, `size` for each head's share of the model's tasks (a
            GMHL with linear heads then has MTL's gradients), or weights by any task of the head.
        together: whether to combine the heads of all sources in a step at once, instead of those of each
            source separately.
        teaching: how much is learned from teachers, if the batches have their lessons.
    """

    def __init__(
        self,
        heads: Sequence[HeadSpec],
        *,
        tasks: Mapping[str, Task],
        combine: str,
        head_weights: str | Mapping[str, float] | None,
        together: bool = False,
        teaching: Teaching = NO_TEACHER,
    ) -> None:
        self.heads = tuple(heads)
        self.names = tuple(head.name for head in heads)
        self.combine, self.together = OBJECTIVES[combine], together
        self.weights = torch.tensor(_weights(self.heads, head_weights))
        self.task_weights = {h.name: torch.tensor([tasks[t].weight for t in h.tasks]) for h in heads}
        self.teaching = teaching
        self._places: dict[Heads, torch.Tensor] = {}
        self.begin(0)

    def begin(self, step: int) -> None:
        """Prepare for an optimizer step, by its number from 0."""
        self._gold = self.teaching.share(step)

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
        """Return the scalar to minimise on one batch, and each head's own loss [K] for the record.

        Heads without logits, whose tasks are not in the batch's source, are ignored; their loss is NaN.
        """
        here = self.here(targets)
        losses = self.losses(model, logits, targets, here)
        found = losses.detach()
        return (self.factors(found, {here: 1.0}) * losses).sum(), self.record(found, [here])

    def here(self, targets: Collection[str]) -> Heads:
        """Return the indices of the heads whose tasks have targets in a batch."""
        return tuple(number for number, head in enumerate(self.heads) if head.tasks[0] in targets)

    def losses(
        self,
        model: MultiTaskModel,
        logits: Mapping[str, torch.Tensor],
        targets: Mapping[str, torch.Tensor],
        here: Sequence[int],
        lessons: Mapping[str, torch.Tensor] = NO_LESSONS,
    ) -> torch.Tensor:
        """Return the loss of each of some heads [here]: means over documents, or over words.

        Args:
            model: the model.
            logits: its logits by head.
            targets: targets by task.
            here: indices of the heads.
            lessons: raw outputs of teachers by task.
        """
        return torch.stack([self._loss(model, number, logits, targets, lessons) for number in here])

    def factors(self, losses: torch.Tensor, sources: Mapping[Heads, float]) -> torch.Tensor:
        """Return the factor of each head's loss in a step; the sum of the products is minimised.

        Args:
            losses: [H] losses of the step's heads, by source; arbitrary if `combine` does not use them.
            sources: each source's heads, and its share of the step's batches, which is its weight
                if the draw chooses between sources.
        """
        sizes = [len(heads) for heads in sources]
        weights = torch.cat([self.weights[self._on_device(heads, losses.device)] for heads in sources])
        if self.together:
            return self.combine.factors(losses, weights)
        each = zip(losses.split(sizes), weights.split(sizes), sources.values(), strict=True)
        return torch.cat([self.combine.factors(own, held) * share for own, held, share in each])

    def record(self, losses: torch.Tensor, sources: Collection[Heads]) -> torch.Tensor:
        """Return losses [K] of all heads, from those [H] of some sources; NaN for the others."""
        out = losses.new_full((len(self.heads),), torch.nan)
        for heads, own in zip(sources, losses.split([len(heads) for heads in sources]), strict=True):
            out[self._on_device(heads, losses.device)] = own
        return out

    def _on_device(self, heads: Heads, device: torch.device) -> torch.Tensor:
        """Return head indices as a tensor, copied to the device only once, because each copy synchronizes."""
        if heads not in self._places:
            self._places[heads] = torch.tensor(heads, device=device)
        return self._places[heads]

    def _loss(
        self,
        model: MultiTaskModel,
        number: int,
        logits: Mapping[str, torch.Tensor],
        targets: Mapping[str, torch.Tensor],
        lessons: Mapping[str, torch.Tensor],
    ) -> torch.Tensor:
        name, tasks = self.names[number], self.heads[number].tasks
        kind, wanted = model.kinds[name], [targets[task] for task in tasks]
        per_task = kind.losses(logits[name], wanted)  # [T]
        if self._gold != ALL:
            given = [lessons[task] for task in tasks]
            taught = kind.taught(logits[name], wanted, lessons=given, temperature=self.teaching.temperature)
            per_task = self._gold * per_task + (1 - self._gold) * taught
        return (per_task * self.task_weights[name]).mean()


def _weights(heads: Sequence[HeadSpec], given: str | Mapping[str, float] | None) -> list[float]:
    if given is None:
        return [1.0] * len(heads)
    if isinstance(given, str):
        total = sum(len(head.tasks) for head in heads)
        return [len(head.tasks) / total for head in heads]
    return [next((given[task] for task in head.tasks if task in given), 1.0) for head in heads]
