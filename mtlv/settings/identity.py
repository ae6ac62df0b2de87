"""The settings that identify a member, without those that say where or how it is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtlv.seeding import content_key

if TYPE_CHECKING:
    from mtlv.settings.schema import Settings

IGNORED_KEYS: dict[str, Any] = {
    "tracking": True,
    "store": True,
    "execution": True,
    "data": {"path"},
    "training": {"device", "auto_batch", "gradient_checkpointing", "cuda_graphs"},
}
"""Settings of places and machines: changing them does not change a member's identity."""


def settings_key(settings: Settings) -> str:
    """Return a key of a member's settings that does not depend on the location of its data and stores.

    It is known before any data is read.
    """
    return content_key(settings.model_dump(mode="json", exclude=IGNORED_KEYS))
