"""The command `mtlv clean`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mtlv.errors import TrackingError, masked
from mtlv.planning.resolve import resolve_all
from mtlv.store import open_store
from mtlv.store.garbage import Leftover, leftovers
from mtlv.store.location import StoreLocation
from mtlv.store.remote.garbage import RemoteLeftover, far_leftovers
from mtlv.store.remote.store import SharedStore
from mtlv.units.input_cache import InputCache

if TYPE_CHECKING:
    from mtlv.settings import Suite


def clean_lines(place: StoreLocation, suites: Sequence[Suite], *, delete: bool) -> list[str]:
    """List what can be deleted, delete it if requested, and return the lines to print.

    The units of `suites` are kept; without suites, all.

    Raises:
        MtlvError: there is no store, or a suite cannot be resolved.
    """
    if not place.shared and not (place.folder / "units").is_dir():
        raise TrackingError(
            f"there is no store in `{place.uri}`", then="give its folder with `--store FOLDER`"
        )
    kept = open_store(place)
    cache = InputCache(kept)
    needed = _keys(cache, suites) if suites else None
    found: list[Leftover | RemoteLeftover] = [*leftovers(kept, needed, cache.token_cache if suites else None)]
    if isinstance(kept, SharedStore):
        found += far_leftovers(kept, needed)
    if not found:
        return [f"{masked(place.uri)}: nothing to clean"]
    lines = [f"{_size(each.bytes):>9}  {each.path}: {each.why}" for each in found]
    total = _size(sum(each.bytes for each in found)).strip()
    if delete:
        for each in found:
            each.delete()
        return [*lines, f"deleted {total}"]
    return [*lines, f"{total} would be deleted: add `--yes`"]


def _keys(cache: InputCache, suites: Sequence[Suite]) -> set[str]:
    members = [member for suite in suites for member in suite.members]
    return {job.unit.key for each in resolve_all(cache, members) for job in each.jobs}


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
