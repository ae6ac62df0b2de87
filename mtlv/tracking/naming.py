"""Names of runs as users type them, where the beginning is enough, and as they follow from others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mtlv.errors import TrackingError
from mtlv.seeding import content_key
from mtlv.tracking.reader import COMPARISON
from mtlv.tracking.tracker import RunSpec


def named_like(text: str, names: Iterable[str]) -> str | None:
    """Return the only name that begins like `text`, or equals it but for capitals; None if there is none.

    Raises:
        TrackingError: several names begin like it.

    Example:
        >>> named_like("gmtl", ["MTL", "GMTL, 4 groups by name"])
        'GMTL, 4 groups by name'
    """
    wanted = text.casefold()
    begin = [name for name in dict.fromkeys(names) if name.casefold().startswith(wanted)]
    same = [name for name in begin if name.casefold() == wanted]
    found = same if len(same) == 1 else begin
    if len(found) > 1:
        raise TrackingError(
            f"several runs have names that begin with `{text}`",
            allowed=", ".join(f"`{name}`" for name in found[:5]),
            then="give more of the name",
        )
    return found[0] if found else None


def comparison_run(members: Sequence[str], tags: Mapping[str, str] | None = None) -> RunSpec:
    """Return the run that compares the members with these uids: the same for a suite and its page."""
    uid = content_key(["comparison", list(members)])
    return RunSpec(uid, f"comparison of {len(members)} runs", COMPARISON, tags=tags or {})
