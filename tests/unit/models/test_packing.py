"""A batch in a row without padding gives what the padded batch gives, and its gradients.

Rows as a GPU has them are computed on a CPU too, with PyTorch's slow attention of nested tensors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from families import CAUSAL, FAMILIES, HEADS, L, config_of
from torch import nn

from mtlv.models.base import base_class
from mtlv.models.fast.attention import attention, mask_of, use_fast_attention
from mtlv.models.fast.dropout import use_fast_dropout
from mtlv.models.fast.packing import (
    LENGTHS as LENGTHS_OF_ROWS,
)
from mtlv.models.fast.packing import (
    ROW,
    TOGETHER,
    JaggedPacking,
    Packing,
    encode,
    packs,
    row_length,
)

PADDED = ["mpnet", "deberta-v2", "modernbert", "longformer", "t5", *CAUSAL]
"""Relative positions, windows or an order of tokens of their own."""
LENGTHS = torch.tensor([L, 2, 7, 1, 5, L, 3])  # more than one group, in no order
MASK = torch.arange(L) < LENGTHS[:, None]
N = 64  # 36 tokens, rounded up


PackingOf = Callable[[torch.Tensor], Packing | JaggedPacking]
PACKINGS: list[PackingOf] = [Packing, lambda mask: JaggedPacking(mask, N)]


def ids_of(module: nn.Module) -> torch.Tensor:
    size = module.get_input_embeddings().weight.shape[0]
    generator = torch.Generator().manual_seed(0)
    return torch.randint(size // 4, size // 2, MASK.shape, generator=generator)


def gradients(module: nn.Module, hidden: torch.Tensor) -> dict[str, torch.Tensor]:
    module.zero_grad()
    (hidden[MASK] * torch.linspace(-1, 1, hidden.shape[-1])).square().sum().backward()
    return {name: each.grad.clone() for name, each in module.named_parameters() if each.grad is not None}


def made(config: Any) -> Any:
    """A random encoder, as `MultiTaskModel` prepares it."""
    torch.manual_seed(0)
    found = base_class(config).from_config(config)
    found.pooler = None
    use_fast_dropout(found)
    use_fast_attention(found)
    return found.eval()


@pytest.fixture
def module(name: str) -> Any:
    return made(config_of(name, 0.1))


@pytest.mark.parametrize("name", FAMILIES)
def test_encoders_with_plain_attention_need_no_padding(name: str, module: Any) -> None:
    assert packs(module) is (name not in PADDED)


def test_wide_windows_of_attention_need_padding_although_no_short_document_shows_them() -> None:
    config = config_of("modernbert", 0.1)
    config.local_attention = config.sliding_window = 1000
    assert not packs(made(config))


@pytest.mark.parametrize("packing_of", PACKINGS)
@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in PADDED])
def test_vectors_and_gradients_are_those_of_the_padded_batch(
    name: str, packing_of: PackingOf, module: Any
) -> None:
    ids = ids_of(module).masked_fill(~MASK, module.config.pad_token_id or 0)
    padded = module(input_ids=ids, attention_mask=MASK).last_hidden_state
    wanted = gradients(module, padded)
    packed = encode(module, ids, packing_of(MASK), {}).last_hidden_state
    torch.testing.assert_close(packed[MASK], padded[MASK], rtol=1e-4, atol=1e-5)
    found = gradients(module, packed)
    assert found.keys() == wanted.keys()
    for key, gradient in found.items():
        torch.testing.assert_close(gradient, wanted[key], rtol=1e-3, atol=1e-4, msg=key)
    assert len(LENGTHS) > TOGETHER


@pytest.mark.parametrize("packing_of", PACKINGS)
@pytest.mark.parametrize("name", ["bert"])
def test_segments_go_along(name: str, packing_of: PackingOf, module: Any) -> None:
    ids, segments = ids_of(module), (torch.arange(L) > 2).long().expand(MASK.shape)
    plain, packed = (
        encode(module, ids, packing_of(MASK), given) for given in ({}, {"token_type_ids": segments})
    )
    padded = module(input_ids=ids, attention_mask=MASK, token_type_ids=segments).last_hidden_state
    torch.testing.assert_close(packed.last_hidden_state[MASK], padded[MASK], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(plain.last_hidden_state[MASK], padded[MASK], atol=1e-3)


@pytest.mark.parametrize("packing_of", PACKINGS)
@pytest.mark.parametrize("name", ["bert"])
def test_no_token_sees_another_document_in_training_either(
    name: str, packing_of: PackingOf, module: Any
) -> None:
    module.train()
    ids = ids_of(module)
    other = ids.clone()
    other[0] = other[0].roll(1)
    vectors = []
    for each in (ids, other):
        torch.manual_seed(0)  # of dropout
        vectors.append(encode(module, each, packing_of(MASK), {}).last_hidden_state)
    assert torch.equal(vectors[0][1:][MASK[1:]], vectors[1][1:][MASK[1:]])
    assert not torch.equal(vectors[0][0], vectors[1][0])


@pytest.mark.parametrize("packing_of", PACKINGS)
@pytest.mark.parametrize("name", ["bert"])
def test_it_computes_no_padding(name: str, packing_of: PackingOf, module: Any) -> None:
    shapes = []
    module.encoder.layer[0].intermediate.register_forward_hook(
        lambda _, given, __: shapes.append(given[0].shape)
    )
    encode(module, ids_of(module), packing_of(MASK), {})
    assert [tuple(shape[:2]) for shape in shapes] == [(1, N)]


@pytest.mark.parametrize("name", ["bert"])
def test_trying_leaves_modes_and_random_numbers_as_they_are(name: str, module: Any) -> None:
    module.train()
    module.embeddings.eval()  # as if frozen
    before = torch.get_rng_state()
    assert packs(module)
    assert module.training
    assert not module.embeddings.training
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("packing_of", PACKINGS)
def test_a_batch_comes_back_and_padding_has_no_gradient(packing_of: PackingOf) -> None:
    batch = torch.randn(*MASK.shape, HEADS, requires_grad=True)
    packing = packing_of(MASK)
    row = packing.row(batch)
    assert row.shape == (1, N, HEADS)
    assert torch.equal(packing.batch(row)[MASK], batch[MASK])
    row.sum().backward()
    assert batch.grad is not None
    assert torch.equal(batch.grad, MASK[..., None].expand(batch.shape).float())


@pytest.mark.parametrize("packing_of", PACKINGS)
def test_what_fills_up_a_row_has_no_gradient(packing_of: PackingOf) -> None:
    row = torch.randn(1, N, HEADS, requires_grad=True)
    packing_of(MASK).batch(row).sum().backward()
    assert row.grad is not None
    assert torch.equal(row.grad[0, :, 0], (torch.arange(N) < LENGTHS.sum()).float())


def test_rows_have_few_different_lengths() -> None:
    found = {
        Packing(torch.ones(1, n, dtype=torch.bool)).row(torch.zeros(1, n)).shape[1] for n in range(1, 200)
    }
    assert found == {ROW, 2 * ROW, 3 * ROW, 4 * ROW}


@pytest.mark.parametrize(("documents", "longest"), [(1, 40), (7, 12), (16, 128), (128, 512)])
def test_a_gpu_has_few_different_rows_that_hold_every_batch(documents: int, longest: int) -> None:
    generator = torch.Generator().manual_seed(0)
    found = set()
    for tokens in torch.randint(documents, documents * longest + 1, (200,), generator=generator).tolist():
        length = row_length(torch.ones(documents, longest), tokens)
        assert tokens < length <= tokens + max(ROW, documents * longest / LENGTHS_OF_ROWS + ROW)
        found.add(length)
    assert len(found) <= LENGTHS_OF_ROWS + 1


@pytest.mark.parametrize(
    ("tokens", "longest", "length"), [(1, 8, 64), (8, 8, 64), (36, 64, 64), (63, 64, 64), (64, 64, 128)]
)
def test_the_rest_of_a_row_is_no_longer_than_kernels_are_told(tokens: int, longest: int, length: int) -> None:
    mask = torch.arange(longest)[None] < tokens
    packing = JaggedPacking(mask, row_length(mask, tokens))
    assert int(packing._offsets.diff().max()) <= packing._longest
    assert packing._offsets.tolist() == [0, tokens, length]


def test_attention_in_a_row_is_that_of_each_document() -> None:
    parts, packing = torch.randn(3, 1, HEADS, N, 8), JaggedPacking(MASK, N)
    found = packing.attend(not_called, *parts, dropout=0.0, scaling=0.7)
    assert found.shape == (1, N, HEADS, 8)
    for start, end in itertools.pairwise([0, *LENGTHS.cumsum(0).tolist()]):
        one = nn.functional.scaled_dot_product_attention(*parts[..., start:end, :], scale=0.7)
        torch.testing.assert_close(found[0, start:end], one[0].transpose(0, 1))
    torch.manual_seed(0)
    dropped = packing.attend(not_called, *parts, dropout=0.5, scaling=0.7)
    assert not torch.allclose(dropped, found)


def not_called(*_: Any, **__: Any) -> Any:
    raise AssertionError


@pytest.mark.parametrize("name", ["bert"])
@pytest.mark.parametrize(
    "more", [{"attention_mask": torch.ones(1, 1, N, N, dtype=torch.bool)}, {"is_causal": True}]
)
def test_a_row_with_another_mask_is_refused(name: str, more: dict[str, Any], module: Any) -> None:
    """Transformers made a mask for all tokens of a row while a CUDA graph was recorded."""
    layer, parts = module.encoder.layer[0].attention.self, torch.randn(3, 1, HEADS, N, 8)
    given = {"attention_mask": None} | more
    with pytest.raises(RuntimeError, match="no others"):
        attention(layer, *parts, **given, packing=Packing(MASK))


def test_a_batch_without_padding_has_no_mask_unless_its_attention_is_local() -> None:
    how = {"batch_size": 1, "q_length": 8, "kv_length": 8, "allow_is_bidirectional_skip": True}
    assert mask_of(None, **how) is None
    local = mask_of(None, **how, local_size=2, mask_function=lambda b, h, q, k: (q - k).abs() <= 1)
    assert local is not None
    assert int(local.sum()) == 22
    causal = how | {"allow_is_bidirectional_skip": False, "allow_is_causal_skip": False}
    assert mask_of(None, **causal) is not None
