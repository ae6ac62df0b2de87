"""An encoder without its weights: what must be on disk so that trained weights can be put into it again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtlv.errors import EncoderError
from mtlv.models.base import base_class
from mtlv.models.sizes import need_parameters, need_possible

if TYPE_CHECKING:
    from mtlv.models.encoder import Encoder

HERE = {"local_files_only": True, "trust_remote_code": False}


def write_bare(encoder: Encoder, folder: Path) -> None:
    """Write the encoder's config and its tokenizer's files into `folder`, no weights."""
    encoder.module.config.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)


def read_bare(folder: Path) -> tuple[Any, Any]:
    """The Transformers base model that `folder` describes, its weights not yet of any use, and the tokenizer.

    Nothing is fetched, and code that a folder brings or names is not run.

    Raises:
        EncoderError: the folder's files are not there, cannot be read, or ask for more than can be.
    """
    from transformers import AutoConfig, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    try:
        need_possible(folder)
        config = AutoConfig.from_pretrained(folder, **HERE)  # nosec B615 # a folder, no download
        need_parameters(config, folder)
        tokenizer = AutoTokenizer.from_pretrained(folder, **HERE)  # nosec B615 # a folder, no download
        return base_class(config).from_config(config, trust_remote_code=False), tokenizer
    except EncoderError:
        raise
    except Exception as error:  # readers of configs and vocabularies raise errors of their own
        said = str(error).strip().splitlines()
        raise EncoderError(
            f"the encoder in {folder} cannot be read",
            got=said[0] if said else type(error).__name__,
            then="get the model again from its run",
        ) from error


def tokenizer_digest(tokenizer: Any) -> str:
    """Digest of how texts become ids, 16 hexadecimal digits; equal where a copy was read back faithfully."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:  # written in Python: its vocabulary is all that can be asked for
        content = json.dumps(sorted(tokenizer.get_vocab().items()))
    else:
        parts = json.loads(backend.to_str())
        # The last call's length limit and padding stay in it, and say nothing about the next.
        content = json.dumps({**parts, "truncation": None, "padding": None}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def tokenizer_key(tokenizer: Any) -> tuple[str, str, str]:
    """What tells it from tokenizers that make other tokens: itself, its side of truncation, its library."""
    import tokenizers

    return tokenizer_digest(tokenizer), tokenizer.truncation_side, tokenizers.__version__
