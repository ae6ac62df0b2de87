"""Dropout on a processor: the right masks, from PyTorch's own state, and nothing else changes."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from transformers import AutoModel, BertConfig, DistilBertConfig, RobertaConfig

from mtlv.models.fast.attention import use_fast_attention
from mtlv.models.fast.dropout import Dropout, drop, keep_mask, use_fast_dropout

SMALL = {"vocab_size": 50, "pad_token_id": 0}
CONFIGS = {
    "bert": BertConfig(
        **SMALL, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    ),
    "roberta": RobertaConfig(
        **SMALL, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    ),
    "distilbert": DistilBertConfig(**SMALL, dim=16, n_layers=2, n_heads=2, hidden_dim=32),
}


def encoder(name: str, rate: float) -> nn.Module:
    torch.manual_seed(0)
    config = copy.deepcopy(CONFIGS[name])
    for key in ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout"):
        if hasattr(config, key):
            setattr(config, key, rate)
    return AutoModel.from_config(config)


def batch() -> dict[str, torch.Tensor]:
    ids = torch.randint(5, 50, (6, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(9)[None] < torch.tensor([9, 7, 5, 9, 3, 8])[:, None]
    return {"input_ids": ids, "attention_mask": mask}


def outcome(model: nn.Module) -> list[torch.Tensor]:
    """The last layer and every gradient."""
    hidden = model(**batch()).last_hidden_state
    (hidden * torch.linspace(-1, 1, hidden.numel()).view_as(hidden)).sum().backward()
    return [hidden.detach(), *(p.grad for p in model.parameters() if p.grad is not None)]


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.5, 0.9])
def test_a_mask_drops_at_its_rate_and_keeps_the_mean(rate: float) -> None:
    torch.manual_seed(0)
    mask = keep_mask(torch.Size((1000, 1003)), rate, torch.float32)
    deviation = (rate * (1 - rate) / mask.numel()) ** 0.5
    assert float((mask == 0).double().mean()) == pytest.approx(rate, abs=4 * deviation + 2**-17)
    assert mask.unique().tolist() == pytest.approx([0, 1 / (1 - rate)], rel=2e-4)
    assert float(mask.double().mean()) == pytest.approx(1, abs=4 * deviation / (1 - rate))


def test_elements_are_dropped_independently_of_each_other_and_from_mask_to_mask() -> None:
    torch.manual_seed(0)
    first, second = (keep_mask(torch.Size((2**20,)), 0.1, torch.float32) == 0 for _ in range(2))
    both = 0.01 * 2**20
    for other in (second, *(first.roll(shift) for shift in (1, 2, 3, 4, 8, 64, 384))):
        assert float((first & other).sum()) == pytest.approx(both, abs=5 * both**0.5)


def test_masks_follow_pytorchs_state_whatever_the_number_of_threads() -> None:
    torch.manual_seed(3)
    keep_mask(torch.Size((5,)), 0.1, torch.float32)
    state = torch.get_rng_state()
    wanted = keep_mask(torch.Size((7, 11)), 0.3, torch.float32)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        torch.set_rng_state(state)
        assert torch.equal(keep_mask(torch.Size((7, 11)), 0.3, torch.float32), wanted)
    finally:
        torch.set_num_threads(threads)
    assert not torch.equal(keep_mask(torch.Size((7, 11)), 0.3, torch.float32), wanted)


def test_the_gradient_of_dropout_is_its_mask() -> None:
    values = torch.randn(50, 40, requires_grad=True)
    torch.manual_seed(5)
    out = drop(values, 0.2)
    out.sum().backward()
    torch.manual_seed(5)
    mask = keep_mask(values.shape, 0.2, values.dtype)
    assert torch.equal(values.grad, mask)
    assert torch.equal(out, values * mask)


def test_nothing_is_dropped_in_evaluation_or_at_rate_0() -> None:
    values = torch.randn(4, 5)
    assert Dropout(0.5).eval()(values) is values
    assert Dropout(0.0)(values) is values
    assert drop(torch.empty(0, 3), 0.5).shape == (0, 3)


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_without_dropout_every_bit_is_as_before(name: str) -> None:
    plain = encoder(name, 0.0).train()
    fast = copy.deepcopy(plain)
    use_fast_dropout(fast)
    use_fast_attention(fast)
    assert not any(type(part) is nn.Dropout for part in fast.modules())
    assert list(fast.state_dict()) == list(plain.state_dict())
    for ours, theirs in zip(outcome(fast), outcome(plain), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_in_evaluation_every_bit_is_as_before(name: str) -> None:
    plain = encoder(name, 0.3).eval()
    fast = copy.deepcopy(plain)
    use_fast_dropout(fast)
    use_fast_attention(fast)
    with torch.inference_mode():
        assert torch.equal(fast(**batch()).last_hidden_state, plain(**batch()).last_hidden_state)


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_the_mean_over_many_masks_is_that_of_pytorchs_own(name: str) -> None:
    plain = encoder(name, 0.3).train()
    fast = copy.deepcopy(plain)
    use_fast_dropout(fast)
    use_fast_attention(fast)
    assert fast.config._attn_implementation == "mtlv"
    many = {key: tensor.repeat(600, 1) for key, tensor in batch().items()}
    with torch.inference_mode():
        drawn = [
            model(**many).last_hidden_state[:, 0].unflatten(0, (600, -1)).double() for model in (fast, plain)
        ]
    (mean, other), (spread, spread_other) = ([f(d, 0) for d in drawn] for f in (torch.mean, torch.std))
    assert ((mean - other).abs() < 5 * (spread**2 + spread_other**2).div(600).sqrt()).all()
    assert float((spread / spread_other).mean()) == pytest.approx(1, abs=0.02)
