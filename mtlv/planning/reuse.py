"""Treatment of existing units: `mtlv run --if-exists`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from mtlv.errors import TrackingError
from mtlv.planning.resolve import ResolvedMember
from mtlv.store.local import Store
from mtlv.units.job import Job

IfExists = Literal["resume", "rerun", "only-missing", "fail"]
KEEPING: tuple[IfExists, ...] = ("resume", "only-missing")
"""Treatments with which groups may follow from units that were there before the suite."""


def prepare(if_exists: IfExists, jobs: Sequence[Job], store: Store) -> None:
    """Forget existing units that are to be trained again, before any unit is trained or read.

    Raises:
        TrackingError: a unit exists, and must not.
    """
    if if_exists == "rerun":
        for job in jobs:
            store.forget(job.unit.key)
    there = [job.name for job in jobs if store.has(job.unit.key)] if if_exists == "fail" else []
    if there:
        raise TrackingError(
            f"{len(there)} of the suite's {len(jobs)} units are in {store.root.absolute()} already",
            got=there[0],
            then="take them: `--if-exists resume`; train them again: `--if-exists rerun`",
        )


def to_run(
    if_exists: IfExists, resolved: Sequence[ResolvedMember], store: Store, warn: Callable[[str], None]
) -> list[ResolvedMember]:
    """Return the members to run: all, or those with missing units; `rerun` begins new runs of them.

    `warn` is called for each damaged count of reruns.
    """
    if if_exists == "only-missing":
        resolved = [member for member in resolved if not all(store.has(job.unit.key) for job in member.jobs)]
    if if_exists == "rerun":
        for member in resolved:
            store.count_rerun(member.uid, warn)
    counts = [store.reruns(member.uid, warn) for member in resolved]
    return [
        replace(member, uid=f"{member.uid}-{count}") if count else member
        for member, count in zip(resolved, counts, strict=True)
    ]
