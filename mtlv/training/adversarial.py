"""Adversarial masked language modelling: predictions that small changes of word embeddings do not change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional

from mtlv.models.multitask import MultiTaskModel
from mtlv.training.state import put_back_random, random_state

STEP = 1e-3  # largest coordinate of the perturbation of a token
NOISE = 1e-5  # standard deviation of the perturbation at which the gradient is taken
Logits = Mapping[str, torch.Tensor]
"""Logits by head."""


def adversarial_losses(
    model: MultiTaskModel, compute: Callable[[], Logits]
) -> tuple[Logits, dict[str, torch.Tensor]]:
    """Return the logits of a batch, and what is added to the loss of each head by `Kind.adversarial`.

    For word embeddings x [B, L, H], predictions f(x) for the masked pieces, and a weight α, it is

        α (KL(f(x) || f(x + δ)) + KL(f(x + δ) || f(x))),   δ = STEP g / ‖g‖∞ for each token,
        g = ∇ KL(f(x) || f(x + δ₀)) at δ₀ ~ N(0, NOISE²),

    as means over the pieces. The first argument of each KL and δ are constants. Padding has no gradient, so
    no perturbation. Dropout has the same masks in all three passes.

    Source: ALUM (Liu et al. 2020, arXiv:2004.08994), with one step. δ, STEP and NOISE are those of its code
    for fine-tuning (`mt_dnn/perturbation.py`). Its code differs in two ways: each pass has its own masks, so
    the divergence is mostly that of dropout; and for pretraining (`alum/adv_masked_lm.py`) x + STEP g,
    instead of g, is divided by its largest coordinate, which makes x itself larger.

    Args:
        model: the model, in training.
        compute: computes the logits of a batch.
    """
    if not model.is_perturbed:
        return compute(), {}
    embeddings = model.encoder.get_input_embeddings()
    device, delta, states = embeddings.weight.device, list[torch.Tensor](), list[dict[str, torch.Tensor]]()

    def add(_: Any, __: Any, vectors: torch.Tensor) -> torch.Tensor:
        if not torch.is_grad_enabled():  # the encoder is tried, see `packs`
            return vectors
        if not delta:
            delta.append((NOISE * torch.randn_like(vectors)).requires_grad_())
            states.append(random_state(device))
            return vectors
        put_back_random(states[0], device)
        return vectors + delta[0]

    handle = embeddings.register_forward_hook(add)
    try:
        with torch.enable_grad():
            clean = compute()
            names = [name for name in clean if model.kinds[name].adversarial]
            if not names:
                return clean, {}
            first = compute()
            divergence = torch.stack([_divergence(first[name], clean[name]) for name in names]).sum()
            (gradient,) = torch.autograd.grad(divergence, delta)
            largest = gradient.abs().amax(-1, keepdim=True)
            delta[0] = STEP * gradient / largest.clamp(min=torch.finfo(largest.dtype).tiny)
            other = compute()
    finally:
        handle.remove()
    both = {
        name: _divergence(other[name], clean[name]) + _divergence(clean[name], other[name]) for name in names
    }
    return clean, {name: model.kinds[name].adversarial * both[name] for name in names}


def _divergence(logits: torch.Tensor, constant: torch.Tensor) -> torch.Tensor:
    """Return KL(constant || logits), the mean over n predictions [n, C]."""
    target, predicted = (functional.log_softmax(one.float(), -1) for one in (constant.detach(), logits))
    return functional.kl_div(predicted, target, reduction="sum", log_target=True) / max(len(logits), 1)
