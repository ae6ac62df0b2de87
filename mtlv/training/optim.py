"""Optimizer, schedule, device and precision."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from itertools import product
from math import cos, inf, pi
from time import process_time
from types import MappingProxyType
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from mtlv.errors import DeviceError
from mtlv.models.layers import layers_above
from mtlv.registries import OPTIMIZERS

if TYPE_CHECKING:
    from mtlv.models.multitask import MultiTaskModel

TIMING_ROUNDS = 5, 40
"""Least and most rounds in which the speed of bf16 is measured."""
CLEAR_SPEEDUP = 1.5
"""Ratio of two precisions' times that noise does not explain."""


def resolve_device(name: str, what: str = "`training.device`") -> torch.device:
    """Return the device for `auto`, `cpu`, `cuda` or `cuda:N`.

    Args:
        name: as the user wrote it.
        what: how an error names it.

    Raises:
        DeviceError: `name` is none of these, or CUDA is requested but not available.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cpu":
        return torch.device(name)
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    match = re.fullmatch(r"cuda(?::(\d+))?", name)
    if match is None or int(match[1] or 0) >= count:
        raise DeviceError(
            what,
            got=name,
            allowed=f"auto, cpu{''.join(f', cuda:{i}' for i in range(count))}",
            then=f"PyTorch {torch.__version__} sees {count} CUDA devices here",
        )
    return torch.device(name)


def resolve_precision(name: str, device: torch.device) -> str:
    """Return the precision; `auto` is `bf16` if the device computes it faster than `fp32`."""
    if name != "auto":
        return name
    return "bf16" if computes_bf16(device) else "fp32"


def computes_bf16(device: torch.device) -> bool:
    """Whether bf16 is faster than fp32 on `device`."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    # PyTorch has no public function for this yet; fp32 is the safe default.
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return bool(supported()) and _bf16_is_faster()


@cache
def _bf16_is_faster() -> bool:
    """Time products of an encoder's size on this processor, for about 50 ms or longer if close.

    Having the instructions is not enough: they double the speed of an AMD EPYC, and halve that of an Intel
    Xeon if a virtual machine hides its matrix unit (AMX).
    """
    seconds = {torch.float32: inf, torch.bfloat16: inf}
    for number in range(TIMING_ROUNDS[1]):
        for dtype, before in seconds.items():
            seconds[dtype] = min(before, _seconds_of_a_product(dtype))
        ratio = seconds[torch.bfloat16] / seconds[torch.float32]
        if number + 1 >= TIMING_ROUNDS[0] and not 1 / CLEAR_SPEEDUP < ratio < CLEAR_SPEEDUP:
            break
    return ratio < 1


def _seconds_of_a_product(dtype: torch.dtype) -> float:
    """Return the processor time of products, which does not depend on other work on the machine."""
    tokens, weight = torch.ones(256, 384, dtype=dtype), torch.ones(1536, 384, dtype=dtype)
    start = process_time()
    functional.linear(tokens, weight)
    return process_time() - start


def make_optimizer(
    model: nn.Module,
    *,
    learning_rate: float,
    weight_decay: float,
    name: str = "adamw",
    factors: Mapping[nn.Parameter, float] = MappingProxyType({}),
) -> torch.optim.Optimizer:
    """Create an optimizer of all trainable weights, without decay on biases and norms, fused if possible.

    Args:
        model: the model.
        learning_rate: learning rate of weights without a factor, which are the first group.
        weight_decay: weight decay of matrices.
        name: one of `mtlv.registries.OPTIMIZERS`.
        factors: factors on the learning rate, see `rate_factors`.
    """
    kinds = list(product(dict.fromkeys((1.0, *factors.values())), (True, False)))
    weights: dict[tuple[float, bool], list[nn.Parameter]] = {kind: [] for kind in kinds}
    for weight in model.parameters():
        if weight.requires_grad:
            weights[factors.get(weight, 1.0), weight.ndim > 1].append(weight)
    groups = [
        {"params": weights[kind], "lr": learning_rate * kind[0], "weight_decay": weight_decay * kind[1]}
        for kind in kinds
    ]
    optimizer = OPTIMIZERS[name]
    options = {"fused": True} if "fused" in signature(optimizer).parameters else {}
    return optimizer(groups, lr=learning_rate, **options)


def rate_factors(model: MultiTaskModel, *, heads: float, layers: float) -> dict[nn.Parameter, float]:
    """Return factors on the learning rate of weights: `heads` for those of heads, `layers` for each layer
    above others (Howard and Ruder 2018; Clark et al. 2020).
    """
    factors = dict.fromkeys(model.heads.parameters(), heads)
    if layers == 1:
        return factors
    copies = () if model.private is None else model.private.copies.values()
    return factors | {weight: layers**count for weight, count in layers_above(model.encoder, copies).items()}


SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda _: 1.0,
    "linear": lambda left: left,
    "cosine": lambda left: (1.0 - cos(pi * left)) / 2,
}
"""Share of the steps after the warm-up that are left -> factor on the learning rate."""


def schedule(
    optimizer: torch.optim.Optimizer, name: str, *, steps: int, warmup: float
) -> torch.optim.lr_scheduler.LambdaLR:
    """Create the learning rate schedule over `steps` optimizer steps, with a linear warm-up (a share)."""
    warm = round(steps * warmup)

    def factor(step: int) -> float:
        if step < warm:
            return (step + 1) / (warm + 1)
        return SCHEDULES[name](max(0.0, (steps - step) / max(1, steps - warm)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
