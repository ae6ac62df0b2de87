"""Steps of several models taken together: their encoders are computed as one, everything else by each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from mtlv.data.batches import Batch
from mtlv.models.base import token_types
from mtlv.models.fast.stacked import StackedEncoder, outputs_of, stacks
from mtlv.training.loop import DueStep, Step, StepValues, autocast


class TogetherSteps:
    """Takes steps of K models whose encoders have one structure; see `mtlv.models.fast.stacked.stacks`.

    Losses and weights are those of each model alone, up to rounding and the masks of dropout.

    Args:
        steps: the steps of the models, with one batch each, and without balancers that look ahead.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = tuple(steps)
        self._encoder = StackedEncoder([step.trained.model.encoder for step in steps])
        self._encoder.keep()
        self._optimizer: JointAdamW | None = None
        optimizers = [step.trained.optimizer for step in steps]
        self._can_update = all(
            type(one) is torch.optim.AdamW and not one.defaults["amsgrad"] for one in optimizers
        )

    @staticmethod
    def suit(step: Step) -> bool:
        """Whether steps of models with the encoder of this one can be taken together."""
        return stacks(step.trained.model.encoder)

    def take(self, due: Sequence[DueStep]) -> None:
        """Take the steps that are due, one of each model in their order."""
        values = self._gradients(due)
        updated = self._update_at_once([one.progress.step for one in due])
        for one, its_values in zip(due, values, strict=True):
            one.step.end(one.batches, one.progress, its_values, updated=updated)
            one.is_taken = True

    def _update_at_once(self, numbers: Sequence[int]) -> bool:
        """Change the weights of all models at once, if they have the same rates; return whether they have.

        Otherwise, the gradients of the stack are given to the models.
        """
        rates = {_rates(step) for step in self.steps}
        if self._optimizer is None and len(rates) == 1 and len(set(numbers)) == 1 and self._can_update:
            self._optimizer = JointAdamW(self.steps, self._encoder)
        if self._optimizer is not None and len(rates) == 1:
            self._optimizer.step()
            return True
        self.release()
        self._encoder.share_gradients()
        return False

    def release(self) -> None:
        """Let each model change its weights by its own optimizer from now on."""
        self._can_update = False
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
    """AdamW of K models with the same rates and number of steps, over the weights of their stack.

    The states of the models' optimizers are parts of its own, so that each can be saved.
    """

    def __init__(self, steps: Sequence[Step], encoder: StackedEncoder) -> None:
        self._optimizers = [step.trained.optimizer for step in steps]
        self._clip_norm = steps[0].clip_norm
        self._stacks = [weight for weight, _ in encoder.kept() if weight.requires_grad]
        parts = {one: weight for weight, ones in encoder.kept() for one in ones}
        self._others = [
            [weight for group in optimizer.param_groups for weight in group["params"] if weight not in parts]
            for optimizer in self._optimizers
        ]
        groups = []
        for of_models in zip(*(optimizer.param_groups for optimizer in self._optimizers), strict=True):
            weights = [parts.get(weight, weight) for group in of_models for weight in group["params"]]
            groups.append({**of_models[0], "params": list(dict.fromkeys(weights))})
        self._joint = torch.optim.AdamW(groups, fused=True)
        for stack, ones in encoder.kept():
            if stack.requires_grad:
                self._join_states(stack, ones)
        for optimizer, others in zip(self._optimizers, self._others, strict=True):
            for weight in others:
                self._joint.state[weight] = optimizer.state[weight]  # the same, now and later

    def _join_states(self, stack: nn.Parameter, ones: Sequence[nn.Parameter]) -> None:
        """Move the states of some weights into one state, of which they become parts."""
        states = [optimizer.state[one] for optimizer, one in zip(self._optimizers, ones, strict=True)]
        joint = self._joint.state[stack]
        joint["step"] = states[0]["step"].clone() if states[0] else torch.zeros((), device=stack.device)
        for name in ("exp_avg", "exp_avg_sq"):
            before = [state.get(name, torch.zeros_like(one)) for state, one in zip(states, ones, strict=True)]
            joint[name] = torch.stack([moment.detach() for moment in before])
            for state, moment in zip(states, joint[name], strict=True):
                state[name] = moment
        for state in states:
            state["step"] = joint["step"]

    def step(self) -> None:
        """Clip the gradient of each model, and change the weights."""
        if self._clip_norm is not None:
            self._clip(self._clip_norm)
        for group, of_model in zip(self._joint.param_groups, self._optimizers[0].param_groups, strict=True):
            group["lr"] = of_model["lr"]
        self._joint.step()
        self._joint.zero_grad(set_to_none=True)
        for optimizer in self._optimizers:
            optimizer._opt_called = True  # type: ignore[attr-defined]  # its schedule would warn

    def _clip(self, norm: float) -> None:
        """Scale the gradient of each model down to a norm if it is longer, as `clip_grad_norm_`."""
        stacks = [stack.grad for stack in self._stacks if stack.grad is not None]
        others = [[w.grad for w in weights if w.grad is not None] for weights in self._others]
        squares = torch.stack([stack.flatten(1).norm(dim=1) for stack in stacks]).square().sum(0)
        of_others = [torch.stack(torch._foreach_norm(gradients)).square().sum() for gradients in others]
        factors = (norm / ((squares + torch.stack(of_others)).sqrt() + 1e-6)).clamp(max=1)  # [K]
        for stack in stacks:
            stack.mul_(factors.view(-1, *[1] * (stack.ndim - 1)))
        for gradients, factor in zip(others, factors, strict=True):
            torch._foreach_mul_(gradients, factor)

    def release(self) -> None:
        """Let the optimizers of the models count their own steps."""
        for optimizer in self._optimizers:
            for state in optimizer.state.values():
                state["step"] = state["step"].clone()


def _rates(step: Step) -> tuple[float | str | None, ...]:
    """Return what models must have in common for one optimizer."""
    optimizer = step.trained.optimizer
    rates = (group[name] for group in optimizer.param_groups for name in ("lr", "weight_decay"))
    return (step.clip_norm, str(optimizer.defaults), *rates)


def _pad(values: torch.Tensor, count: int, length: int) -> torch.Tensor:
    """Return [count, length] with values [B, L] and zeros."""
    return functional.pad(values, (0, length - values.shape[1], 0, count - len(values)))


def _cut(output: Any, batch: Batch) -> Any:
    """Return an encoder's output for the documents and tokens of its batch, without what was added."""
    documents, length = batch.input_ids.shape
    parts = {name: values[:documents] for name, values in output.items()}
    parts["last_hidden_state"] = parts["last_hidden_state"][:, :length]
    return type(output)(**parts)
