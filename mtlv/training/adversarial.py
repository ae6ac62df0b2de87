"""Adversarial masked language modelling: predictions that small changes of word embeddings do not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from mtlv.models.multitask import MultiTaskModel
from mtlv.training.state import put_back_random, random_state

STEP = 1e-3  # largest coordinate of the perturbation of a token
NOISE = 1e-5  # standard deviation of the perturbation at which the gradient is taken
Logits = dict[str, torch.Tensor]


def adversarial_losses(model: MultiTaskModel, compute: Callable[[], Logits]) -> tuple[Logits, Logits]:
    """Return the logits of `compute`, and what is added to the loss of the head of masked words, if any.

    For word embeddings x [B, L, H], predictions f(x) for the masked pieces, and α = `Kind.adversarial`, it is

        α (KL(f(x) || f(x + δ)) + KL(f(x + δ) || f(x))),   δ = STEP g / ‖g‖∞ for each token,
        g = ∇ KL(f(x) || f(x + δ₀)) at δ₀ ~ N(0, NOISE²),

    as means over the pieces; first arguments and δ are constants. Padding has no gradient, so no δ. Dropout
    has the same masks in all passes: else the divergence is mostly that of dropout. Source: ALUM (Liu et al.
    2020, arXiv:2004.08994), with δ as in the authors' `mt_dnn/perturbation.py`.
    """
    embeddings = model.encoder.get_input_embeddings()
    device, delta, states = embeddings.weight.device, list[torch.Tensor](), list[dict[str, torch.Tensor]]()

    def add(_: Any, __: Any, vectors: torch.Tensor) -> torch.Tensor:
        if not torch.is_grad_enabled():  # the encoder is tried, see `packs`
            return vectors
        if delta:
            put_back_random(states[0], device)
            return vectors + delta[0]
        delta.append((NOISE * torch.randn_like(vectors)).requires_grad_())
        states.append(random_state(device))
        return vectors

    handle = embeddings.register_forward_hook(add)
    try:
        with torch.enable_grad():
            logits = compute()
            name = next((name for name in logits if model.kinds[name].adversarial), None)
            if name is None:
                return logits, {}
            (gradient,) = torch.autograd.grad(_divergence(compute()[name], logits[name]), delta)
            delta[0] = STEP * functional.normalize(gradient, p=torch.inf, dim=-1, eps=1e-30)
            other = compute()[name]
    finally:
        handle.remove()
    both = _divergence(other, logits[name]) + _divergence(logits[name], other)
    return logits, {name: model.kinds[name].adversarial * both}


def _divergence(logits: torch.Tensor, constant: torch.Tensor) -> torch.Tensor:
    """Return KL(constant || logits), the mean over n predictions [n, C]."""
    target, predicted = (functional.log_softmax(one.float(), -1) for one in (constant.detach(), logits))
    return functional.kl_div(predicted, target, reduction="sum", log_target=True) / max(len(logits), 1)
