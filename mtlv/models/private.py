"""Top layers of an encoder of which each head has its own copy; the layers below are computed once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from mtlv.errors import EncoderError
from mtlv.models.fast.packing import AnyPacking, agrees, encode
from mtlv.models.fast.stacked import outputs_of, repeat, stack, stacks
from mtlv.models.layers import check_private, split

PARTS = {"embeddings", "embeddings_project", "encoder", "transformer", "pooler"}
"""Parts of an encoder that can be divided: a norm above the layers would be computed in the trunk, too."""


class PrivateLayers(nn.Module):
    """A trunk and a copy of the layers above it per head.

    All copies start from the encoder's weights. The first head uses the encoder's own layers, so K heads add
    K - 1 copies.

    Args:
        encoder: a Transformers base model with N layers, without a pooler in use below the top.
        heads: names of the heads' modules.
        count: p, number of layers that are copied; the trunk has N - p.
        frozen: number of frozen layers, from the lowest.
        shared: whether the copies have the encoder's weights themselves, and differ only by what is added.
        most: most copies that are computed as one in training, if this encoder can be stacked; None for all.

    Raises:
        EncoderError: the encoder has fewer layers, or cannot be divided.
    """

    def __init__(
        self,
        encoder: Any,
        heads: Sequence[str],
        count: int,
        frozen: int = 0,
        *,
        shared: bool = False,
        most: int | None = 1,
    ) -> None:
        super().__init__()
        layers, name = int(encoder.config.num_hidden_layers), str(getattr(encoder.config, "model_type", "?"))
        check_private(count, frozen, layers, name)
        if not {part for part, _ in encoder.named_children()} <= PARTS:
            raise _undivided(name)
        trunk, top = split(encoder, layers - count)
        if not agrees(encoder, partial(_halves, trunk, top)):
            raise _undivided(name)
        self._trunk, self._first = (trunk,), (heads[0], top)  # tuples: parts of the encoder, registered there
        self._most = most if most == 1 or stacks(encoder) else 1
        same = {id(weight): weight for weight in top.parameters()} if shared else {}
        self.copies = nn.ModuleDict({name: copy.deepcopy(top, dict(same)) for name in heads[1:]})

    def forward(
        self,
        ids: torch.Tensor,
        mask: torch.Tensor | None,
        others: Mapping[str, torch.Tensor],
        packing_of: Callable[[int], AnyPacking | None],
        heads: Sequence[str],
    ) -> dict[str, Any]:
        """Return the encoder's output for each of `heads`, of ids, mask and other inputs [B, L].

        The mask is None if no document is padded. `packing_of` returns the packing of so many times the
        batch; None if it is computed as it is.
        """
        packing = packing_of(1)
        hidden = _output(self._trunk[0], ids, mask, others, packing).last_hidden_state
        row = hidden if packing is None else packing.row(hidden)
        # Predictions have large batches, which a stack would only give more memory.
        most = (self._most if self.training else 1) or len(heads)
        outputs: dict[str, Any] = {}
        for start in range(0, len(heads), most):
            names = heads[start : start + most]
            packing, times = packing_of(len(names)), partial(repeat, count=len(names))
            masks = None if mask is None else times(mask)
            inputs = times(hidden if packing is None else row), times(ids), masks
            output = _above(stack([self._of(name) for name in names]), *inputs, packing)
            outputs |= zip(names, outputs_of(output, len(names)), strict=True)
        return outputs

    def _of(self, name: str) -> Any:
        return self._first[1] if name == self._first[0] else self.copies[name]


def _output(
    part: Any,
    ids: torch.Tensor,
    mask: torch.Tensor | None,
    others: Mapping[str, torch.Tensor],
    packing: AnyPacking | None,
) -> Any:
    if packing is None:
        return part(input_ids=ids, attention_mask=mask, **others)
    return encode(part, ids, packing, others)


def _above(
    top: Any,
    hidden: torch.Tensor,
    ids: torch.Tensor,
    mask: torch.Tensor | None,
    packing: AnyPacking | None,
) -> Any:
    top.embeddings.hidden = hidden
    try:
        return _output(top, ids, mask, {}, packing)
    finally:
        top.embeddings.hidden = None  # it holds the graph of the step


def _halves(trunk: Any, top: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the vectors [B, L, H] of a batch, by the trunk and the layers above it."""
    hidden = _output(trunk, ids, mask, {}, None).last_hidden_state
    return _above(top, hidden, ids, mask, None).last_hidden_state


def _undivided(name: str) -> EncoderError:
    return EncoderError(
        "`architecture.private_layers`: this encoder cannot be divided into layers",
        got=name,
        allowed="0, or an encoder like BERT, RoBERTa, DistilBERT or ELECTRA",
    )
