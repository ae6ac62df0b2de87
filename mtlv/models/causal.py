"""Whether an encoder's tokens see those behind them, and what may be read of one whose tokens do not."""

from __future__ import annotations

from typing import Any

from mtlv.errors import EncoderError
from mtlv.models.aliases import known_names
from mtlv.models.base import empty_model
from mtlv.models.layers import config_file
from mtlv.models.sizes import need_possible

UNSEEING = frozenset({"cls", "pooler", "start"})
"""Features of documents and relations that read a first token, which sees no other in a causal encoder."""
SEEING = {"encoder.features": "mean, last", "heads.relation_features": "document, mention"}
"""The others, by their setting."""
SEEN = 1e-5
"""Of the largest value; in random models of 110 families rounding is up to 2e-7, what is seen from 9e-4."""


def is_causal(module: Any, name: str) -> bool:
    """Whether no token's vector depends on a token behind it, found by changing the last one.

    Configs do not say it in one way, and some not at all.

    Args:
        module: a Transformers base model in evaluation.
        name: of the encoder.

    Raises:
        EncoderError: it makes no vectors of token ids alone.
    """
    try:
        return _seen(module) <= SEEN
    except Exception as error:  # models that want pictures, sound or a second text raise errors of their own
        raise EncoderError(
            f"`encoder.name`: `{name}` does not read texts by themselves",
            got=module.config.model_type,
            allowed="a model that makes a vector of each token of a text",
        ) from error


def _seen(module: Any) -> float:
    """How much vectors change with the token behind them, as a share of their largest value."""
    import torch

    # Of the vocabulary: neither special tokens nor those that nothing has trained.
    middle = module.get_input_embeddings().weight.shape[0] // 2
    ids = torch.full((2, 1, 4), middle)
    ids[1, 0, -1] = middle // 2 + 1
    with torch.no_grad():
        one, other = (
            module(input_ids=each, attention_mask=torch.ones_like(each)).last_hidden_state for each in ids
        )
    return float((one - other)[:, :-1].abs().max() / one.abs().max())


def said_causal(name: str) -> bool:
    """Whether the config of encoder `name` on this machine says so; False where it does not say."""
    path = None if name in known_names() else config_file(name)
    if path is None:
        return False
    from transformers import AutoConfig  # takes seconds

    try:
        need_possible(path.parent)
        config = AutoConfig.from_pretrained(path.parent, local_files_only=True, trust_remote_code=False)  # nosec B615
        causal = [getattr(part, "is_causal", False) for part in empty_model(config).modules()]
    except Exception:  # told when the encoder is loaded
        return False
    # Transformers' own switch makes a decoder's attention look both ways.
    return True in causal and getattr(config, "is_causal", True)


def need_seeing(
    name: str, *, features: str, relation_features: str = "document", tagged: bool = False
) -> None:
    """Refuse what would be read of tokens that see little or nothing of the text, of a causal encoder.

    Args:
        name: of the encoder.
        features: the setting `encoder.features`.
        relation_features: the setting `heads.relation_features`, where relations are learned.
        tagged: whether tags of words are learned.

    Raises:
        EncoderError: a document's, an entity's or a word's first token would be read.
    """
    why = f"in encoder `{name}` a token sees only those before it (causal attention)"
    for key, value in (("encoder.features", features), ("heads.relation_features", relation_features)):
        if value in UNSEEING:
            raise EncoderError(f"`{key}`: {why}, a first token none", got=value, allowed=SEEING[key])
    if tagged:
        raise EncoderError(
            f"`encoder.name`: tags are read from the first token of each word, and {why}",
            then="give an encoder whose attention looks both ways, or leave tagging tasks out",
        )
