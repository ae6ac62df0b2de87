"""Checks of several keys of the model together: layers of heads, adapters, gradients that are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mtlv.registries import BALANCERS
from mtlv.settings.schema import Settings


@dataclass(frozen=True)
class Check:
    """A check for one contradiction."""

    keys: tuple[str, ...]  # dotted keys it reads; messages name the first one
    find: Callable[[Settings], str | int]  # returns what is wrong, or whether something is
    text: str = "{}"  # the problem; `{}` stands for what is wrong


def _unknown_sources(s: Settings) -> str:
    vocabulary, known = s.encoder.vocabulary, [source.called for source in s.data.each_source]
    unknown = [name for name in (vocabulary and vocabulary.sources) or () if name not in known]
    return f"{', '.join(unknown)}; allowed: {', '.join(known)}" if unknown else ""


def _gradients_of_private_layers(s: Settings) -> str:
    name, layers = s.training.objective.name, s.architecture.private_layers
    if not layers or not BALANCERS[name].gradients:
        return ""
    others = ", ".join(other for other in BALANCERS if not BALANCERS[other].gradients)
    return (
        f"{name} compares gradients at the vectors that all heads read, and heads with "
        f"`architecture.private_layers` read different ones; set that to 0 (got {layers}), or take one of "
        f"{others}"
    )


CONTRADICTIONS_OF_THE_MODEL = (
    Check(
        ("architecture.private_kind", "architecture.private_layers", "encoder.lora"),
        lambda s: s.architecture.private_kind == "lora" and s.encoder.lora is None,
        "lora, but there are no adapters; set `encoder.lora: {rank: 8}`, or take layers",
    ),
    Check(
        ("architecture.private_kind", "architecture.private_layers", "encoder.lora"),
        lambda s: (
            s.architecture.private_kind == "layers"
            and s.architecture.private_layers > 0
            and s.encoder.lora is not None
        ),
        "layers, but with `encoder.lora` the layers' own weights are not a head's; take lora, or set "
        "`encoder.lora: null`",
    ),
    Check(("encoder.vocabulary", "data"), _unknown_sources, "`from` names no data set: {}"),
    Check(
        ("encoder.lora.frozen", "encoder.lora", "architecture.private_layers"),
        lambda s: (
            s.encoder.lora is not None and not s.encoder.lora.frozen and s.architecture.private_layers == 0
        ),
        "false, but only heads with `architecture.private_layers` have adapters beside trained weights; set "
        "it to true, or `architecture: {name: gmhl, private_layers: 2, private_kind: lora}`",
    ),
    Check(
        ("encoder.lora", "encoder.weights"),
        lambda s: s.encoder.lora is not None and s.encoder.lora.frozen and s.encoder.weights == "random",
        "set, but the frozen weights would be random; set `encoder.weights: published`, or this to null",
    ),
    Check(("training.objective.name", "architecture.private_layers"), _gradients_of_private_layers),
)
