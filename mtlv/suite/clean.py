"""The command `mtlv clean`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.disk import remove
from mtlv.planning.resolve import resolve_all
from mtlv.store.garbage import leftovers
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache

if TYPE_CHECKING:
    from mtlv.settings import Suite


def clean_lines(folder: Path, suites: Sequence[Suite], *, delete: bool) -> list[str]:
    """List what can be deleted, delete it if requested, and return the lines to print.

    The units of `suites` are kept; without suites, all.

    Raises:
        MtlvError: there is no store, or a suite cannot be resolved.
    """
    store = Store.existing(folder)
    cache = InputCache(store)
    # Each suite by itself: names of runs are unique within a suite only.
    resolved = (member for suite in suites for member in resolve_all(cache, suite.members))
    needed = {job.unit.key for member in resolved for job in member.jobs} if suites else None
    files = leftovers(store, needed, cache.token_cache if suites else None)
    if not files:
        return [f"{folder}: nothing to clean"]
    lines = [f"{_size(file.bytes):>9}  {file.path}: {file.why}" for file in files]
    total = _size(sum(file.bytes for file in files)).strip()
    if delete:
        for file in files:
            remove(file.path)
        return [*lines, f"deleted {total}"]
    return [*lines, f"{total} would be deleted: add `--yes`"]


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
