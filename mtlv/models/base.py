"""The text encoder of a published model of any family."""

from __future__ import annotations

from typing import Any

from mtlv.errors import EncoderError


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
