"""Treatment of existing units: `mtlv run --if-exists`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mtlv.errors import TrackingError
from mtlv.planning.resolve import ResolvedMember
from mtlv.store.local import Store
from mtlv.units.job import Job

IfExists = Literal["resume", "rerun", "only-missing", "fail"]


def _take(jobs: Sequence[Job], store: Store) -> None:
    """Use finished units from the store, and resume interrupted ones."""


def _forget(jobs: Sequence[Job], store: Store) -> None:
    """Train all units again."""
    for job in jobs:
        store.forget(job.unit.key)


def _refuse(jobs: Sequence[Job], store: Store) -> None:
    there = [job.name for job in jobs if store.has(job.unit.key)]
    if there:
        raise TrackingError(
            f"{len(there)} of the suite's {len(jobs)} units are in {store.place.uri} already",
            got=there[0],
            then="take them: `--if-exists resume`; train them again: `--if-exists rerun`",
        )


def _continued(resolved: Sequence[ResolvedMember], store: Store) -> list[ResolvedMember]:
    """Continue runs with their ids."""
    return [_attempt(member, store) for member in resolved]


def _again(resolved: Sequence[ResolvedMember], store: Store) -> list[ResolvedMember]:
    """Begin new runs; earlier runs are not changed."""
    for member in resolved:
        store.reruns.more(member.uid)
    return _continued(resolved, store)


def _missing(resolved: Sequence[ResolvedMember], store: Store) -> list[ResolvedMember]:
    """Skip members whose units are all finished, and their runs."""
    left = [member for member in resolved if not all(store.has(job.unit.key) for job in member.jobs)]
    return _continued(left, store)


@dataclass(frozen=True)
class Policy:
    """A treatment of existing units.

    Args:
        prepare: function of (units, store), called before they are trained or read; raises `TrackingError`
            where existing units are not allowed.
        choose: function of (members, store) that returns the members to run.
        keeps: whether groups may follow from units that were there before the suite.
    """

    prepare: Callable[[Sequence[Job], Store], None] = _take
    choose: Callable[[Sequence[ResolvedMember], Store], list[ResolvedMember]] = _continued
    keeps: bool = True


POLICIES: Mapping[IfExists, Policy] = {
    "resume": Policy(),
    "rerun": Policy(_forget, _again, keeps=False),
    "only-missing": Policy(choose=_missing),
    "fail": Policy(_refuse, keeps=False),
}


def _attempt(member: ResolvedMember, store: Store) -> ResolvedMember:
    """Return the member as another attempt, which has new runs every time."""
    count = store.reruns.count(member.uid)
    return replace(member, uid=f"{member.uid}-{count}") if count else member
