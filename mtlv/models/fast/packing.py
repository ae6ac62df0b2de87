"""Training without padding: the tokens of a batch in one row, with attention within each document.

Only attention relates tokens, so all other layers compute a row [1, N, H] of a batch's N tokens. Batches are
drawn at random; padded to its longest document, a batch of reports would be about 40% padding
(`benchmarks/batches.py`). On a CPU, attention is computed for groups of documents. On a GPU, PyTorch has
kernels for documents of different lengths (nested tensors with the layout `jagged`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from mtlv.models.fast.attention import ATTENTION

TOGETHER = 4
"""Documents per group in attention, which is padded to the longest document of the group."""
ROW, TOKENS = 64, 16
"""Lengths of a row, and of a group's documents in attention, are multiples of these."""
NONE = torch.zeros(0, dtype=torch.long)
SAME = 1e-4
"""Maximum difference between the vectors of two computations, relative to the largest value."""
LENGTHS = 16
"""Approximate number of different lengths of rows on a GPU, for batches of one shape."""
DEVICES = "cpu", "cuda"
EIGHT = 8
"""On a GPU, widths of attention heads are multiples of this."""
Attention = Callable[..., tuple[torch.Tensor, None]]
"""Attention of padded documents: (query, key, value [B, heads, L, d], mask [B, 1, 1, L], dropout, scaling) ->
[B, L, heads, d]."""


class _Moved(torch.autograd.Function):
    """Select rows; their gradients are selected by `back`, which has the new place of each row.

    Rows are selected for padding too. Its gradient is not used, and the rows of `unused` have none: indices,
    or [N] whether a row is unused.
    """

    @staticmethod
    def forward(
        ctx: Any, rows: torch.Tensor, there: torch.Tensor, back: torch.Tensor, unused: torch.Tensor
    ) -> torch.Tensor:
        ctx.save_for_backward(back, unused)
        return rows.index_select(0, there)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        back, unused = ctx.saved_tensors
        moved = gradient.contiguous().index_select(0, back)
        if unused.dtype == torch.bool:
            moved.masked_fill_(unused.view(-1, *[1] * (moved.ndim - 1)), 0)
        else:
            moved.index_fill_(0, unused, 0)
        return moved, None, None, None


class PaddedDocuments:
    """Neighbouring documents of a row, and their places in a padded batch [B, L] with n tokens.

    Their first token is at `first` in the row, and their part of it `length` long; None is n.
    """

    def __init__(self, mask: torch.Tensor, first: int = 0, length: int | None = None) -> None:
        self.mask, self.first = mask, first
        flat = mask.reshape(-1)
        used = flat.nonzero()[:, 0]
        self.count = len(used)
        self.padding = (~flat).nonzero()[:, 0]  # places without a token
        self.rest = torch.arange(self.count, self.count if length is None else length)  # rows without one
        self.there = torch.zeros(len(flat), dtype=torch.long)  # [B * L] row of each place, 0 for padding
        self.there[used] = torch.arange(self.count)
        self.back = torch.cat([used, torch.zeros_like(self.rest)])  # [length] place of each row
        self._by_head: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def pad(self, row: torch.Tensor) -> torch.Tensor:
        """Return a batch [B, L, ...] from the documents' part of a row [length, ...]."""
        return _Moved.apply(row, self.there, self.back, self.rest).unflatten(0, self.mask.shape)

    def unpad(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the documents' part of a row [length, ...] from a batch [B, L, ...]."""
        return _Moved.apply(batch.flatten(0, 1), self.back, self.there, self.padding)

    def pad_heads(self, row: torch.Tensor) -> torch.Tensor:
        """Return the documents' batch [B, heads, L, d] from a whole row [1, heads, N, d]."""
        heads, (documents, longest) = row.shape[1], self.mask.shape
        if heads not in self._by_head:
            head, back = torch.arange(heads), self.back[: self.count]
            there = self.there.view(documents, 1, longest) * heads + head[:, None]
            place = back // longest * heads * longest + back % longest
            self._by_head[heads] = there.reshape(-1), (place[:, None] + head * longest).reshape(-1)
        there, back = self._by_head[heads]
        tokens = row[0].transpose(0, 1).flatten(0, 1).narrow(0, self.first * heads, self.count * heads)
        return _Moved.apply(tokens, there, back, NONE).unflatten(0, (documents, heads, longest))


class Packing:
    """Positions of a batch's documents in a row, by their mask [B, L] on a CPU.

    Lengths are rounded up, because each different length needs memory for kernels of its own.
    """

    def __init__(self, mask: torch.Tensor) -> None:
        lengths = mask.sum(1).tolist()
        self._all_documents = PaddedDocuments(mask, length=_round_up(sum(lengths), ROW))
        self._groups: list[PaddedDocuments] = []
        for start in range(0, len(lengths), TOGETHER):
            rows = slice(start, start + TOGETHER)
            longest = _round_up(max(lengths[rows]), TOKENS)
            group = functional.pad(mask[rows], (0, max(0, longest - mask.shape[1])))[:, :longest]
            self._groups.append(PaddedDocuments(group, sum(lengths[:start])))

    def row(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the values of tokens [1, N, ...] from a batch [B, L, ...], the last ones repetitions."""
        return self._all_documents.unpad(batch)[None]

    def batch(self, row: torch.Tensor) -> torch.Tensor:
        """Return a batch [B, L, ...] from a row [1, N, ...]; padding has the values of some token."""
        return self._all_documents.pad(row[0])

    def attend(
        self,
        attention: Attention,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        *,
        dropout: float,
        scaling: float | None,
    ) -> torch.Tensor:
        """Compute attention within each document.

        Args:
            attention: attention of padded documents.
            query, key, value: [1, heads, N, d]; there may be fewer heads of keys and values.
            dropout: dropout rate of the attention probabilities.
            scaling: scaling of the scores; None is 1 / sqrt(d).

        Returns:
            [1, N, heads, d].
        """
        out = []
        for group in self._groups:
            padded = [group.pad_heads(part) for part in (query, key, value)]
            mask = group.mask[:, None, None]
            vectors, _ = attention(padded[0], padded[1], padded[2], mask, dropout=dropout, scaling=scaling)
            out.append(group.unpad(vectors))
        out.append(out[0].new_zeros(len(self._all_documents.rest), *out[0].shape[1:]))
        return torch.cat(out)[None]


class JaggedPacking:
    """Positions of a batch's documents in rows on a GPU, like `Packing`; nothing is read from the device.

    Args:
        mask: [K * B, L], true for tokens.
        length: length N of a row, more than the number of tokens in it; the rest is one more document.
        rows: K, number of rows with B documents each.
    """

    def __init__(self, mask: torch.Tensor, length: int, rows: int = 1) -> None:
        self._shape, self._rows, longest = mask.shape, rows, mask.shape[1]
        flat = mask.reshape(rows, -1)
        place = torch.arange(mask.numel(), device=mask.device).view_as(flat)
        start = torch.arange(rows, device=mask.device)[:, None] * length
        at = flat.cumsum(1) - 1  # of each token, in its row
        self._padding = ~mask.reshape(-1)
        self._there = (at.clamp(min=0) + start).view(-1)
        back = at.new_zeros(rows, length + 1).scatter_(1, at.masked_fill(~flat, length), place)
        self._back = back[:, :length].reshape(-1)
        self._rest = (torch.arange(length, device=mask.device) > at[:, -1:]).view(-1)
        ends = torch.cat([at.view(rows, -1, longest)[..., -1] + 1, at.new_full((rows, 1), length)], 1) + start
        self._offsets = torch.cat([ends.new_zeros(1), ends.view(-1)]).int()
        self._longest = max(longest, _step(flat[0]))  # of the rest too

    def row(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the values of tokens [K, N, ...] from a batch [K * B, L, ...], the last ones repetitions."""
        moved: torch.Tensor = _Moved.apply(batch.flatten(0, 1), self._back, self._there, self._padding)
        return moved.unflatten(0, (self._rows, -1))

    def batch(self, row: torch.Tensor) -> torch.Tensor:
        """Return a batch [K * B, L, ...] from rows [K, N, ...]; padding has the values of some token."""
        flat = row.flatten(0, 1)
        return _Moved.apply(flat, self._there, self._back, self._rest).unflatten(0, self._shape)

    def attend(
        self,
        attention: Attention,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        *,
        dropout: float,
        scaling: float | None,
    ) -> torch.Tensor:
        """Compute attention within each document, as `Packing.attend`, with as many heads of keys."""
        del attention  # of padded documents
        q, k, v = (self._as_jagged(part) for part in (query, key, value))
        jagged = functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout, scale=scaling)
        vectors: torch.Tensor = jagged.transpose(1, 2).values()
        return vectors.unflatten(0, (self._rows, -1))

    def _as_jagged(self, row: torch.Tensor) -> torch.Tensor:
        """Return a nested tensor [K * (B + 1), heads, length of a document, d] of rows [K, heads, N, d]."""
        rows = row.transpose(1, 2).flatten(0, 1).contiguous()
        documents: torch.Tensor = torch.nested.nested_tensor_from_jagged(
            rows,
            self._offsets,
            min_seqlen=1,
            max_seqlen=self._longest,  # otherwise read from the device
        )
        return documents.transpose(1, 2)


AnyPacking = Packing | JaggedPacking


def row_length(mask: torch.Tensor, tokens: int) -> int:
    """Return the length of a row on a GPU, of which a shape of `mask` has about `LENGTHS` different ones.

    It has at least one token more, because kernels need no empty document.
    """
    return _round_up(tokens + 1, _step(mask))


def _step(mask: torch.Tensor) -> int:
    return _round_up(-(-mask.numel() // LENGTHS), ROW)


def _round_up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def encode(encoder: Any, ids: torch.Tensor, packing: AnyPacking, others: Mapping[str, torch.Tensor]) -> Any:
    """Return an encoder's output for ids and other inputs [B, L], computed without padding; see `packs`."""
    inputs = {"input_ids": ids, "position_ids": positions(encoder, ids), **others}
    output = encoder(**{name: packing.row(values) for name, values in inputs.items()}, packing=packing)
    output.last_hidden_state = packing.batch(output.last_hidden_state)
    return output


class RowEncoder(nn.Module):
    """An encoder whose padded batches are computed as rows; see `JaggedPacking`."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, length: int, **others: torch.Tensor
    ) -> Any:
        """Return the encoder's output for a batch [B, L], computed as a row of a length."""
        return encode(self.encoder, input_ids, JaggedPacking(attention_mask, length), others)


def positions(encoder: Any, ids: torch.Tensor) -> torch.Tensor:
    """Return the position ids [B, L] of a batch: from 0, or as RoBERTa counts them."""
    embeddings: Any = getattr(encoder, "embeddings", None)
    create_ids = getattr(embeddings, "create_position_ids_from_input_ids", None)
    positions: torch.Tensor = (
        torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        if create_ids is None
        else create_ids(ids, embeddings.padding_idx)
    )
    return positions


def packs(encoder: Any) -> bool:
    """Whether `encode` gives the vectors of a padded batch; found by trying, because configs do not state it.

    Not for an encoder with its own attention, with a pooler, or with windows of attention.
    """
    config, device = encoder.config, next(encoder.parameters()).device
    on_cpu = device.type == "cpu"
    ours = getattr(config, "_attn_implementation", None) == ATTENTION and device.type in DEVICES
    windows = set(getattr(config, "layer_types", None) or ()) - {"full_attention"}
    if not ours or windows or getattr(encoder, "pooler", None) is not None:
        return False

    def packed(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if not on_cpu and config.hidden_size // config.num_attention_heads % EIGHT:
            raise ValueError
        packing = Packing(mask) if on_cpu else JaggedPacking(mask, mask.numel() + 1)
        vectors: torch.Tensor = encode(encoder, ids, packing, {}).last_hidden_state
        return vectors

    return agrees(encoder, packed)


def agrees(encoder: Any, other: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> bool:
    """Whether another computation, of ids and mask [B, L], gives an encoder's vectors [B, L, H] of a small
    padded batch; found by trying.
    """
    device = next(encoder.parameters()).device
    modes = {part: part.training for part in encoder.modules()}  # frozen parts stay in evaluation mode
    encoder.eval()
    try:
        size = encoder.get_input_embeddings().weight.shape[0]
        ids = torch.arange(15).view(3, 5) * 7919 % (size // 2) + size // 4  # in the middle of the vocabulary
        mask = torch.arange(5) < torch.tensor([[2], [3], [5]])  # an odd length: some pad to windows
        ids, mask = ids.to(device), mask.to(device)
        with torch.no_grad(), torch.autocast(device.type, enabled=False):
            expected = encoder(input_ids=ids, attention_mask=mask).last_hidden_state[mask]
            computed = other(ids, mask)[mask]
        return float((expected - computed).abs().max() / expected.abs().max()) <= SAME
    except torch.cuda.OutOfMemoryError:
        raise
    except (AssertionError, AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        return False  # it takes other inputs
    finally:
        for part, mode in modes.items():
            part.training = mode
