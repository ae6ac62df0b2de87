"""Several encoders of one structure, computed as one: each weight has one more dimension in front, K.

A GPU is hardly used by one small encoder with a small batch. Inputs and outputs of a stack are [K * B, ...]:
those of each encoder, one after another. Attention has no weights, so all documents are alike to it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from mtlv.models.fast.packing import JaggedPacking, agrees, encode, positions
from mtlv.models.layers import view
from mtlv.models.lora import A, AdaptedLinear, B

OTHER = 1.1
"""Factor between the weights of two encoders that are tried."""


class _Stacked(nn.Module):
    """K modules of one kind; `keep` moves their weights into tensors of the stack, [K, ...]."""

    def __init__(self, parts: Sequence[nn.Module]) -> None:
        super().__init__()
        self.parts = tuple(parts)  # not registered: they are modules of the encoders

    def _weight(self, name: str) -> torch.Tensor | None:
        """Return a weight of all modules [K, ...]; None if they have none."""
        if name in self._parameters or getattr(self.parts[0], name) is None:
            return self._parameters.get(name)
        first, *others = (getattr(part, name) for part in self.parts)
        if all(one is first for one in others):
            return first.expand(len(self.parts), *first.shape)
        return torch.stack([first, *others])

    def keep(self) -> None:
        """Keep the weights in tensors of the stack, of which those of the modules become parts.

        Frozen ones that are equal become the same weight.
        """
        for name, weight in self.parts[0].named_parameters(recurse=False):
            weights = [getattr(part, name) for part in self.parts]
            if _are_shared(weights):
                for part in self.parts:
                    setattr(part, name, weight)
                continue
            stack = nn.Parameter(torch.stack([one.detach() for one in weights]), weight.requires_grad)
            for one, place in zip(weights, stack.detach(), strict=True):
                one.data = place
            self.register_parameter(name, stack)

    def share_gradients(self) -> None:
        """Let the gradients of the modules be parts of those of the stack."""
        for name, stack in self.named_parameters(recurse=False):
            if stack.grad is not None:
                for part, gradient in zip(self.parts, stack.grad, strict=True):
                    getattr(part, name).grad = gradient
            stack.grad = None

    def _by_part(self, values: torch.Tensor) -> torch.Tensor:
        """Return [K, N, H] of values [K * B, ..., H]."""
        return values.reshape(len(self.parts), -1, values.shape[-1])


class _Linear(_Stacked):
    def forward(self, values: torch.Tensor) -> torch.Tensor:
        weight, bias, rows = self._weight("weight"), self._weight("bias"), self._by_part(values)
        assert weight is not None
        out = torch.bmm(rows, weight.mT) if bias is None else torch.baddbmm(bias[:, None], rows, weight.mT)
        return out.view(*values.shape[:-1], -1)


class _LayerNorm(_Stacked):
    def forward(self, values: torch.Tensor) -> torch.Tensor:
        weight, bias, norm = self._weight("weight"), self._weight("bias"), self.parts[0]
        assert isinstance(norm, nn.LayerNorm)
        rows = self._by_part(functional.layer_norm(values, norm.normalized_shape, eps=norm.eps))
        if weight is not None:
            rows = (
                rows * weight[:, None]
                if bias is None
                else torch.addcmul(bias[:, None], rows, weight[:, None])
            )
        return rows.view(values.shape)


class _Embedding(_Stacked):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        tables, embedding = self._weight("weight"), self.parts[0]  # [K, V, H]
        assert tables is not None
        assert isinstance(embedding, nn.Embedding)
        first = torch.arange(len(tables), device=ids.device)[:, None] * tables.shape[1]
        rows = ids.reshape(len(tables), -1) + first
        vectors = functional.embedding(rows, tables.flatten(0, 1)).view(*ids.shape, -1)
        if embedding.padding_idx is None:
            return vectors
        return torch.where((ids == embedding.padding_idx)[..., None], vectors.detach(), vectors)


class _AdaptedLinear(_Linear):
    def forward(self, values: torch.Tensor) -> torch.Tensor:
        first, a, b = self.parts[0], self._weight(A), self._weight(B)
        assert isinstance(first, AdaptedLinear)
        assert a is not None
        assert b is not None
        low = torch.bmm(self._by_part(first.lora_dropout(values)), a.mT)  # [K, N, rank]
        return super().forward(values) + first.lora_scale * torch.bmm(low, b.mT).view(*values.shape[:-1], -1)


class _OneByOne(nn.Module):
    """K modules of another kind, computed one after another."""

    def __init__(self, parts: Sequence[nn.Module]) -> None:
        super().__init__()
        self.parts = tuple(parts)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        of_parts = zip(self.parts, values.chunk(len(self.parts)), strict=True)
        return torch.cat([part(its_values) for part, its_values in of_parts])


KINDS: Mapping[type[nn.Module], Callable[[Sequence[nn.Module]], nn.Module]] = {
    nn.Linear: _Linear,
    AdaptedLinear: _AdaptedLinear,
    nn.LayerNorm: _LayerNorm,
    nn.Embedding: _Embedding,
}


def stack(modules: Sequence[Any]) -> Any:
    """Return a module that computes K modules of one structure, from inputs [K * B, ...].

    It is the first one, unchanged but for its linear layers, norms and embeddings; others with weights are
    computed one after another. Each pass reads the weights of the modules, and gives them gradients. What is
    frozen and equal in all is that of the first, computed once for all rows.
    """
    first = modules[0]
    weights = zip(*(module.parameters() for module in modules), strict=True)
    if len(modules) == 1 or all(map(_are_shared, weights)):
        return first
    if type(first) in KINDS:
        return KINDS[type(first)](modules)
    if next(first.parameters(recurse=False), None) is not None:
        return _OneByOne(modules)
    twin = view(first)
    twin.source = (first,)  # a tuple: not registered
    for name, part in first._modules.items():
        if part is not None:
            twin._modules[name] = stack([module._modules[name] for module in modules])
    return twin


def _are_shared(weights: Sequence[nn.Parameter]) -> bool:
    """Whether weights are frozen and equal."""
    first, *others = weights
    return not first.requires_grad and all(one is first or torch.equal(one, first) for one in others)


def repeat(values: torch.Tensor, count: int) -> torch.Tensor:
    """Return [K * B, ...] with `count` times the values [B, ...], which are not copied for one."""
    return values.expand(count, *values.shape).flatten(0, 1)


def outputs_of(output: Any, count: int) -> list[Any]:
    """Return the output of each of `count` encoders from that of their stack."""
    tensors = {name: values for name, values in output.items() if isinstance(values, torch.Tensor)}
    parts = zip(*(values.chunk(count) for values in tensors.values()), strict=True)
    return [type(output)(**dict(zip(tensors, part, strict=True))) for part in parts]


class StackedEncoder(nn.Module):
    """K encoders as one, for training; see `stacks`.

    The weights and gradients of the encoders become parts of those of the stack, so that whatever reads or
    changes an encoder goes on to work.

    Args:
        encoders: Transformers base models of one structure.
    """

    def __init__(self, encoders: Sequence[Any]) -> None:
        super().__init__()
        self.count = len(encoders)
        self.encoder = stack(encoders)

    def keep(self) -> None:
        """Move the weights of the encoders into tensors of the stack."""
        for part in self._parts():
            part.keep()

    def share_gradients(self) -> None:
        """Give the gradients of the stack to the encoders, after each pass backward."""
        for part in self._parts():
            part.share_gradients()

    def kept(self) -> Iterator[tuple[nn.Parameter, tuple[nn.Parameter, ...]]]:
        """Yield the weights of the stack, each with those of the encoders that are parts of it."""
        for part in self._parts():
            for name, weight in part.named_parameters(recurse=False):
                yield weight, tuple(getattr(one, name) for one in part.parts)

    def _parts(self) -> Iterator[_Stacked]:
        return (part for part in self.encoder.modules() if isinstance(part, _Stacked))

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, row: int | None = None, **others: torch.Tensor
    ) -> Any:
        """Return the output of all encoders for a batch [K * B, L]; with `row`, computed in K rows of this
        length, without padding.
        """
        for part in self.encoder.modules():
            part.training = getattr(part, "source", (part,))[0].training
        if row is not None:
            return encode(self.encoder, ids, JaggedPacking(mask, row, self.count), others)
        more = {"position_ids": positions(self.encoder, ids), **others}
        return self.encoder(input_ids=ids, attention_mask=mask, **more)


def stacks(encoder: Any) -> bool:
    """Whether encoders of this structure can be computed as one; found by trying two."""
    if len(set(encoder.parameters())) < len(list(encoder.named_parameters(remove_duplicate=False))):
        return False  # a weight has two names
    other = copy.deepcopy(encoder).eval()  # the first, which tells the stack whether there is dropout
    with torch.no_grad():
        for weight in other.parameters():
            weight.mul_(OTHER)
    pair = StackedEncoder([other, encoder])

    def of_pair(place: int, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        both = [[values, values.flip(0)][:: -1 if place else 1] for values in (ids, mask)]
        vectors: torch.Tensor = pair(*map(torch.cat, both)).last_hidden_state
        return vectors.chunk(2)[place]

    return all(agrees(one, partial(of_pair, place)) for place, one in enumerate((other, encoder)))
