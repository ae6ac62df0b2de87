"""Attention on a CPU with dropout."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from mtlv.models.fast.attention import attention


def bidirectional() -> nn.Module:
    module = nn.Module()
    module.is_causal = False
    return module


def padding(lengths: list[int], longest: int) -> torch.Tensor:
    """A mask [B, 1, L, L] as Transformers gives it: the same row for all queries."""
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return mask[:, None, None].expand(-1, 1, longest, longest)


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_attention_drops_its_probabilities_at_the_rate(rate: float) -> None:
    torch.manual_seed(0)
    query, key = torch.randn(2, 50, 4, 16, 16).unbind()
    value = torch.eye(16).expand(50, 4, 16, 16)  # so that what comes out are the probabilities
    out, _ = attention(bidirectional(), query, key, value, None, dropout=rate)
    shares = out.transpose(1, 2)
    kept = shares != 0
    deviation = (rate * (1 - rate) / kept.numel()) ** 0.5
    assert float((~kept).double().mean()) == pytest.approx(rate, abs=4 * deviation)
    whole = (query @ key.mT / 4).softmax(-1)
    torch.testing.assert_close(shares[kept], (whole / (1 - rate))[kept], rtol=1e-4, atol=1e-7)


def test_attention_that_may_not_look_ahead_does_not_with_dropout_either() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 7, 8).unbind()
    changed = value.clone()
    changed[:, :, -1] += 1
    module = nn.Module()
    for said, asked in ((True, None), (False, True), (None, None)):
        if said is not None:
            module.is_causal = said
        for dropout in (0.0, 0.3):
            outs = []
            for given in (value, changed):
                torch.manual_seed(1)
                outs.append(attention(module, query, key, given, None, dropout=dropout, is_causal=asked)[0])
            assert torch.equal(outs[0][:, :-1], outs[1][:, :-1])
        if said is not None:
            del module.is_causal


def test_attention_with_a_vanishing_rate_is_that_of_sdpa() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 7, 8, requires_grad=True).unbind()
    for given in (padding([7, 3], 7), None):
        ours, _ = attention(bidirectional(), query, key, value, given, dropout=1e-9, scaling=0.3)
        theirs, _ = attention(bidirectional(), query, key, value, given, dropout=0.0, scaling=0.3)
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
