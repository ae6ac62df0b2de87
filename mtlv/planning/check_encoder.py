"""Checks of a member's encoder against its tasks, before anything is loaded or trained."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mtlv.data.targets import TARGETS
from mtlv.errors import EncoderError, PlanError
from mtlv.models.causal import need_seeing, said_causal
from mtlv.models.layers import check_frozen, check_private, check_probed, known_layers
from mtlv.plan import Task
from mtlv.planning.names import encoders_of, wrong_encoders
from mtlv.planning.outline import learns_alone
from mtlv.units.model import lora_of

if TYPE_CHECKING:
    from mtlv.settings import Settings


def prove_encoders(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    """Check folders only; the names on a hub are not known here."""
    for text in wrong_encoders(settings).values():
        raise EncoderError(text)
    for key, name in encoders_of(settings).items():
        folder = name is not None and name.startswith((".", "~", "/"))
        if folder and not os.path.isdir(os.path.expanduser(str(name))):
            raise EncoderError(
                f"`{key}`: there is no folder with an encoder", got=name, then="check the path"
            )


def prove_layers(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    if settings.encoder.frozen_layers:
        name = settings.encoder.name
        check_frozen(settings.encoder.frozen_layers, known_layers(name), name)
    if settings.architecture.private_layers:
        name, frozen = settings.encoder.name, settings.encoder.frozen_layers
        check_private(settings.architecture.private_layers, frozen, known_layers(name), name)
    lora = lora_of(settings.encoder)
    if lora is not None:  # imports PyTorch, which takes a second
        from mtlv.models.lora import check_modules

        check_modules(settings.encoder.name, lora, settings.encoder.frozen_layers)


def prove_read(settings: Settings, tasks: Sequence[Task]) -> None:
    """Check the features of an encoder; imports PyTorch (seconds) for a user's encoder and first tokens."""
    try:
        tagged = any(TARGETS[task.kind].by_word for task in tasks)
        need_seeing(settings.encoder.name, features=settings.encoder.features, tagged=tagged)
    except EncoderError:
        if said_causal(settings.encoder.name):
            raise


def prove_probe(settings: Settings, tasks: Sequence[Task]) -> None:
    probe, encoder = settings.training.probe, settings.encoder
    if probe is None:
        return
    if learns_alone(settings, tasks):
        raise PlanError(
            "`training.probe` compares the tasks of a model, and no model has two",
            got=f"`architecture: {settings.architecture.name}`",
            then="set `training.probe: null` here, or learn several tasks together",
        )
    check_probed(probe.layers, encoder.frozen_layers, known_layers(encoder.name), encoder.name)
