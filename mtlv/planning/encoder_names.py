"""Names of encoders that nothing has, and what was probably meant."""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import TYPE_CHECKING

from mtlv.errors import nearest
from mtlv.models.aliases import known_names

if TYPE_CHECKING:
    from mtlv.settings import Settings

MISSPELT = 0.85  # likeness to an alias: `minilmm` and `biobrt` are above, hub ids as `bert-base-cased` below


def encoders_of(settings: Settings) -> dict[str, str | None]:
    """Return the encoders of settings, by key."""
    return {"encoder.name": settings.encoder.name, "grouping.encoder": settings.grouping.encoder}


def wrong_encoders(settings: Settings) -> list[str]:
    """Return a problem of each misspelt alias; ids of a hub have an owner, but for a few old ones."""
    return [
        f"`{key}`: `{name}` is no known encoder, {hint} Else write the id of a hub as `owner/name`, "
        "or a folder as `./name`."
        for key, name in encoders_of(settings).items()
        if name and (hint := _near(name)) and get_close_matches(name, known_names(), n=1, cutoff=MISSPELT)
    ]


def _near(encoder: str) -> str:
    known = known_names()
    is_known = encoder in known or "/" in encoder or encoder.startswith("~") or os.path.isdir(encoder)
    return "" if is_known else nearest(encoder, known)


def nearly_known(encoder: str) -> str:
    """Return a warning for a name that is like an alias, but not so like that it must be one."""
    near = _near(encoder)
    return near and f"encoder `{encoder}` is not a known name, so it would come from the hub; {near}"
