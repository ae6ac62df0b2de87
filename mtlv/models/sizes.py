"""Size limits of an encoder, checked from its files before it is built."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mtlv.errors import EncoderError
from mtlv.foreign import read_json
from mtlv.models.base import empty_model

MOST_BYTES = 200_000_000  # maximum bytes of a file other than weights: a config, a vocabulary
MOST_LAYERS = 1_000
MOST_LABELS = 100_000  # Transformers creates a name for each
MOST_PARAMETERS = 20_000_000_000
LAYERS = re.compile(r"(?:^|_)layers?$")  # `num_hidden_layers`, `n_layer`, `encoder_layers`
TEXTS = (".json", ".txt", ".model")
THEN = "use another encoder, or download its files again"


def need_possible(folder: Path) -> None:
    """Check the sizes in the files of an encoder, before Transformers reads them.

    Raises:
        EncoderError: a file is too large or not a regular file, or `config.json` is not a JSON object or
            describes a model that is too large.
    """
    for path in sorted(folder.iterdir()):
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe or device is read without end
            raise EncoderError(f"`{path}` is not a regular file", then=THEN)
        if path.suffix in TEXTS and path.stat().st_size > MOST_BYTES:
            raise _too_large(f"`{path}`", f"{path.stat().st_size:,} bytes", f"{MOST_BYTES:,} bytes")
    path = folder / "config.json"
    for key, value in _object(path).items():
        most = MOST_LABELS if key == "num_labels" else MOST_LAYERS if LAYERS.search(key) else None
        if most is not None and isinstance(value, int | float) and value > most:
            raise _too_large(f"`{key}` in `{path}`", value, f"{most:,}")


def need_parameters(config: Any, place: object) -> None:
    """Reject a model that is too large to train; it is built without weights to count them.

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
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise EncoderError(f"`{path}` cannot be read", got=error, then=THEN) from error
    if not isinstance(content, dict):
        raise EncoderError(f"`{path}` is not a config of an encoder", allowed="a JSON object", then=THEN)
    return content


def _too_large(thing: str, got: object, most: str) -> EncoderError:
    return EncoderError(f"{thing} is too large", got=got, allowed=f"up to {most}", then=THEN)
