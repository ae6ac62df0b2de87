"""Checks of several keys of the model together: layers of heads, adapters, gradients that are compared."""

from __future__ import annotations

from functools import partial

from mtlv.registries import BALANCERS
from mtlv.settings.rules import Check, register
from mtlv.settings.schema import Settings

MODEL_CHECKS: list[Check] = []
_check = partial(register, MODEL_CHECKS)


@_check("architecture.private_kind", "architecture.private_layers", "encoder.lora")
def _private_kind(s: Settings) -> str:
    own, lora = s.architecture, s.encoder.lora
    if own.private_kind == "lora" and lora is None:
        return "lora, but there are no adapters; set `encoder.lora: {rank: 8}`, or take layers"
    if own.private_kind == "layers" and own.private_layers and lora is not None:
        return (
            "layers, but with `encoder.lora` the layers' own weights are not a head's; take lora, or set "
            "`encoder.lora: null`"
        )
    return ""


@_check("encoder.vocabulary", "data")
def _vocabulary_of_known_data(s: Settings) -> str:
    own, known = s.encoder.vocabulary, [each.called for each in s.data.each]
    unknown = [name for name in (own and own.sources) or () if name not in known]
    return f"`from` names no data set: {', '.join(unknown)}; allowed: {', '.join(known)}" if unknown else ""


@_check("encoder.lora.frozen", "encoder.lora", "architecture.private_layers")
def _adapters_of_trained_weights(s: Settings) -> str:
    lora = s.encoder.lora
    wrong = lora is not None and not lora.frozen and not s.architecture.private_layers
    return (
        "false, but only heads with `architecture.private_layers` have adapters beside trained weights; set "
        "it to true, or `architecture: {name: gmhl, private_layers: 2, private_kind: lora}`"
        if wrong
        else ""
    )


@_check("encoder.lora", "encoder.weights")
def _adapters_of_random_weights(s: Settings) -> str:
    wrong = s.encoder.lora is not None and s.encoder.lora.frozen and s.encoder.weights == "random"
    return (
        "set, but the frozen weights would be random; set `encoder.weights: published`, or this to null"
        * wrong
    )


def _compares_gradients(s: Settings, cannot: str) -> str:
    """Return that the objective compares gradients, why it `cannot`, and which others do not; or nothing."""
    name = s.training.objective.name
    others = ", ".join(each for each in BALANCERS if not BALANCERS[each].gradients)
    return f"{name} compares gradients{cannot}, or take one of {others}" if BALANCERS[name].gradients else ""


@_check("training.objective.name", "execution.devices_per_unit")
def _gradients_of_ranks(s: Settings) -> str:
    devices = s.execution.devices_per_unit
    why = f", which several devices do not share; set `execution.devices_per_unit: 1` (got {devices})"
    return _compares_gradients(s, why) if devices > 1 else ""


@_check("training.objective.name", "architecture.private_layers")
def _gradients_of_private_layers(s: Settings) -> str:
    layers = s.architecture.private_layers
    why = (
        " at the vectors that all heads read, and heads with `architecture.private_layers` read different "
        f"ones; set that to 0 (got {layers})"
    )
    return _compares_gradients(s, why) if layers else ""


@_check("training.probe", "architecture.private_layers")
def _probe_of_private_layers(s: Settings) -> str:
    layers = s.architecture.private_layers
    wrong = s.training.probe is not None and layers > 0
    return (
        "gradients are compared at the encoder's top layers, which heads do not share with "
        f"`architecture.private_layers`; set that to 0 (got {layers}), or the probe to null"
        if wrong
        else ""
    )
