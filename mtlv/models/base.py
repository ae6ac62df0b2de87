"""The text encoder of a published model of any family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtlv.errors import EncoderError

if TYPE_CHECKING:
    import torch


def base_class(config: Any) -> Any:
    """Return Transformers' auto class for the base model of a config; of encoder-decoder models the encoder.

    Raises:
        EncoderError: an encoder-decoder model, such as BART, whose encoder Transformers cannot load
            separately.
    """
    from transformers import MODEL_FOR_TEXT_ENCODING_MAPPING, AutoModel, AutoModelForTextEncoding

    if type(config) in MODEL_FOR_TEXT_ENCODING_MAPPING:
        return AutoModelForTextEncoding
    if config.is_encoder_decoder:
        raise EncoderError(
            "`encoder.name`: the encoder of this encoder-decoder model cannot be loaded separately",
            got=config.model_type,
            allowed="an encoder, a decoder, or a model like T5",
        )
    return AutoModel


def empty_model(config: Any) -> Any:
    """Create the base model of a config, without memory for its weights."""
    import torch

    with torch.device("meta"):
        return base_class(config).from_config(config, trust_remote_code=False)


def token_types(encoder: Any, segments: torch.Tensor | None) -> dict[str, torch.Tensor]:
    """Return the argument of an encoder that says to which text of a pair [B, L] a token belongs, if any.

    RoBERTa and DistilBERT distinguish two texts only by the separator.
    """
    two = getattr(encoder.config, "type_vocab_size", 1) > 1
    return {"token_type_ids": segments} if two and segments is not None else {}
