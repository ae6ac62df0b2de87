"""Low-rank adapters of an encoder's linear layers (LoRA, Hu et al., ICLR 2022).

    y = x Wᵀ + bias + (alpha / rank) drop(x) Aᵀ Bᵀ        A [rank, in], B [out, rank]

A is random and B is 0 at the start, so that the encoder is the published one. An adapted layer stays an
`nn.Linear` with the names of its weights, so whatever reads or carries these works as before. This is less
code than using `peft` would be, which renames the weights of the whole encoder.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from mtlv.errors import EncoderError
from mtlv.formatting import list_first
from mtlv.models.aliases import TINY
from mtlv.models.base import empty_model
from mtlv.models.layers import config_file
from mtlv.models.tiny import tiny_config
from mtlv.seeding import seed_from

A, B, SCALE = "lora_a", "lora_b", "lora_scale"


@dataclass(frozen=True)
class LoRA:
    """Settings of adapters.

    Args:
        rank: rank of each change.
        alpha: factor of the changes, divided by the rank.
        modules: ends of the names of the adapted linear layers; None adapts all within the encoder's layers.
        dropout: dropout of the adapters' inputs.
        frozen: whether the encoder's own weights are frozen.
    """

    rank: int
    alpha: float
    modules: tuple[str, ...] | None = None
    dropout: float = 0.0
    frozen: bool = True


class AdaptedLinear(nn.Linear):
    """A linear layer with an adapter; made from one by `_adapt`."""

    lora_a: nn.Parameter
    lora_b: nn.Parameter
    lora_scale: torch.Tensor
    lora_dropout: nn.Dropout

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        low = functional.linear(self.lora_dropout(input), self.lora_a)
        return super().forward(input) + self.lora_scale * functional.linear(low, self.lora_b)


def adapt(part: nn.Module, lora: LoRA, *, layers: int, seed: int) -> None:
    """Give the linear layers of an encoder, or of a part of it, adapters in place.

    Args:
        part: an encoder or a view of some of its layers.
        lora: the settings.
        layers: number of its layers that get adapters, from the top; those below are frozen or others'.
        seed: seed of the initial weights.

    Raises:
        EncoderError: there is no linear layer of a name.
    """
    linear = dict(adaptable(part, layers))
    for name in choose_layers(list(linear), lora.modules):
        _adapt(linear[name], lora, torch.Generator().manual_seed(seed_from(seed, "lora", name)))


def adaptable(part: nn.Module, layers: int) -> Iterator[tuple[str, nn.Linear]]:
    """Yield the linear layers within the `layers` top layers, by their names within `part`."""
    stack = max(
        (module for module in part.modules() if isinstance(module, nn.ModuleList)), key=len, default=None
    )
    top = [] if stack is None else list(stack)[max(0, len(stack) - layers) :]
    inside = {id(module) for layer in top for module in layer.modules()}
    for name, module in part.named_modules():
        if id(module) in inside and type(module) is nn.Linear:
            yield name, module


def choose_layers(names: list[str], modules: tuple[str, ...] | None) -> list[str]:
    """Return the names of the layers to adapt.

    Raises:
        EncoderError: there are no linear layers, or none with one of the names.
    """
    ends = dict.fromkeys(_end(name) for name in names)
    missing = [module for module in modules or () if not any(_is(name, module) for name in names)]
    if missing or not names:
        raise EncoderError(
            "`encoder.lora.modules`: the encoder has no such linear layers above its frozen ones",
            got=list_first(missing) if missing else "null, for all",
            allowed=list_first(list(ends)) or None,
            then="set null to adapt all of these" if names else "set `encoder.lora: null`",
        )
    return [name for name in names if modules is None or any(_is(name, module) for module in modules)]


def _is(name: str, module: str) -> bool:
    return f".{name}".endswith(f".{module}")


def _end(name: str) -> str:
    """Return the last part of a name, with the one before where it is `dense`, as in BERT."""
    *_, before, last = ["", *name.split(".")]
    return f"{before}.{last}" if last == "dense" else last


def _adapt(module: nn.Linear, lora: LoRA, generator: torch.Generator) -> None:
    a = torch.empty(lora.rank, module.in_features)
    bound = 1 / math.sqrt(module.in_features)  # Kaiming's for the slope √5, as in the authors' code
    module.register_parameter(A, nn.Parameter(a.uniform_(-bound, bound, generator=generator)))
    module.register_parameter(B, nn.Parameter(torch.zeros(module.out_features, lora.rank)))
    module.register_buffer(SCALE, torch.tensor(lora.alpha / lora.rank))
    module.lora_dropout = nn.Dropout(lora.dropout)
    module.__class__ = AdaptedLinear


def merge_adapters(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return weights of a model without adapters: W + (alpha / rank) B A, computed in fp32."""
    adapted = {name: tensor for name, tensor in weights.items() if not name.endswith((A, B, SCALE))}
    for name, a in weights.items():
        if name.endswith(A):
            start = name.removesuffix(A)
            change = weights[start + SCALE] * weights[start + B].float() @ a.float()
            base = adapted[f"{start}weight"]
            adapted[f"{start}weight"] = (base.float() + change).to(base.dtype)
    return adapted


def check_modules(name: str, lora: LoRA, frozen: int) -> None:
    """Check the modules of an encoder whose config is on this machine, without its weights.

    Raises:
        EncoderError: there is no linear layer of a name.
    """
    from transformers import AutoConfig

    path = config_file(name)
    if name == TINY:
        config = tiny_config(100)
    elif path is None or not path.is_file():
        return  # checked when it is loaded
    else:
        config = AutoConfig.from_pretrained(path.parent, local_files_only=True, trust_remote_code=False)  # nosec B615
    layers = int(config.num_hidden_layers) - frozen
    choose_layers([module for module, _ in adaptable(empty_model(config), layers)], lora.modules)


def freeze(encoder: Any) -> None:
    """Freeze an encoder's own weights, and not the adapters."""
    for name, weight in encoder.named_parameters():
        weight.requires_grad_(name.endswith((A, B)))
