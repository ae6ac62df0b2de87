"""One encoder with any number of heads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from mtlv.models.features import FEATURES, prepare_pooler, word_vectors
from mtlv.models.kinds import KINDS, Kind
from mtlv.plan import HeadSpec, Task
from mtlv.seeding import content_key, seed_from

INIT_STD = 0.02  # BERT's


class Head(nn.Module):
    """Dropout and a linear layer; each further layer puts a hidden one of the encoder's width before.

    Args:
        width: H, the encoder's width.
        outputs: columns of the last layer.
        layers: at least 1.
        dropout: probability of dropping a feature before each layer.
    """

    def __init__(self, width: int, outputs: int, *, layers: int, dropout: float) -> None:
        super().__init__()
        hidden: list[nn.Module] = []
        for _ in range(layers - 1):
            hidden += [nn.Dropout(dropout), nn.Linear(width, width), nn.GELU()]
        self.layers = nn.Sequential(*hidden, nn.Dropout(dropout), nn.Linear(width, outputs))

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """[B, H] -> [B, outputs], or [B, W, H] -> [B, W, outputs]."""
        return self.layers(vectors)

    def reset(self, generator: torch.Generator) -> None:
        """Draw new weights: the last layer from N(0, 0.02), as BERT does; biases 0.

        Hidden layers follow Glorot and Bengio (2010): from N(0, 0.02) they would pass on two fifths of the
        signal and of the gradient at H = 384, and learn late.
        """
        linear = [layer for layer in self.layers if isinstance(layer, nn.Linear)]
        for layer in linear:
            nn.init.xavier_normal_(layer.weight, generator=generator)
            nn.init.zeros_(layer.bias)
        nn.init.normal_(linear[-1].weight, std=INIT_STD, generator=generator)


class MultiTaskModel(nn.Module):
    """An encoder shared by heads; `forward` gives each head's logits by the head's name.

    Args:
        encoder: a Transformers base model, trained in place.
        heads: what each head learns.
        tasks: the tasks by name.
        features: `cls`, `pooler` or `mean`.
        seed: draws the heads' first weights, the same whatever else the model holds.
        dropout: for encoder and heads; None keeps the encoder's own.
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
    ) -> None:
        super().__init__()
        prepare_pooler(encoder, features)
        self.encoder = encoder
        self.features = FEATURES[features]
        self.specs = {head.name: head for head in heads}
        self.kinds: dict[str, Kind] = {h.name: KINDS[tasks[h.tasks[0]].kind] for h in heads}
        if dropout is not None:
            set_dropout(encoder, dropout)
        rate = dropout if dropout is not None else float(getattr(encoder.config, "hidden_dropout_prob", 0.1))
        # A ModuleDict, so that every head is in the state and in the optimizer.
        self.heads = nn.ModuleDict()
        for head in heads:
            outputs = self.kinds[head.name].outputs([tasks[name] for name in head.tasks])
            module = Head(encoder.config.hidden_size, outputs, layers=head.layers, dropout=rate)
            module.reset(torch.Generator().manual_seed(seed_from(seed, head.name)))
            self.heads[_module_name(head.name)] = module

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        segments: torch.Tensor | None = None,
        words: torch.Tensor | None = None,
        heads: Collection[str] | None = None,
    ) -> dict[str, torch.Tensor]:
        """Logits of each head: [B, outputs], or [B, W, outputs] where each word has some.

        Args:
            input_ids, attention_mask: [B, L].
            segments: [B, L] which text of a pair a token belongs to; None for single texts.
            words: [B, W] place of each word's first token, -1 for none; for heads that read words.
            heads: names of the wanted ones; None is all.
        """
        given = {} if segments is None else {"token_type_ids": segments}
        output = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **given)
        wanted = [name for name in self.specs if heads is None or name in heads]
        vectors: dict[bool, torch.Tensor] = {}  # of documents [B, H], of words [B, W, H]
        for by_word in {self.kinds[name].by_word for name in wanted}:
            vectors[by_word] = (
                word_vectors(output, words) if by_word else self.features(output, attention_mask)
            )
        return {name: self.heads[_module_name(name)](vectors[self.kinds[name].by_word]) for name in wanted}


def _module_name(head: str) -> str:
    return f"head_{content_key(head, 8)}"  # PyTorch allows no dot, and no name that a module has already


def set_dropout(module: nn.Module, rate: float) -> None:
    """Set every dropout of a Transformers model to `rate`, attention's own included."""
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = rate
    config: Any = module.config
    for key in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        if hasattr(config, key):
            setattr(config, key, rate)
