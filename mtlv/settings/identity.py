"""The settings that say what a member is, not where or how it is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtlv.seeding import content_key

if TYPE_CHECKING:
    from mtlv.settings.schema import Settings

NOT_IDENTITY: dict[str, Any] = {
    "tracking": True,
    "store": True,
    "execution": True,
    "data": {"path"},
    "training": {"device", "auto_batch", "gradient_checkpointing", "compile"},
}
"""Settings that say where things are: the same member elsewhere is the same member."""


def settings_key(settings: Settings) -> str:
    """What a member asks for, wherever its data and stores lie; known before any data is read."""
    return content_key(settings.model_dump(mode="json", exclude=NOT_IDENTITY))
