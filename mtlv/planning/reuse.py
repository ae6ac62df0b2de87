"""Treatment of existing units: `mtlv run --if-exists`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from mtlv.errors import TrackingError
from mtlv.planning.resolve import ResolvedMember
from mtlv.store.local import Store
from mtlv.units.job import each_once

IfExists = Literal["resume", "rerun", "only-missing", "fail"]


def _resume(resolved: Sequence[ResolvedMember], store: Store) -> list[ResolvedMember]:
    """Use finished units from the store, and resume interrupted ones; continue runs with their ids."""
    return [_attempt(member, store) for member in resolved]


def _rerun(resolved: Sequence[ResolvedMember], store: Store) -> list[ResolvedMember]:
    """Train all units again, in new runs; earlier runs are not changed."""
    for key in {job.unit.key for member in resolved for job in member.jobs}:
        store.forget(key)
    for member in resolved:
        store.reruns.more(member.uid)
    return _resume(resolved, store)


def _only_missing(resolved: Sequence[ResolvedMember], store: Store) -> list[ResolvedMember]:
    """Skip members whose units are all finished, and their runs."""
    left = [member for member in resolved if not all(store.has(job.unit.key) for job in member.jobs)]
    return _resume(left, store)


def _fail(resolved: Sequence[ResolvedMember], store: Store) -> list[ResolvedMember]:
    jobs = each_once(job for member in resolved for job in member.jobs)
    there = [job.name for job in jobs if store.has(job.unit.key)]
    if there:
        raise TrackingError(
            f"{len(there)} of the suite's {len(jobs)} units are in {store.place.uri} already",
            got=there[0],
            then="take them: `--if-exists resume`; train them again: `--if-exists rerun`",
        )
    return _resume(resolved, store)


POLICIES: Mapping[IfExists, Callable[[Sequence[ResolvedMember], Store], list[ResolvedMember]]] = {
    "resume": _resume,
    "rerun": _rerun,
    "only-missing": _only_missing,
    "fail": _fail,
}
"""(members, store) -> members to run; raises `TrackingError` where existing units are not allowed."""


def _attempt(member: ResolvedMember, store: Store) -> ResolvedMember:
    """Return the member as another attempt, which has new runs every time."""
    count = store.reruns.count(member.uid)
    return replace(member, uid=f"{member.uid}-{count}") if count else member
