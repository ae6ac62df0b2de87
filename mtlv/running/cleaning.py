"""What `mtlv clean` says and does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.errors import TrackingError
from mtlv.running.clean import delete as delete_all
from mtlv.running.clean import leftovers
from mtlv.running.resolve import resolve_all
from mtlv.running.store import Store
from mtlv.running.workbench import Workbench

if TYPE_CHECKING:
    from mtlv.settings import Suite


def clean_lines(folder: Path, suites: Sequence[Suite], *, delete: bool) -> list[str]:
    """List what can go, delete it where that is wanted, and say which.

    Args:
        folder: the store.
        suites: only their units are kept; without any all are.
        delete: whether to.

    Raises:
        MtlvError: there is no store, or a suite cannot be resolved.
    """
    if not (folder / "units").is_dir():
        raise TrackingError(f"there is no store in `{folder}`", then="name its folder: `--store FOLDER`")
    store = Store(folder)
    bench = Workbench(store)
    needed = _keys(bench, suites) if suites else None
    found = leftovers(store, needed, bench.kept_tokens if suites else None)
    if not found:
        return [f"{folder}: nothing to clean"]
    lines = [f"{_size(each.bytes):>9}  {each.path}: {each.why}" for each in found]
    total = _size(sum(each.bytes for each in found)).strip()
    if delete:
        delete_all(found)
        return [*lines, f"deleted {total}"]
    return [*lines, f"{total} would be deleted: add `--yes`"]


def _keys(bench: Workbench, suites: Sequence[Suite]) -> set[str]:
    members = [member for suite in suites for member in suite.members]
    return {job.unit.key for each in resolve_all(bench, members) for job in each.jobs}


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
