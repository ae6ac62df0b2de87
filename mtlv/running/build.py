"""A network from plain values: the one place that training and serving build it by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mtlv.plan import HeadSpec, Task

if TYPE_CHECKING:
    from mtlv.models.multitask import MultiTaskModel
    from mtlv.settings.schema import Settings

Shape = Mapping[str, Any]
"""Settings that shape a network, as plain values: they stand in a kept model's description."""


def shape_of(settings: Settings) -> dict[str, Any]:
    """What `build_model` needs of a member's resolved settings."""
    return {"features": settings.encoder.features, "dropout": settings.encoder.dropout}


def build_model(
    module: Any, heads: Sequence[HeadSpec], *, tasks: Mapping[str, Task], shape: Shape, seed: int
) -> MultiTaskModel:
    """An encoder with its heads.

    Args:
        module: a Transformers base model, which becomes part of it.
        heads: what each head learns.
        tasks: the tasks by name.
        shape: see `shape_of`.
        seed: draws the heads' first weights.

    Raises:
        KeyError: `shape` names something unknown, or lacks a value.
        MtlvError: this encoder cannot be shaped so.
    """
    from mtlv.models.multitask import MultiTaskModel

    return MultiTaskModel(
        module, heads, tasks=tasks, features=shape["features"], seed=seed, dropout=shape["dropout"]
    )
