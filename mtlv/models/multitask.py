"""One encoder with any number of heads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, cached_property, partial
from types import MappingProxyType
from typing import Any, Self

import torch
from torch import nn

from mtlv.errors import PlanError
from mtlv.models.base import token_types
from mtlv.models.fast.attention import use_fast_attention
from mtlv.models.fast.dropout import set_dropout, use_fast_dropout
from mtlv.models.fast.frozen_cache import AboveFrozen, FrozenCache
from mtlv.models.fast.graphs import MULTIPLE, Graphed
from mtlv.models.fast.packing import AnyPacking, JaggedPacking, Packing, RowEncoder, encode, packs, row_length
from mtlv.models.fast.stacked import repeat
from mtlv.models.heads import Head, HeadSize
from mtlv.models.kinds import KINDS, Kind
from mtlv.models.layers import lowest
from mtlv.models.lora import LoRA, adapt, freeze
from mtlv.models.pooling import (
    FEATURES,
    WINDOW_POOLINGS,
    Pooler,
    TokenPositions,
    WordPooler,
    join_windows,
    pool_windows,
    prepare_pooler,
)
from mtlv.models.private import PrivateLayers
from mtlv.plan import HeadSpec, Task
from mtlv.seeding import content_key, seed_from

WORDS = WordPooler()
FULL_LENGTH = 2**20
"""Multiple of lengths with which all batches are as long as the longest document."""
NO_RELATIONS: Mapping[str, Pooler] = MappingProxyType({})


class MultiTaskModel(nn.Module):
    """An encoder shared by heads; `forward` returns each head's logits by the head's name.

    Args:
        encoder: a Transformers base model, trained in place.
        heads: specification of each head.
        tasks: the tasks by name.
        features: one of `mtlv.models.pooling.FEATURES`.
        seed: seed of the heads' initial weights, which do not depend on other parts of the model.
        dropout: for encoder and heads; None keeps the encoder's own.
        kinds: the kinds of task by name.
        relations: task name -> features of its head, instead of the document vector.
        frozen_layers: number of frozen layers, from the lowest; the embeddings are then frozen too, and
            neither has dropout; 0 freezes nothing.
        below: cache of the outputs of frozen layers on a CPU, shared with other models.
        lora: adapters of the layers above the frozen ones; those of private layers are a head's own.
        stack: most heads whose private layers are computed as one in training; None for all.
        window_pooling: how the vectors of a document's windows are pooled, one of
            `mtlv.models.pooling.WINDOW_POOLINGS`; None is the first.

    Raises:
        PlanError: the tasks of a head have different inputs.
        EncoderError: the encoder has fewer layers.
    """

    def __init__(
        self,
        encoder: Any,
        heads: Sequence[HeadSpec],
        *,
        tasks: Mapping[str, Task],
        features: str,
        seed: int,
        dropout: float | None = None,
        kinds: Mapping[str, Kind] = KINDS,
        relations: Mapping[str, Pooler] = NO_RELATIONS,
        frozen_layers: int = 0,
        below: FrozenCache | None = None,
        lora: LoRA | None = None,
        stack: int | None = 1,
        window_pooling: str | None = None,
    ) -> None:
        super().__init__()
        prepare_pooler(encoder, features)
        self.encoder = encoder
        self.specs = {head.name: head for head in heads}
        self.kinds: dict[str, Kind] = {}
        self.readers: dict[str, Pooler] = {}
        document = FEATURES[features]
        self._window_pooling = WINDOW_POOLINGS[window_pooling or next(iter(WINDOW_POOLINGS))]
        if dropout is not None:
            set_dropout(encoder, dropout)
        rate = dropout if dropout is not None else float(getattr(encoder.config, "hidden_dropout_prob", 0.1))
        # A ModuleDict, so that every head is in the state and in the optimizer.
        self.heads = nn.ModuleDict()
        for head in heads:
            kind = kinds[tasks[head.tasks[0]].kind]
            self.readers[head.name] = _reader(head, WORDS if kind.by_word else document, relations)
            outputs = kind.outputs([tasks[name] for name in head.tasks])
            self._add(head, kind, outputs, dropout=rate, seed=seed)
        self.private: PrivateLayers | None = None
        if heads[0].private:
            modules, shared = [module_of(head.name) for head in heads], lora is not None
            self.private = PrivateLayers(
                encoder, modules, heads[0].private, frozen_layers, shared=shared, most=stack
            )
        if lora is not None:
            self._adapt(lora, int(encoder.config.num_hidden_layers) - frozen_layers, seed)
        use_fast_dropout(self)
        use_fast_attention(self)
        self._frozen = lowest(encoder, frozen_layers) if frozen_layers else ()  # a tuple: not registered
        for part in self._frozen:
            part.requires_grad_(False)
        self._graphs: Graphed | None = None
        self.encoded: Any = None  # output of the encoder for the next batch, if it was computed with others
        self._above: tuple[AboveFrozen, ...] = ()
        self.is_perturbed = any(kind.adversarial for kind in self.kinds.values())
        if below is not None and frozen_layers and self.private is None and not self.is_perturbed:
            above = AboveFrozen(encoder, frozen_layers, below)
            self._above = (above,) if above.can_be_kept else ()

    def _add(self, head: HeadSpec, kind: Kind, outputs: int, *, dropout: float, seed: int) -> None:
        width = self.encoder.config.hidden_size
        reader = self.readers[head.name]
        shape = HeadSize(width, outputs, head.layers, dropout, reader.width(width), attends=reader.by_token)
        module = kind.head(shape)
        module.use_encoder(self.encoder)
        module.reset(torch.Generator().manual_seed(seed_from(seed, head.name)))
        self.heads[module_of(head.name)] = module
        self.kinds[head.name] = kind.bind(module)

    def _adapt(self, lora: LoRA, layers: int, seed: int) -> None:
        copies = {} if self.private is None else dict(self.private.copies.items())
        private = next(iter(self.specs.values())).private
        adapt(self.encoder, lora, layers=layers if lora.frozen else private, seed=seed)
        for name, top in copies.items():
            adapt(top, lora, layers=private, seed=seed_from(seed, name))
        if lora.frozen:
            freeze(self.encoder)  # and with it the same weights in the copies

    @property
    def packs(self) -> bool:
        """Whether a padded batch is now computed without padding: on a CPU, in training or for gradients."""
        on_cpu = next(self.encoder.parameters()).device.type == "cpu"
        return (self.training or torch.is_grad_enabled()) and on_cpu and self._packable

    @property
    def keeps_below(self) -> bool:
        """Whether the output of frozen layers is kept, for training and prediction."""
        return bool(self._above)

    @property
    def reader(self) -> Any:
        """The encoder, or the part of it that reads the output of frozen layers, if these are kept."""
        on_cpu = next(self.encoder.parameters()).device.type == "cpu"
        return self._above[0] if self._above and on_cpu else self.encoder

    @property
    def remembers(self) -> bool:
        """Whether a call keeps vectors in the model while it runs, so that no two calls may overlap."""
        return self.keeps_below or self.private is not None

    @cached_property
    def _packable(self) -> bool:
        return packs(self.encoder)

    def start_from(self, published: Mapping[str, torch.Tensor]) -> None:
        """Start the heads from the weights that were published with the encoder, if they have any."""
        for head in self.heads.values():
            assert isinstance(head, Head)
            head.start_from(published)

    def use_targets(self, targets: Callable[[str], torch.Tensor]) -> None:
        """Adapt the heads to the training targets [n] of their tasks, which a function returns by name."""
        for name, spec in self.specs.items():
            head = self.heads[module_of(name)]
            assert isinstance(head, Head)
            head.use_targets(lambda spec=spec: [targets(task) for task in spec.tasks])  # type: ignore[misc]

    @property
    def multiple(self) -> int:
        """Number of which lengths of batches are multiples for recorded steps, for few different shapes."""
        return FULL_LENGTH if self._packable else MULTIPLE

    def row(self, mask: torch.Tensor, tokens: int) -> int | None:
        """Return the length of the row in which a recorded step computes a batch without padding.

        None if the encoder needs padding.
        """
        return row_length(mask, tokens) if self._packable else None

    def use_graphs(self, graphed: Callable[[Any], Graphed]) -> Graphed:
        """Record the training passes of the encoder alone; see `mtlv.training.recorded`."""
        self._graphs = graphed(RowEncoder(self.encoder) if self._packable else self.encoder)
        return self._graphs

    def end_graphs(self) -> None:
        """Compute all passes as usual from now on."""
        self._graphs = None

    def train(self, mode: bool = True) -> Self:
        """Set the training mode; frozen parts stay in evaluation mode."""
        super().train(mode)
        for part in self._frozen:
            part.eval()
        return self

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        segments: torch.Tensor | None = None,
        words: torch.Tensor | None = None,
        mentions: torch.Tensor | None = None,
        heads: Collection[str] | None = None,
        tokens: int | None = None,
        row: int | None = None,
        windows: torch.Tensor | None = None,
        read: Callable[[Any, torch.Tensor, torch.Tensor | None], torch.Tensor] = Head.__call__,
    ) -> dict[str, torch.Tensor]:
        """Return the logits of each head: [B, outputs], or [B, W, outputs] with one per word.

        Args:
            input_ids, attention_mask: [B, L].
            segments: [B, L] text of a pair to which a token belongs; None for single texts.
            words: [B, W] index of each word's first token, -1 for none; for heads that read words.
            mentions: [B, M, 2] first token of each marked entity and the one after its last, negative for
                none; for heads that read mentions.
            heads: names of the requested heads; None is all.
            tokens: number of true values in `attention_mask`, if known: without padding, the encoder gets no
                mask.
            row: see `row`; None computes the batch as it is.
            windows: [B, W] row of the inputs of each window of a document, negative for none; None if each
                document is a row. Vectors of windows are pooled before the heads.
            read: what is returned of a head, given its vectors and which of them exist; its logits.
        """
        segment_ids = token_types(self.encoder, segments)
        names = [name for name in self.specs if heads is None or name in heads]
        padded = tokens is None or tokens < attention_mask.numel()
        outputs = self._outputs(input_ids, attention_mask, segment_ids, padded, names, row)
        places = TokenPositions(attention_mask, words, mentions)
        is_token, is_word = join_windows(attention_mask, windows), None if words is None else words >= 0
        vectors: dict[tuple[int, Pooler], Any] = {}  # features of several heads are computed once
        logits = {}
        for name in names:
            reader = self.readers[name]
            key = id(outputs[name]), reader
            if key not in vectors:
                vectors[key] = reader(outputs[name], places)
                if reader.by_token:
                    vectors[key] = join_windows(vectors[key], windows)
                elif windows is not None:
                    pooling = self._window_pooling
                    vectors[key] = pool_windows(pooling, vectors[key], attention_mask, windows)
            there = is_token if reader.by_token else is_word
            logits[name] = read(self.heads[module_of(name)], vectors[key], there)
        return logits

    def _outputs(
        self,
        ids: torch.Tensor,
        mask: torch.Tensor,
        segment_ids: Mapping[str, torch.Tensor],
        padded: bool,
        heads: Sequence[str],
        row: int | None,
    ) -> dict[str, Any]:
        """Return the output of the encoder that each head reads."""
        if self.private is None:
            return dict.fromkeys(heads, self._encode(ids, mask, segment_ids, padded, row))
        names = {module_of(name): name for name in heads}
        packing_of = cache(partial(self._packing, mask, padded, row))
        by_module = self.private(ids, mask if padded else None, segment_ids, packing_of, list(names))
        return {names[module]: output for module, output in by_module.items()}

    def _packing(self, mask: torch.Tensor, padded: bool, row: int | None, rows: int = 1) -> AnyPacking | None:
        """Return how a batch, `rows` times, is computed without padding.

        None if it has none, the encoder needs it, or it is a stack's on a CPU, where nothing is gained.
        """
        if row is not None:
            return JaggedPacking(repeat(mask, rows), row, rows)
        return Packing(mask) if rows == 1 and padded and self.packs else None

    def _encode(
        self,
        ids: torch.Tensor,
        mask: torch.Tensor,
        segment_ids: Mapping[str, torch.Tensor],
        padded: bool,
        row: int | None,
    ) -> Any:
        """Return the encoder's output; the part of frozen layers is read from `below`, if given."""
        if self.encoded is not None:
            return self.encoded
        if self.training and self._graphs is not None:  # always with a mask, for fewer recordings
            length = {} if row is None else {"length": row}
            return self._graphs(input_ids=ids, attention_mask=mask, **length, **segment_ids)
        packing = self._packing(mask, padded, row)
        if self._above and ids.device.type == "cpu":
            return self._above[0](ids, mask, segment_ids.get("token_type_ids"), packing=packing)
        if packing is not None:
            return encode(self.encoder, ids, packing, segment_ids)
        return self.encoder(input_ids=ids, attention_mask=mask if padded else None, **segment_ids)


@cache
def module_of(head: str) -> str:
    """Return the name of a head's module; PyTorch allows no dots and no existing attribute names."""
    return f"head_{content_key(head, 8)}"


def _reader(head: HeadSpec, usual: Pooler, relations: Mapping[str, Pooler]) -> Pooler:
    readers = {relations.get(task, usual) for task in head.tasks}
    if len(readers) > 1:
        raise PlanError(
            f"tasks of one head have different features: {', '.join(head.tasks)}",
            then="give relations separate heads, or the same features to all",
        )
    return readers.pop()
