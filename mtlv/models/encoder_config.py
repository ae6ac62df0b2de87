"""An encoder without its weights: the files needed to load trained weights into it again, its tokenizer."""

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
    """Write the encoder's config and tokenizer files into `folder`, without weights."""
    encoder.module.config.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)


def read_bare(folder: Path) -> tuple[Any, Any]:
    """Return the Transformers base model of `folder`, with uninitialized weights, and the tokenizer.

    Nothing is downloaded, and no code of the folder is run.

    Raises:
        EncoderError: the files are missing, cannot be read, or describe a model that is too large.
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
    except Exception as error:  # readers of configs and vocabularies raise various errors
        lines = str(error).strip().splitlines()
        raise EncoderError(
            f"the encoder in {folder} cannot be read",
            got=lines[0] if lines else type(error).__name__,
            then="get the model again from its run",
        ) from error


def tokenizer_digest(tokenizer: Any) -> str:
    """Digest of the tokenization, 16 hexadecimal digits; equal for a faithful copy."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:  # a Python tokenizer: only its vocabulary is accessible
        content = json.dumps(sorted(tokenizer.get_vocab().items()))
    else:
        parts = json.loads(backend.to_str())
        # It contains length limit and padding of the last call, which do not matter.
        content = json.dumps({**parts, "truncation": None, "padding": None}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def tokenizer_key(tokenizer: Any) -> tuple[str, str, str]:
    """Return the identity of a tokenizer: its digest, side of truncation, and library version."""
    import tokenizers

    return tokenizer_digest(tokenizer), tokenizer.truncation_side, tokenizers.__version__


def complete(tokenizer: Any) -> tuple[str, ...]:
    """Change a tokenizer in place: its end token pads if it has no pad token, and ends texts if nothing does.

    Each text then ends with this token, also both texts of a pair (as in Radford et al. 2018). Without it,
    two texts would not be separated, and an empty text would have no token.

    Returns:
        Notes on the changes.
    """
    end, notes = tokenizer.eos_token, []
    if end is None:
        return ()
    if tokenizer.pad_token is None:
        tokenizer.pad_token = end
        notes.append(f"has no pad token: {end} is used for padding, and is masked there")
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and not backend.num_special_tokens_to_add(False):
        backend.post_processor = _ending(backend.post_processor, end, tokenizer.eos_token_id)
        notes.append(f"marks no ends of texts: {end} is appended to each")
    return tuple(notes)


def _ending(before: Any, end: str, number: int) -> Any:
    from tokenizers import processors

    ends = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A {end} $B:1 {end}:1", special_tokens=[(end, number)]
    )
    return ends if before is None else processors.Sequence([before, ends])
