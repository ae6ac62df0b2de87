"""How large an encoder says that it is: looked at before anything of that size is made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mtlv.errors import EncoderError
from mtlv.foreign import read_json
from mtlv.models.base import empty_model

MOST_BYTES = 200_000_000  # of a file beside the weights: a config, a vocabulary
MOST_LAYERS = 1_000
MOST_LABELS = 100_000  # Transformers makes a name for each
MOST_PARAMETERS = 20_000_000_000
LAYERS = re.compile(r"(?:^|_)layers?$")  # `num_hidden_layers`, `n_layer`, `encoder_layers`
TEXTS = (".json", ".txt", ".model")
THEN = "give another encoder, or get its files again"


def need_possible(folder: Path) -> None:
    """Refuse the files of an encoder by what they say of themselves, before Transformers reads them.

    Raises:
        EncoderError: a file is too large, or `config.json` is no JSON object or asks for too much.
    """
    for path in sorted(folder.iterdir()):
        if path.suffix in TEXTS and path.stat().st_size > MOST_BYTES:
            raise _too_large(f"`{path}`", f"{path.stat().st_size:,} bytes", f"{MOST_BYTES:,} bytes")
    path = folder / "config.json"
    for key, value in _object(path).items():
        most = MOST_LABELS if key == "num_labels" else MOST_LAYERS if LAYERS.search(key) else None
        if most is not None and isinstance(value, int | float) and value > most:
            raise _too_large(f"`{key}` in `{path}`", value, f"{most:,}")


def need_parameters(config: Any, place: object) -> None:
    """Refuse a model that no machine of today trains; it is built without its weights to be counted.

    Raises:
        EncoderError: it has more than `MOST_PARAMETERS`.
    """
    count = sum(weights.numel() for weights in empty_model(config).parameters())
    if count > MOST_PARAMETERS:
        raise _too_large(
            f"the encoder that {place} describes", f"{count:,} parameters", f"{MOST_PARAMETERS:,} parameters"
        )


def _object(path: Path) -> dict[str, Any]:
    try:
        found = read_json(path)
    except (OSError, ValueError) as error:
        raise EncoderError(f"`{path}` cannot be read", got=error, then=THEN) from error
    if not isinstance(found, dict):
        raise EncoderError(f"`{path}` is no config of an encoder", allowed="a JSON object", then=THEN)
    return found


def _too_large(thing: str, got: object, most: str) -> EncoderError:
    return EncoderError(f"{thing} is too large", got=got, allowed=f"up to {most}", then=THEN)
