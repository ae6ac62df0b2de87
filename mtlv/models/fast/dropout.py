"""Fast dropout on a CPU: masks from a fast generator, with four elements per 64 random bits."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch
from torch import nn

LEVELS = 2**16  # 16 bits per element: rates are exact to 1 / 65,536
INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes
RATE = re.compile(r"dropout|_pdrop$")  # names of rates in modules and configs, besides `nn.Dropout`


def keep_mask(shape: torch.Size, rate: float, dtype: torch.dtype) -> torch.Tensor:
    """Return the factors of a dropout: 0 with probability `rate`, else 1 / (1 - rate).

    The rate is rounded to a multiple of 1 / 65,536. With PyTorch's generator of masks, a training step
    takes 12% longer (benchmarks/ablation.py). Here it only gives one seed (so that `torch.manual_seed` and a
    saved state determine everything), and SFC64 the bits. The mask is the same for any number of threads.
    """
    count = shape.numel()
    seed = int(torch.randint(2**63 - 1, ()))
    bits = np.random.SFC64(seed).random_raw(-(-count // 4)).view(np.uint16)[:count]
    dropped = min(round(rate * LEVELS), LEVELS - 1)
    kept = (bits >= np.uint16(dropped)).view(np.uint8)
    factor = torch.tensor(LEVELS / (LEVELS - dropped), dtype=dtype)
    code = factor.view(INTEGERS[dtype.itemsize]).numpy()  # a product of its bits with 0 or 1 is fast
    return torch.from_numpy(np.multiply(kept, code, dtype=code.dtype)).view(dtype).view(shape)


def drop(values: torch.Tensor, rate: float) -> torch.Tensor:
    """Drop each value on a CPU with probability `rate`, and scale the others up."""
    if rate == 0 or values.numel() == 0:
        return values
    return values * keep_mask(values.shape, rate, values.dtype)


class Dropout(nn.Dropout):
    """`nn.Dropout` with masks of `keep_mask` on a CPU, and its own kernel on other devices."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if not self.training or input.device.type != "cpu":
            return super().forward(input)
        return drop(input, self.p)


def set_dropout(model: nn.Module, rate: float) -> None:
    """Set every dropout of a Transformers model to `rate`, as if set in its config.

    Includes those of attention probabilities, which modules store as numbers, and those omitted for a rate of
    0.
    """
    for part in list(model.modules()):
        for name, child in list(part.named_children()):
            if type(child) is nn.Identity and name.endswith(("drop", "dropout")):
                setattr(part, name, nn.Dropout(rate))
        if isinstance(part, nn.Dropout):
            part.p = rate
        for holder in (part, getattr(part, "config", None)):
            _set_rates(holder, rate)


def _set_rates(holder: Any, rate: float) -> None:
    for name, value in list(getattr(holder, "__dict__", {}).items()):
        if RATE.search(name) and type(value) in (int, float):
            setattr(holder, name, rate)


def use_fast_dropout(model: nn.Module) -> None:
    """Replace every `nn.Dropout` of a model by `Dropout`.

    Names of weights, rates, and results without dropout do not change.
    """
    for part in model.modules():
        for name, child in part.named_children():
            if type(child) is nn.Dropout:
                setattr(part, name, Dropout(child.p).train(child.training))
