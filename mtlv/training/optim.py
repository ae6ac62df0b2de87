"""Optimizer, schedule, device and precision."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import torch
from torch import nn

from mtlv.errors import DeviceError


def device_of(name: str, rank: int, world: int) -> torch.device:
    """The device of one of several ranks: all of one processor, or CUDA devices from `cuda:N` on.

    Args:
        name: as of `resolve_device`.
        rank: from 0.
        world: how many.

    Raises:
        DeviceError: there are not so many.
    """
    device = resolve_device(name)
    if device.type == "cpu" or world == 1:
        return device
    first, count = device.index or 0, torch.cuda.device_count()
    if first + world > count:
        raise DeviceError(
            "`execution.devices_per_unit`",
            got=world,
            allowed=f"1 to {count - first}",
            then=f"PyTorch sees {count} CUDA devices here, and the first is to be cuda:{first}",
        )
    return torch.device("cuda", first + rank)


def resolve_device(name: str) -> torch.device:
    """`auto`, `cpu`, `cuda` or `cuda:N` as a device.

    Raises:
        DeviceError: CUDA is asked for and is not there.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise DeviceError(
                "`training.device`",
                got=name,
                allowed=f"auto, cpu{''.join(f', cuda:{i}' for i in range(count))}",
                then=f"PyTorch {torch.__version__} sees {count} CUDA devices here",
            )
    return device


def resolve_precision(name: str, device: torch.device) -> str:
    """`auto` as `bf16` where the device computes it natively, else `fp32`."""
    if name != "auto":
        return name
    return "bf16" if _computes_bf16(device) else "fp32"


def resolve_compile(wanted: bool, device: torch.device) -> bool:
    """Whether an encoder is compiled: where it is wanted, and there are kernels to launch.

    Raises:
        DeviceError: what writes the kernels is not installed.
    """
    if not wanted or device.type != "cuda":
        return False
    if find_spec("triton") is None:
        raise DeviceError(
            "`training.compile`: PyTorch's compiler needs the package triton for a GPU",
            got="it is not installed",
            then="pip install triton, or set training.compile to false",
        )
    return True


def _computes_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    # PyTorch has no public question for this yet; without an answer fp32 is the safe one.
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return bool(supported())


def adamw(model: nn.Module, *, learning_rate: float, weight_decay: float) -> torch.optim.AdamW:
    """AdamW of all that learns, without decay on biases and norms (vectors), fused where PyTorch has it."""
    decayed: list[nn.Parameter] = []
    plain: list[nn.Parameter] = []
    for parameter in (each for each in model.parameters() if each.requires_grad):
        (decayed if parameter.ndim > 1 else plain).append(parameter)
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=learning_rate, fused=True)


def _constant(step: int, total: int, warm: int) -> float:  # noqa: ARG001
    return min(1.0, (step + 1) / (warm + 1)) if warm else 1.0


def _linear(step: int, total: int, warm: int) -> float:
    if step < warm:
        return (step + 1) / (warm + 1)
    return max(0.0, (total - step) / max(1, total - warm))


SCHEDULES: dict[str, Callable[[int, int, int], float]] = {"constant": _constant, "linear": _linear}
"""(optimizer step from 0, all steps, warm-up steps) -> factor on the learning rate."""


def schedule(
    optimizer: torch.optim.Optimizer, name: str, *, steps: int, warmup: float
) -> torch.optim.lr_scheduler.LambdaLR:
    """The learning rate over `steps` optimizer steps, `warmup` of them (a share) rising linearly."""
    factor, warm = SCHEDULES[name], round(steps * warmup)
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: factor(step, steps, warm))
