"""What is done with units that are there already: `mtlv run --if-exists`."""

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
    """Finished units are taken from the store, interrupted ones go on; runs are continued under their ids."""
    return [_attempt(member, store) for member in resolved]


def _rerun(resolved: Sequence[ResolvedMember], store: Store) -> list[ResolvedMember]:
    """All units are trained anew, in runs of their own; the runs before stay as they are."""
    for key in {job.unit.key for member in resolved for job in member.jobs}:
        store.forget(key)
    for member in resolved:
        store.reruns.more(member.uid)
    return _resume(resolved, store)


def _only_missing(resolved: Sequence[ResolvedMember], store: Store) -> list[ResolvedMember]:
    """Members whose units are all there are left alone, their runs too."""
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


def as_asked(if_exists: IfExists, resolved: Sequence[ResolvedMember], store: Store) -> list[ResolvedMember]:
    """The members to run.

    Raises:
        TrackingError: units are there, and that was to be refused.
    """
    return POLICIES[if_exists](resolved, store)


def _attempt(member: ResolvedMember, store: Store) -> ResolvedMember:
    """A member that was run again has runs of its own each time."""
    count = store.reruns.count(member.uid)
    return replace(member, uid=f"{member.uid}-{count}") if count else member
