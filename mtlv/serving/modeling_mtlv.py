"""A trained model for Transformers alone: the folders of `mtlv export --to hub` have this file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import (
    MODEL_FOR_TEXT_ENCODING_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForTextEncoding,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.utils import ModelOutput

POOLINGS: dict[str, Callable[[Any, torch.Tensor], torch.Tensor]] = {
    "cls": lambda output, _: output[0][:, 0],
    "pooler": lambda output, _: output.pooler_output,
    "mean": lambda output, mask: (output[0] * mask.unsqueeze(-1)).sum(1) / mask.sum(1, True).clamp(min=1),
    "last": lambda output, mask: output[0].take_along_dim(mask.cumsum(1).argmax(1)[:, None, None], 1)[:, 0],
}
"""(encoder's output, attention mask [B, L]) -> document vectors [B, H], by the setting `encoder.features`."""
SCORES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "binary": torch.sigmoid,
    "multiclass": lambda logits: logits.softmax(1),
    "regression": lambda logits: logits,
}
"""Logits of a task -> its probabilities or numbers [B, C], by the kind of task."""


class MtlvConfig(PretrainedConfig):
    """Config of the encoders (`encoder`, `encoders`, `features`), the heads (`heads`: encoder, layers and
    outputs of each), and the tasks (`tasks`), whose logits are `columns` of the heads' outputs."""

    model_type = "mtlv"


@dataclass
class MtlvOutput(ModelOutput):
    """Logits, and probabilities or numbers, of all tasks [B, outputs]; `config.tasks` has their columns."""

    logits: torch.Tensor | None = None
    scores: torch.Tensor | None = None


class MtlvModel(PreTrainedModel):
    """Encoders with linear heads."""

    config_class = MtlvConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        base = AutoConfig.for_model(**config.encoder)
        reader = AutoModelForTextEncoding if type(base) in MODEL_FOR_TEXT_ENCODING_MAPPING else AutoModel
        self.encoders = nn.ModuleList(reader.from_config(base) for _ in range(config.encoders))
        for encoder in self.encoders:
            if config.features != "pooler" and hasattr(encoder, "pooler"):
                encoder.pooler = None  # type: ignore[assignment]
        self.reads_types = getattr(base, "type_vocab_size", 1) > 1  # else a separator tells texts apart
        width, rate = base.hidden_size, float(getattr(base, "hidden_dropout_prob", 0.1))
        self.heads = nn.ModuleList()
        for _, layers, outputs in config.heads:
            head = nn.Sequential()
            for _ in range(layers - 1):
                head.extend([nn.Dropout(rate), nn.Linear(width, width), nn.GELU()])
            self.heads.append(head.extend([nn.Dropout(rate), nn.Linear(width, outputs)]))
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        **_: Any,
    ) -> MtlvOutput:
        """Return logits and scores of texts; token ids and masks are [B, L]."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        types = {"token_type_ids": token_type_ids} if self.reads_types else {}
        vectors = [
            POOLINGS[self.config.features](encoder(input_ids, attention_mask=mask, **types), mask)
            for encoder in self.encoders
        ]
        numbers = (number for number, _, _ in self.config.heads)
        outputs = [head(vectors[number]) for head, number in zip(self.heads, numbers, strict=True)]
        logits = torch.cat(outputs, 1)[:, self.config.columns]
        tasks = [(SCORES[task["kind"]], slice(*task["outputs"])) for task in self.config.tasks]
        return MtlvOutput(logits, torch.cat([score(logits[:, columns]) for score, columns in tasks], 1))
