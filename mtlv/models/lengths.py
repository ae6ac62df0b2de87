"""The longest documents that encoders read."""

from __future__ import annotations

import os

from mtlv.errors import EncoderError
from mtlv.foreign import read_config
from mtlv.models.aliases import known_names
from mtlv.models.layers import config_file

ALIAS_MAX_TOKENS = 512
"""Tokens that each encoder of `mtlv.models.aliases` reads; without a look at the hub's cache, whose library
takes a tenth of a second to import."""


def known_longest(name: str) -> int | None:
    """Return the maximum number of tokens of encoder `name`, from local files; None if unknown."""
    if name in known_names() and not os.path.isdir(name):
        return ALIAS_MAX_TOKENS
    path = config_file(name)
    if path is None:
        return None
    limits = (
        read_config(path).get("max_position_embeddings"),
        read_config(path.parent / "tokenizer_config.json").get("model_max_length"),
    )
    return min((limit for limit in limits if isinstance(limit, int)), default=None)


def too_long(length: int, longest: int, name: str, key: str = "data.max_length") -> EncoderError:
    """Return the error for documents longer than the maximum of encoder `name`."""
    return EncoderError(
        f"`{key}` is more than encoder `{name}` can read", got=length, allowed=f"up to {longest}"
    )
