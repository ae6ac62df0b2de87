"""Layers of an encoder: their number, frozen layers, and gradient checkpointing."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtlv.errors import EncoderError
from mtlv.foreign import read_config
from mtlv.models.aliases import HUB, PACKAGED, TINY

if TYPE_CHECKING:
    from torch import nn

TINY_LAYERS = 2
COUNTS = ("num_hidden_layers", "n_layers", "n_layer")  # names in configs


def known_layers(name: str) -> int | None:
    """Return the number of layers of encoder `name`, from local files; None if unknown."""
    if name == TINY:
        return TINY_LAYERS
    path = config_file(name)
    config = read_config(path) if path is not None else {}
    counts = [config[key] for key in COUNTS if isinstance(config.get(key), int)]
    return counts[0] if counts else None


def config_file(name: str) -> Path | None:
    """Return the local path of the config of encoder `name`; None if there is none."""
    if name in PACKAGED:
        folder = PACKAGED[name].folder
        if folder is not None:
            return folder / "config.json"
    path = Path(os.path.expanduser(name))
    if path.is_dir():
        return path / "config.json"
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached = try_to_load_from_cache(HUB.get(name, name), "config.json")
    except HFValidationError:  # not a valid name on a hub
        return None
    return Path(cached) if isinstance(cached, str) else None


def check_frozen(count: int, layers: int | None, name: str) -> None:
    """Raise an error for more frozen layers than there are.

    Raises:
        EncoderError: there are fewer.
    """
    if layers is not None and count > layers:
        raise EncoderError(
            f"`encoder.frozen_layers` is more than the number of layers of encoder `{name}`",
            got=count,
            allowed=f"0 to {layers}",
        )


def check_private(count: int, frozen: int, layers: int | None, name: str) -> None:
    """Raise an error for more private layers than there are above the frozen ones.

    Raises:
        EncoderError: there are fewer.
    """
    if layers is not None and count > layers - frozen:
        above = f" above its {frozen} frozen ones" if frozen else ""
        raise EncoderError(
            f"`architecture.private_layers` is more than the number of layers of encoder `{name}`{above}",
            got=count,
            allowed=f"0 to {layers - frozen}",
        )


def lowest(encoder: Any, count: int) -> tuple[Any, ...]:
    """Return the embeddings and the `count` lowest layers of a Transformers base model, from the bottom up.

    Raises:
        EncoderError: it has fewer layers, or an unknown structure.
    """
    check_frozen(count, int(encoder.config.num_hidden_layers), _kind(encoder))
    layers = _layers(encoder)
    below = [part for key, part in encoder.named_children() if key.startswith("embeddings")]
    if not layers or not below:
        raise _no_layers("encoder.frozen_layers", "0", encoder)
    return (*below, *layers[:count])


def layers_above(encoder: Any, copies: Iterable[Any] = ()) -> dict[nn.Parameter, int]:
    """Return the number of layers above each weight of a Transformers base model.

    Weights that are registered before the layers, such as embeddings, have all above them; those after the
    layers, such as a pooler, none.

    Args:
        encoder: the base model.
        copies: copies of its top layers, see `split`.

    Raises:
        EncoderError: it has an unknown structure.
    """
    path = _path(encoder)
    if path is None:
        raise _no_layers("training.rates.layers", "1", encoder)
    counts: dict[nn.Parameter, int] = {}
    for part in (encoder, *copies):
        count = above = len(part.get_submodule(path))
        for name, weight in part.named_parameters():
            if name.startswith(f"{path}."):
                above = count - 1 - int(name.removeprefix(f"{path}.").partition(".")[0])
            counts[weight] = above
    return counts


def _layers(encoder: Any) -> list[Any]:
    """Return the layers of a base model, from the bottom up; none if its structure is unknown."""
    path = _path(encoder)
    return [] if path is None else list(encoder.get_submodule(path))


def _path(encoder: Any) -> str | None:
    """Return the name of the list of layers in a base model."""
    from torch import nn

    count = int(encoder.config.num_hidden_layers)
    parts = encoder.named_modules()
    return next((key for key, part in parts if isinstance(part, nn.ModuleList) and len(part) == count), None)


def _kind(encoder: Any) -> str:
    return str(getattr(encoder.config, "model_type", "?"))


def _no_layers(setting: str, none: str, encoder: Any) -> EncoderError:
    return EncoderError(
        f"`{setting}`: the layers of this encoder cannot be found",
        got=_kind(encoder),
        allowed=f"{none}, or an encoder like BERT, RoBERTa, DistilBERT or ELECTRA",
    )


def compute_twice(encoder: Any) -> None:
    """Recompute the layers in the backward pass instead of storing their values (Chen et al. 2016).

    Gradients are the same bit for bit, also with dropout; a step takes about a third longer.

    Raises:
        EncoderError: the encoder does not support it.
    """
    # Its name before and after Transformers 5.23.
    enable = getattr(encoder, "activation_checkpointing_enable", None)
    try:
        (enable or encoder.gradient_checkpointing_enable)()
    except ValueError as error:
        raise EncoderError(
            "`training.gradient_checkpointing`: not supported by this encoder",
            got=str(encoder.config.model_type),
            then="set it to false",
        ) from error
    encoder.disable_input_require_grads()  # only needed for another implementation


def split(encoder: Any, count: int) -> tuple[Any, Any]:
    """Split a base model into the part up to its `count` lowest layers, and the part above them.

    Both are views with the encoder's own modules. The upper one reads vectors [B, L, H] that are set as
    `embeddings.hidden`.
    """
    lower, upper = _with_layers(encoder, slice(count)), _with_layers(encoder, slice(count, None))
    if getattr(lower, "pooler", None) is not None:
        lower._modules["pooler"] = None
    upper._modules["embeddings"] = _precomputed_embeddings()
    upper._modules.pop("embeddings_project", None)
    return lower, upper


def _precomputed_embeddings() -> Any:
    from torch import nn

    class Precomputed(nn.Module):
        """Replacement of embeddings: precomputed vectors."""

        hidden: Any = None

        def forward(self, *_: Any, **__: Any) -> Any:
            return self.hidden

    return Precomputed()


def _with_layers(encoder: Any, kept: slice) -> Any:
    """Return a view of an encoder with some of its layers."""
    from torch import nn

    *path, last = str(_path(encoder)).split(".")
    top = at = view(encoder)
    for key in path:
        at._modules[key] = view(at._modules[key])
        at = at._modules[key]
    at._modules[last] = nn.ModuleList(list(at._modules[last])[kept])
    return top


def view(module: Any) -> Any:
    """Return a copy of a module with the same parts, which can be replaced in it."""
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    return twin
