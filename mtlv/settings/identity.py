"""Keys of a member's settings.

`work_key` ignores only groupings that no model reads: equal members of a suite run once. `settings_key`
ignores places and machines: it finds the run of a member again. `ResolvedMember.uid`
(`mtlv.planning.resolve`) also has the data, so that runs of changed data are others. `Unit.key`
(`mtlv.plan.unit`) has only what shapes the weights of one model, which members share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtlv.registries import ARCHITECTURES
from mtlv.seeding import content_key

if TYPE_CHECKING:
    from mtlv.settings.schema import Settings

SHOWN = {"subgroups"}
"""Columns that only the comparison page reads."""
IGNORED_KEYS: dict[str, Any] = {
    "tracking": True,
    "store": True,
    "execution": True,
    "data": {"path": True, "parents": True, "columns": SHOWN, "sources": {"__all__": {"columns": SHOWN}}},
    "training": {"device", "auto_batch", "gradient_checkpointing", "cuda_graphs"},
}
"""Settings of places, machines and the page: changing them does not change a member's identity."""


def settings_key(settings: Settings) -> str:
    """Return a key of a member's settings that does not depend on the location of its data and stores.

    It is known before any data is read.
    """
    return content_key(settings.model_dump(mode="json", exclude=IGNORED_KEYS))


def work_key(settings: Settings) -> str:
    """Return a key that is equal for members with the same work."""
    values = settings.model_dump(mode="json")
    if not ARCHITECTURES[settings.architecture.name].grouped:
        del values["grouping"]
    return content_key(values)
