"""Steps of several models taken together: their encoders are computed as one, everything else by each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.optim.adamw import adamw

from mtlv.data.batches import Batch
from mtlv.models.base import token_types
from mtlv.models.fast.stacked import StackedEncoder, outputs_of, stacks
from mtlv.models.layers import lowest
from mtlv.training.loop import DueStep, Step, StepValues, autocast

# Its class, betas, epsilon, and neither `amsgrad` nor `maximize`.
PLAIN_ADAMW = (torch.optim.AdamW, (0.9, 0.999), 1e-8, False, False)

BYTES_PER_WEIGHT = 20  # of a weight, its gradient, AdamW's two moments, and the best epoch's weight
BYTES_PER_FROZEN_WEIGHT = 8  # of a weight, until the stack shares it, and the best epoch's


class TogetherSteps:
    """Takes steps of K models whose encoders have one structure; see `mtlv.models.fast.stacked.stacks`.

    Losses and weights are those of each model alone, up to rounding and the masks of dropout.

    Args:
        steps: the steps of the models, with one batch each, and without balancers that look ahead.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = tuple(steps)
        self._encoder = StackedEncoder([step.trained.model.reader for step in steps])
        self._encoder.keep()
        self._optimizer: JointAdamW | None = None
        if {_formula(step.trained.optimizer) for step in steps} == {PLAIN_ADAMW}:
            self._optimizer = JointAdamW(steps, self._encoder)

    @staticmethod
    def suit(step: Step) -> bool:
        """Whether steps of models with the encoder of this one can be taken together."""
        return stacks(step.trained.model.encoder)

    def take(self, due: Sequence[DueStep]) -> None:
        """Take the steps that are due, one of each model in their order."""
        values = self._gradients(due)
        if self._optimizer is None:
            self._encoder.share_gradients()
        else:
            self._optimizer.step()
        for one, its_values in zip(due, values, strict=True):
            one.step.end(one.batches, one.progress, its_values, updated=self._optimizer is not None)
            one.is_taken = True

    def release(self) -> None:
        """Let each model change its weights by its own optimizer from now on."""
        if self._optimizer is not None:
            self._optimizer.release()
            self._optimizer = None

    def _gradients(self, due: Sequence[DueStep]) -> list[StepValues]:
        """Compute the gradients of all models, and return the values of their steps."""
        for one in due:
            one.step.objective.begin(one.progress.step)
        divided = [one.step.divide(one.batches, 1) for one in due]
        batches = [step.parts[0].batch.to(self._device) for step in divided]
        values: list[StepValues] = []
        weighted: list[torch.Tensor] = []
        for one, step, batch, output in zip(due, divided, batches, self._encode(batches), strict=True):
            model, objective = one.step.trained.model, one.step.objective
            model.encoded = output
            try:
                losses = one.step.losses(batch, step.parts[0].terms)
            finally:
                model.encoded = None
            factors = objective.factors(losses.detach(), step.sources)
            weighted.append((factors * losses).sum())
            values.append(one.step.learn(step, factors, losses.detach()))
        torch.stack(weighted).sum().backward()
        return values

    @property
    def _device(self) -> torch.device:
        return self.steps[0].trained.device

    def _encode(self, batches: Sequence[Batch]) -> list[Any]:
        """Return the encoders' outputs for a batch of each, all padded to one shape."""
        count, length = (max(batch.input_ids.shape[side] for batch in batches) for side in (0, 1))
        mask = torch.cat([_pad(batch.attention_mask, count, length) for batch in batches])
        mask[:, 0] = True  # also of documents that are added: attention needs a token
        texts = [_pad(batch.segments, count, length) for batch in batches if batch.segments is not None]
        others = token_types(self.steps[0].trained.model.encoder, torch.cat(texts) if texts else None)
        with autocast(self._device, self.steps[0].losses.precision):
            ids = torch.cat([_pad(batch.input_ids, count, length) for batch in batches])
            output = self._encoder(ids, mask, self._row(batches, mask), **others)
        outputs = outputs_of(output, len(batches))
        return [_cut(one, batch) for one, batch in zip(outputs, batches, strict=True)]

    def _row(self, batches: Sequence[Batch], mask: torch.Tensor) -> int | None:
        """Return the length of the rows in which a GPU computes batches without padding, if it does."""
        if self._device.type == "cpu":
            return None
        documents = len(mask) // len(batches)
        tokens = max(batch.tokens + documents - len(batch.input_ids) for batch in batches)
        return self.steps[0].trained.model.row(mask[:documents], tokens)


class JointAdamW:
    """AdamW of K models over the weights of their stack, with the rates and the number of steps of each.

    As `torch.optim.AdamW` (Loshchilov and Hutter, ICLR 2019): for a weight w of model k in its step t, with
    gradient g, rate r, decay d and

        m = β1 m + (1 - β1) g,    v = β2 v + (1 - β2) g²,
        w = (1 - r d) w - r / (1 - β1^t) m / (√(v / (1 - β2^t)) + ε).

    m, v and t are parts of the states of the models' optimizers, so that each can be saved. These change the
    other weights, such as those of heads.
    """

    def __init__(self, steps: Sequence[Step], encoder: StackedEncoder) -> None:
        self._optimizers = [step.trained.optimizer for step in steps]
        clip_norms = [math.inf if step.clip_norm is None else step.clip_norm for step in steps]
        states = [[{"step": 0}, *optimizer.state.values()] for optimizer in self._optimizers]
        counts = [max(float(state.get("step", 0)) for state in of_model) for of_model in states]
        device = steps[0].trained.device
        self._clip_norms, self._counts = torch.tensor([clip_norms, counts], device=device)  # [K] each
        self._clips, self._has_equal_counts = min(clip_norms) < math.inf, len(set(counts)) == 1
        places = [
            {weight: place for place, group in enumerate(one.param_groups) for weight in group["params"]}
            for one in self._optimizers
        ]
        self._moments: dict[nn.Parameter, tuple[torch.Tensor, torch.Tensor]] = {}
        self._blocks: dict[tuple[int, ...], list[nn.Parameter]] = {}  # by the place of each model's group
        for stack, ones in encoder.kept():
            if stack.requires_grad:
                self._moments[stack] = self._join("exp_avg", ones), self._join("exp_avg_sq", ones)
                of_models = tuple(its.pop(one) for its, one in zip(places, ones, strict=True))
                self._blocks.setdefault(of_models, []).append(stack)
        self._others = [list(its) for its in places]

    def _join(self, name: str, ones: Sequence[nn.Parameter]) -> torch.Tensor:
        """Move a moment of some weights into one tensor [K, ...], of which theirs become parts."""
        states = [optimizer.state[one] for optimizer, one in zip(self._optimizers, ones, strict=True)]
        moments = [state.get(name, torch.zeros_like(one)) for state, one in zip(states, ones, strict=True)]
        joint = torch.stack([moment.detach() for moment in moments])
        for state, moment, count in zip(states, joint, self._counts, strict=True):
            state |= {name: moment, "step": count}
        return joint

    @torch.no_grad()
    def step(self) -> None:
        """Clip the gradient of each model, and change the weights."""
        if self._clips:
            self._clip([stack.grad for stack in self._moments if stack.grad is not None])
        self._counts += 1
        for places, weights in self._blocks.items():
            groups = [one.param_groups[place] for one, place in zip(self._optimizers, places, strict=True)]
            if ready := [weight for weight in weights if weight.grad is not None]:
                self._update(ready, groups)
        for stack in self._moments:
            stack.grad = None
        for optimizer in self._optimizers:
            optimizer.step()

    def _update(self, weights: list[Any], groups: Sequence[Mapping[str, Any]]) -> None:
        """Change weights [K, ...] by the rates of a group of each model."""
        gradients = [weight.grad for weight in weights]
        moments, squares = ([self._moments[weight][number] for weight in weights] for number in (0, 1))
        (beta1, beta2), eps = groups[0]["betas"], groups[0]["eps"]
        rates = [(group["lr"], group["weight_decay"]) for group in groups]
        if self._has_equal_counts and len(set(rates)) == 1:  # one kernel, which reads everything once
            before = list((self._counts[0] - 1).repeat(len(gradients)))
            options = dict(zip(("lr", "weight_decay"), rates[0], strict=True), amsgrad=False, maximize=False)
            options |= {"beta1": beta1, "beta2": beta2, "eps": eps, "fused": True}
            adamw(weights, gradients, moments, squares, [], before, **options)
            return
        torch._foreach_lerp_(moments, gradients, 1 - beta1)
        torch._foreach_mul_(squares, beta2)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - beta2)
        counts = self._counts.double()
        rate, decay = counts.new_tensor(rates).T
        factors = torch.stack(
            [1 - rate * decay, rate / (1 - beta1**counts), (1 - beta2**counts).sqrt()]
        ).float()
        for weight, moment, square in zip(weights, moments, squares, strict=True):
            left, size, root = factors.view(3, -1, *[1] * (weight.ndim - 1))
            weight.mul_(left).addcdiv_(size * moment, square.sqrt().div_(root).add_(eps), value=-1)

    def _clip(self, gradients: Sequence[torch.Tensor]) -> None:
        """Scale the gradient of each model down to its norm if it is longer, as `clip_grad_norm_`."""
        others = [[w.grad for w in weights if w.grad is not None] for weights in self._others]
        of_others = torch.stack([torch.stack(torch._foreach_norm(its)).norm() for its in others])
        norms = torch.stack([of_others, *(one.flatten(1).norm(dim=1) for one in gradients)]).norm(dim=0)
        factors = (self._clip_norms / (norms + 1e-6)).clamp(max=1)  # [K]
        for gradient in gradients:
            gradient.mul_(factors.view(-1, *[1] * (gradient.ndim - 1)))
        for its, factor in zip(others, factors, strict=True):
            torch._foreach_mul_(its, factor)

    def release(self) -> None:
        """Let the optimizers of the models count their own steps."""
        for optimizer in self._optimizers:
            for state in optimizer.state.values():
                state["step"] = state["step"].clone()


def _formula(optimizer: torch.optim.Optimizer) -> tuple[Any, ...]:
    """Return what the update of an optimizer depends on beside its rates."""
    return (type(optimizer), *map(optimizer.defaults.get, ("betas", "eps", "amsgrad", "maximize")))


def _pad(values: torch.Tensor, count: int, length: int) -> torch.Tensor:
    """Return [count, length] with values [B, L] and zeros."""
    return functional.pad(values, (0, length - values.shape[1], 0, count - len(values)))


def _cut(output: Any, batch: Batch) -> Any:
    """Return an encoder's output for the documents and tokens of its batch, without what was added."""
    documents, length = batch.input_ids.shape
    parts = {name: values[:documents] for name, values in output.items()}
    parts["last_hidden_state"] = parts["last_hidden_state"][:, :length]
    return type(output)(**parts)


def bytes_of_model(encoder: nn.Module, frozen_layers: int, *, has_adapters: bool) -> int:
    """Return the memory of a model in a stack, without the values of a step; heads and adapters are small."""
    parts = lowest(encoder, frozen_layers) if frozen_layers else ()
    frozen = {weight for part in ((encoder,) if has_adapters else parts) for weight in part.parameters()}
    return sum(
        weight.numel() * (BYTES_PER_FROZEN_WEIGHT if weight in frozen else BYTES_PER_WEIGHT)
        for weight in encoder.parameters()
    )
