"""Objective: from the losses of tasks to the scalar that is minimised."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import torch

from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.plan.objectives import Combine
from mtlv.registries import OBJECTIVES
from mtlv.training.balancing import Balancer, Sum
from mtlv.training.teaching import FULL_SHARE, NO_TEACHER, Teaching

Heads = tuple[int, ...]
"""Indices of heads of a model."""
Terms = tuple[int, ...]
"""Indices of terms: the losses that are weighted, of each head, or of each task if tasks are balanced."""
NO_TENSORS: Mapping[str, torch.Tensor] = MappingProxyType({})


def looks_ahead(combine: Combine, balancer: Balancer | type[Balancer]) -> bool:
    """Whether the factors of a step depend on the losses or gradients of the step itself."""
    return combine.by_loss or balancer.gradients


class Objective:
    """Loss of a model on the batches of a step: the mean over a head's tasks, then `combine` over the heads.

    A balancer multiplies the terms of this sum, the heads' or the tasks' losses, by its factors.

    Args:
        heads: the model's heads, K of them.
        tasks: the tasks by name; a task's weight multiplies its loss.
        combine: one of `mtlv.registries.OBJECTIVES`.
        head_weights: None for equal weights, `size` for each head's share of the model's tasks (a
            GMHL with linear heads then has MTL's gradients), or weights by any task of the head.
        together: whether to combine the heads of all sources in a step at once, instead of those of each
            source separately.
        teaching: how much is learned from teachers, if the batches have their outputs.
        balancer: of K heads, or of the tasks of all heads in their order; None for factors of 1.
        per_task: whether the terms are tasks.
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
        balancer: Balancer | None = None,
        per_task: bool = False,
    ) -> None:
        self.heads, self.tasks, self.per_task = tuple(heads), tasks, per_task
        counts = [len(head.tasks) if per_task else 1 for head in heads]
        self.head_of = tuple(number for number, count in enumerate(counts) for _ in range(count))
        self.names = tuple(heads[number].name for number in self.head_of)
        self.balancer = balancer or Sum(len(self.head_of))
        self.combine, self.together = OBJECTIVES[combine], together
        self.weights = torch.tensor(_weights(self.heads, head_weights))
        self.task_weights = {h.name: torch.tensor([tasks[t].weight for t in h.tasks]) for h in heads}
        self.teaching = teaching
        self._places: dict[tuple[int, ...], torch.Tensor] = {}
        self.balanced = torch.empty(0)  # the balancer's factors [K] in the last step; none without a balancer
        self.begin(0)

    def begin(self, step: int) -> None:
        """Prepare for an optimizer step, by its number from 0."""
        self._gold = self.teaching.share(step)
        self.balancer.begin(step)

    def to(self, device: torch.device) -> Objective:
        """Move the weights to `device`."""
        self.weights = self.weights.to(device)
        self.task_weights = {name: weights.to(device) for name, weights in self.task_weights.items()}
        self._places = {}
        self.balancer.to(device)
        return self

    def here(self, targets: Collection[str]) -> Terms:
        """Return the terms of the heads whose tasks have targets in a batch."""
        firsts = [self.heads[number].tasks[0] for number in self.head_of]
        return tuple(term for term, first in enumerate(firsts) if first in targets)

    def losses(
        self,
        model: MultiTaskModel,
        logits: Mapping[str, torch.Tensor],
        targets: Mapping[str, torch.Tensor],
        here: Sequence[int],
        teacher_outputs: Mapping[str, torch.Tensor] = NO_TENSORS,
        added: Mapping[str, torch.Tensor] = NO_TENSORS,
    ) -> torch.Tensor:
        """Return the losses of some terms [here]: means over documents, or over words.

        Args:
            model: the model.
            logits: its logits by head.
            targets: targets by task.
            here: the terms, all those of a head.
            teacher_outputs: raw outputs of teachers by task.
            added: further losses by head, see `mtlv.training.adversarial`.
        """
        heads = self._heads(here)
        by_head = [self._of_tasks(model, number, logits, targets, teacher_outputs, added) for number in heads]
        return torch.cat(by_head) if self.per_task else torch.stack([losses.mean() for losses in by_head])

    def factors(self, losses: torch.Tensor, sources: Mapping[Terms, float]) -> torch.Tensor:
        """Return the factor of each term in a step; the sum of the products is minimised.

        Args:
            losses: [R] losses of the step's terms, by source; arbitrary if `combine` does not use them.
            sources: each source's terms, and its share of the step's batches, which is its weight
                if the draw chooses between sources.
        """
        factors = self._combine_terms(losses, sources)
        if self.balancer.plain:
            return factors
        terms = _join(sources)
        self.balanced = self.balancer.factors(self._of_all(losses, terms))
        return factors * self.balanced[self._on_device(terms, losses.device)]

    @property
    def term_names(self) -> tuple[str, ...]:
        """Names of the terms [K]: tasks or heads."""
        return tuple(t for head in self.heads for t in head.tasks) if self.per_task else self.names

    @property
    def looks_ahead(self) -> bool:
        """Whether factors depend on the losses or gradients of the step itself."""
        return looks_ahead(self.combine, self.balancer)

    def compare(self, gramian: torch.Tensor, losses: torch.Tensor, sources: Mapping[Terms, float]) -> None:
        """Let the balancer find its factors for a step.

        Args:
            gramian: [K, K] products of the gradients of all terms, which are all in the step.
            losses, sources: as for `factors`.
        """
        factors = self._combine_terms(losses, sources)
        self.balancer.compare(gramian * torch.outer(factors, factors))

    def learn(self, losses: torch.Tensor, sources: Collection[Terms]) -> None:
        """Let the balancer learn from the losses [R] of a step's terms, by source."""
        if not self.balancer.plain:
            self.balancer.learn(self._of_all(losses, _join(sources)))

    def _of_all(self, losses: torch.Tensor, terms: Terms) -> torch.Tensor:
        """Return losses [K] of all terms; NaN for those not given."""
        return self._spread(losses, terms, len(self.head_of))

    def _combine_terms(self, losses: torch.Tensor, sources: Mapping[Terms, float]) -> torch.Tensor:
        """Return the factors [R] without a balancer: those of `combine`, shared among the tasks of a head."""
        by_head = {self._heads(terms): share for terms, share in sources.items()}
        factors = self._combine_heads(self._head_losses(losses, sources), by_head)
        if not self.per_task:
            return factors
        spans = self._spans(sources)
        pairs = zip(factors, spans, strict=True)
        return torch.cat([(factor / span).expand(span) for factor, span in pairs])

    def _combine_heads(self, losses: torch.Tensor, sources: Mapping[Heads, float]) -> torch.Tensor:
        """Return the factors [H] of `combine` for a step's heads, from their losses."""
        sizes = [len(heads) for heads in sources]
        weights = torch.cat([self.weights[self._on_device(heads, losses.device)] for heads in sources])
        if self.together:
            return self.combine.factors(losses, weights)
        by_source = zip(losses.split(sizes), weights.split(sizes), sources.values(), strict=True)
        return torch.cat([self.combine.factors(x, weight) * share for x, weight, share in by_source])

    def record(self, losses: torch.Tensor, sources: Collection[Terms]) -> torch.Tensor:
        """Return the losses of all heads from those [R] of a step; NaN for heads that are not in it."""
        heads = self._heads(_join(sources))
        return self._spread(self._head_losses(losses, sources), heads, len(self.heads))

    def _spread(self, losses: torch.Tensor, places: tuple[int, ...], count: int) -> torch.Tensor:
        """Return `count` losses: the known ones at their places, NaN elsewhere."""
        out = losses.new_full((count,), torch.nan)
        out[self._on_device(places, losses.device)] = losses
        return out

    def _head_losses(self, losses: torch.Tensor, sources: Collection[Terms]) -> torch.Tensor:
        """Return the losses [H] of a step's heads from those [R] of its terms."""
        if not self.per_task:
            return losses
        return torch.stack([of_head.mean() for of_head in losses.split(self._spans(sources))])

    def _spans(self, sources: Collection[Terms]) -> list[int]:
        """Return the number of tasks of each head of a step."""
        return [len(self.heads[number].tasks) for number in self._heads(_join(sources))]

    def _heads(self, terms: Sequence[int]) -> Heads:
        """Return the heads of terms."""
        return tuple(dict.fromkeys(self.head_of[term] for term in terms))

    def _on_device(self, places: tuple[int, ...], device: torch.device) -> torch.Tensor:
        """Return indices as a tensor, copied to the device only once, because each copy synchronizes."""
        if places not in self._places:
            self._places[places] = torch.tensor(places, device=device)
        return self._places[places]

    def _of_tasks(
        self,
        model: MultiTaskModel,
        number: int,
        logits: Mapping[str, torch.Tensor],
        targets: Mapping[str, torch.Tensor],
        teacher_outputs: Mapping[str, torch.Tensor],
        added: Mapping[str, torch.Tensor],
    ) -> torch.Tensor:
        """Return the losses [T] of the tasks of a head, with their weights."""
        name, tasks = self.heads[number].name, self.heads[number].tasks
        kind, task_targets = model.kinds[name], [targets[task] for task in tasks]
        per_task = kind.losses(logits[name], task_targets)  # [T]
        if name in added:
            per_task = per_task + added[name]
        if self._gold != FULL_SHARE:
            outputs = [teacher_outputs[task] for task in tasks]
            taught = kind.distillation_losses(
                logits[name], task_targets, teacher_outputs=outputs, temperature=self.teaching.temperature
            )
            per_task = self._gold * per_task + (1 - self._gold) * taught
        return per_task * self.task_weights[name]


def _join(sources: Collection[Terms]) -> Terms:
    return tuple(term for terms in sources for term in terms)


def _weights(heads: Sequence[HeadSpec], task_weights: str | Mapping[str, float] | None) -> list[float]:
    if task_weights is None:
        return [1.0] * len(heads)
    if isinstance(task_weights, str):
        total = sum(len(head.tasks) for head in heads)
        return [len(head.tasks) / total for head in heads]
    return [next((task_weights[task] for task in head.tasks if task in task_weights), 1.0) for head in heads]
