"""The part of a published model that reads text, of whatever family it is."""

from __future__ import annotations

from typing import Any

from mtlv.errors import EncoderError


def base_class(config: Any) -> Any:
    """Transformers' auto class of the base model that a config describes; of encoder and decoder the encoder.

    Raises:
        EncoderError: a model of both, such as BART, whose encoder Transformers does not load alone.
    """
    from transformers import MODEL_FOR_TEXT_ENCODING_MAPPING, AutoModel, AutoModelForTextEncoding

    if type(config) in MODEL_FOR_TEXT_ENCODING_MAPPING:
        return AutoModelForTextEncoding
    if config.is_encoder_decoder:
        raise EncoderError(
            "`encoder.name`: this is a model of encoder and decoder, and its encoder cannot be loaded alone",
            got=config.model_type,
            allowed="an encoder, a decoder, or a model like T5",
        )
    return AutoModel


def empty_model(config: Any) -> Any:
    """The base model that a config describes, without memory for its weights."""
    import torch

    with torch.device("meta"):
        return base_class(config).from_config(config, trust_remote_code=False)
