"""Fast dropout on a CPU: masks from a fast generator, with four elements per 64 random bits."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch
from torch import nn

LEVELS = 2**16  # 16 bits per element: rates are exact to 1 / 65,536
INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes
ATTENTION = "mtlv"  # name in Transformers' registry
RATE = re.compile(r"dropout|_pdrop$")  # names of rates in modules and configs, besides `nn.Dropout`


def keep_mask(shape: torch.Size, rate: float, dtype: torch.dtype) -> torch.Tensor:
    """Return the factors of a dropout: 0 with probability `rate`, else 1 / (1 - rate).

    The rate is rounded to a multiple of 1 / 65,536. PyTorch's generator of masks takes about a seventh of a
    training step. Here it only gives one seed (so that `torch.manual_seed` and a saved state determine
    everything), and SFC64 the bits. The mask is the same for any number of threads.
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


def attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    packing: Any = None,
    **more: Any,
) -> tuple[torch.Tensor, None]:
    """Compute attention for Transformers; uses `sdpa` without dropout or on other devices.

    Args:
        module: attention module of the layer.
        query, key, value: [B, heads, L, H / heads].
        attention_mask: [B, 1, L, L] or [B, 1, 1, L], true where a token may attend; None allows all tokens,
            or all earlier ones in a causal encoder.
        dropout: dropout rate of the attention probabilities.
        scaling: scaling of the scores; None is 1 / sqrt(H / heads).
        packing: a `mtlv.models.packing.Packing` if the documents are in one row; then B is 1 and L is N.
        more: further arguments of `sdpa`.

    Returns:
        [B, L, heads, H / heads], and None for the probabilities.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if packing is not None and attention_mask is None and not more.get("is_causal"):

        def padded(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return attention(module, q, k, v, mask, dropout=dropout, scaling=scaling, **more)[0]

        return packing.attend(padded, query, key, value), None
    unlike = more.get("position_bias") is not None or query.shape[1] != key.shape[1]
    if attention_mask is None:  # `sdpa` then uses causal attention depending on `is_causal`, also for None
        asked = more.get("is_causal")
        unlike |= getattr(module, "is_causal", True) if asked is None else asked
    if dropout == 0 or query.device.type != "cpu" or unlike:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **more
        )
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = torch.matmul(query * scale, key.transpose(-1, -2))  # [B, heads, L, L]
    if attention_mask is not None:
        scores = scores + _additive(attention_mask, scores.dtype)
    shares = drop(scores.softmax(-1), dropout)
    return torch.matmul(shares, value).transpose(1, 2).contiguous(), None


def _additive(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return 0 where a token may attend, else the lowest value."""
    if mask.dtype != torch.bool:
        return mask
    one = mask[:, :, :1] if mask.stride(2) == 0 else mask  # the same row for all queries
    return torch.zeros(one.shape, dtype=dtype).masked_fill_(~one, torch.finfo(dtype).min)


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
    """Replace every `nn.Dropout` of a model by `Dropout`, and `sdpa` by `attention`.

    Names of weights, rates, and results without dropout do not change.
    """
    for part in model.modules():
        for name, child in part.named_children():
            if type(child) is nn.Dropout:
                setattr(part, name, Dropout(child.p).train(child.training))
    for part in model.modules():
        implementation = getattr(getattr(part, "config", None), "_attn_implementation", None)
        change = getattr(part, "set_attn_implementation", None)
        if implementation == "sdpa" and change is not None:
            _register()
            change(ATTENTION)


def mask_of(attention_mask: torch.Tensor | None = None, **more: Any) -> torch.Tensor | None:
    """Return Transformers' mask for `sdpa`, without checking on another device whether it is true everywhere.

    Reading the result would synchronize with the device. A batch without padding has no mask: see
    `Batch.padded`.
    """
    from transformers.masking_utils import sdpa_mask

    if attention_mask is not None and attention_mask.device.type != "cpu":
        more["allow_is_bidirectional_skip"] = False
    return sdpa_mask(attention_mask=attention_mask, **more)


def _register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(ATTENTION, attention)
    AttentionMaskInterface.register(ATTENTION, mask_of)
