"""Detection of causal attention, and the features that causal encoders support."""

from __future__ import annotations

from typing import Any

from mtlv.errors import EncoderError
from mtlv.models.aliases import known_names
from mtlv.models.base import empty_model
from mtlv.models.layers import config_file
from mtlv.models.sizes import need_possible

UNSEEING = frozenset({"cls", "pooler", "start"})
"""Features that read a first token, which sees no other token in a causal encoder."""
SEEING = {
    "encoder.features": "mean, last, attention",
    "heads.relation_features": "document, mention, mention_mean",
}
"""The other features, by setting."""
SEEN = 1e-5
"""Relative to the largest value; in random models of 110 families rounding is <= 2e-7, effects >= 9e-4."""


def is_causal(module: Any, name: str) -> bool:
    """Whether no token's vector depends on later tokens; found by changing the last one.

    Configs do not state it uniformly, or at all.

    Raises:
        EncoderError: it cannot compute vectors from token ids alone.
    """
    try:
        return _change_by_next_token(module) <= SEEN
    except Exception as error:  # models that need images, audio or a second text raise various errors
        raise EncoderError(
            f"`encoder.name`: `{name}` does not read text alone",
            got=module.config.model_type,
            allowed="a model that computes a vector for each token of a text",
        ) from error


def _change_by_next_token(module: Any) -> float:
    """Return how much vectors change with the next token, relative to their largest value."""
    import torch

    # In the middle of the vocabulary: neither special nor untrained tokens.
    middle = module.get_input_embeddings().weight.shape[0] // 2
    ids = torch.full((2, 1, 4), middle)
    ids[1, 0, -1] = middle // 2 + 1
    with torch.no_grad():
        one, other = (
            module(input_ids=tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state
            for tokens in ids
        )
    return float((one - other)[:, :-1].abs().max() / one.abs().max())


def is_causal_by_config(name: str) -> bool:
    """Whether the local config of encoder `name` says that it is causal; False if unknown."""
    path = None if name in known_names() else config_file(name)
    if path is None:
        return False
    from transformers import AutoConfig  # takes seconds

    try:
        need_possible(path.parent)
        config = AutoConfig.from_pretrained(path.parent, local_files_only=True, trust_remote_code=False)  # nosec B615
        causal = [getattr(part, "is_causal", False) for part in empty_model(config).modules()]
    except Exception:  # reported when the encoder is loaded
        return False
    # Transformers' own switch makes a decoder's attention bidirectional.
    return True in causal and getattr(config, "is_causal", True)


def need_seeing(
    name: str,
    *,
    features: str,
    relation_features: str = "document",
    tagged: bool = False,
    hidden: bool = False,
) -> None:
    """Raise an error for features of tokens that see little or nothing of the text, in a causal encoder.

    Args:
        name: name of the encoder.
        features: the setting `encoder.features`.
        relation_features: the setting `heads.relation_features`, if relations are learned.
        tagged: whether tags of words are learned.
        hidden: whether masked words are learned.

    Raises:
        EncoderError: the first token of a document, entity or word would be read, or words would be predicted
            from those before them only.
    """
    why = f"in encoder `{name}` a token sees only those before it (causal attention)"
    for key, value in (("encoder.features", features), ("heads.relation_features", relation_features)):
        if value in UNSEEING:
            raise EncoderError(
                f"`{key}`: {why}, and the first token sees no other", got=value, allowed=SEEING[key]
            )
    if tagged:
        raise EncoderError(
            f"`encoder.name`: tags are read from the first token of each word, and {why}",
            then="use an encoder with bidirectional attention, or leave out tagging tasks",
        )
    if hidden:
        raise EncoderError(
            f"`encoder.name`: masked words are predicted from the words on both sides, and {why}",
            then="use an encoder with bidirectional attention, such as minilm, or leave out the texts",
        )
