"""Attention on a CPU with fast dropout."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from mtlv.models.fast.dropout import drop

ATTENTION = "mtlv"  # name in Transformers' registry


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
    """Compute attention for Transformers.

    Uses `sdpa` on other devices, and without dropout.

    Args:
        module: attention module of the layer.
        query, key, value: [B, heads, L, H / heads].
        attention_mask: [B, 1, L, L] or [B, 1, 1, L], true where a token may attend; None allows all tokens,
            or all earlier ones in a causal encoder.
        dropout: dropout rate of the attention probabilities.
        scaling: scaling of the scores; None is 1 / sqrt(H / heads).
        packing: a packing of `mtlv.models.fast.packing` if the documents are in one row; then B is 1 and L
            is N.
        more: further arguments of `sdpa`.

    Returns:
        [B, L, heads, H / heads], and None for the probabilities.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if packing is not None:
        if attention_mask is not None or more.get("is_causal"):  # also if it is true everywhere
            raise RuntimeError("in a row, tokens attend to all tokens of their document, and to no others")
        padded = partial(attention, module, **more)
        return packing.attend(padded, query, key, value, dropout=dropout, scaling=scaling), None
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


def mask_of(attention_mask: torch.Tensor | None = None, **more: Any) -> torch.Tensor | None:
    """Return Transformers' mask for `sdpa`, without checking on another device whether it is true everywhere.

    Reading the result would synchronize with the device. A batch without padding has no mask, also while a
    CUDA graph is recorded, when Transformers makes one.
    """
    from transformers.masking_utils import sdpa_mask

    if attention_mask is None and more.get("allow_is_bidirectional_skip") and more.get("local_size") is None:
        return None
    if attention_mask is not None and attention_mask.device.type != "cpu":
        more["allow_is_bidirectional_skip"] = False
    return sdpa_mask(attention_mask=attention_mask, **more)


def use_fast_attention(model: nn.Module) -> None:
    """Replace `sdpa` by `attention` in the encoders of a model."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(ATTENTION, attention)
    AttentionMaskInterface.register(ATTENTION, mask_of)
    for part in model.modules():
        implementation = getattr(getattr(part, "config", None), "_attn_implementation", None)
        change = getattr(part, "set_attn_implementation", None)
        if implementation == "sdpa" and change is not None:
            change(ATTENTION)
