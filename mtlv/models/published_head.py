"""The head for masked words that was published with an encoder."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtlv.models.aliases import TINY
from mtlv.models.encoder import PLAIN, Encoder, locate

if TYPE_CHECKING:
    import torch

HEAD_NAMES = ("layers.1", "norm", "bias")  # of `mtlv.models.kinds.masked.MaskedHead`
PUBLISHED = (
    ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"),
    ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),  # RoBERTa
    ("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),  # DistilBERT
)
"""The dense layer, the norm and the bias of the decoder in Transformers' models."""


def with_published_head(encoder: Encoder, revision: str | None, *, own_vocabulary: bool) -> Encoder:
    """Return an encoder with the weights of its published head, if there are any, and a note about them.

    A head is not taken if its decoder does not share the word embeddings, and its decoder's bias not if the
    encoder has a vocabulary of its own.
    """
    published = _load_published(encoder.name, revision)
    if not published:
        note = f"{encoder.name} has no published head for masked words: it starts from random weights"
    else:
        note = f"the head for masked words starts from the one that was published with {encoder.name}"
    head = {name: weight for name, weight in published.items() if not own_vocabulary or name != "bias"}
    return replace(encoder, head=head, notes=(*encoder.notes, note))


def head_digest(head: Mapping[str, torch.Tensor]) -> str:
    """Digest of a head's weights, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for name, weight in sorted(head.items()):
        digest.update(name.encode() + weight.contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def _load_published(name: str, revision: str | None) -> dict[str, torch.Tensor]:
    """Return the weights of a published head, by their names in `MaskedHead`; empty if there is none."""
    import torch
    from transformers import MODEL_FOR_MASKED_LM_MAPPING, AutoConfig, AutoModelForMaskedLM

    if name == TINY:
        return {}
    place = locate(name)
    config = AutoConfig.from_pretrained(place, revision=revision, **PLAIN)
    if type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
        return {}
    model, loading = AutoModelForMaskedLM.from_pretrained(
        place, revision=revision, dtype=torch.float32, output_loading_info=True, **PLAIN
    )
    decoder: Any = model.get_output_embeddings()
    if decoder is None or decoder.weight is not model.get_input_embeddings().weight:
        return {}
    there = {key: weight for key, weight in model.state_dict().items() if key not in loading["missing_keys"]}
    return {head_name: there[theirs].detach().clone() for head_name, theirs in _names_in(there).items()}


def _names_in(there: Container[str]) -> dict[str, str]:
    """Return the name of each weight of `MaskedHead` in a Transformers model with these; empty if it has
    another head.
    """
    for names in PUBLISHED:
        named = {
            f"{head_name}{end}": f"{theirs}{end}"
            for head_name, theirs in zip(HEAD_NAMES, names, strict=True)
            for end in ([""] if head_name == "bias" else [".weight", ".bias"])
        }
        if all(theirs in there for theirs in named.values()):
            return named
    return {}


def save_with_head(module: Any, head: Mapping[str, torch.Tensor], folder: Path) -> bool:
    """Save an encoder and its head for masked words as Transformers does, with a pooler if there is one.

    Args:
        module: the encoder.
        head: state of its `MaskedHead`.
        folder: where to save.

    Returns:
        Whether Transformers has such a head for the encoder; if not, nothing is saved.
    """
    from transformers import MODEL_FOR_MASKED_LM_MAPPING, AutoModelForMaskedLM

    if type(module.config) not in MODEL_FOR_MASKED_LM_MAPPING:
        return False
    model = AutoModelForMaskedLM.from_config(module.config)
    names = _names_in(model.state_dict())
    if names:
        state = {f"{model.base_model_prefix}.{name}": weight for name, weight in module.state_dict().items()}
        model.save_pretrained(folder, state_dict=state | {names[name]: head[name] for name in names})
    return bool(names)
