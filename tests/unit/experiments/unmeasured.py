"""A member of a suite as it is read back from a store, without anything measured."""

from __future__ import annotations

from mtlv.evaluation.compared_runs import ComparedRun
from mtlv.settings import Member, flatten


def as_run(index: int, member: Member) -> ComparedRun:
    """The run of a member; its key is `r` and the index."""
    settings = member.settings
    return ComparedRun(
        key=f"r{index}",
        run_id=f"{index}",
        name=member.name,
        architecture=settings.architecture.name,
        encoder=settings.encoder.name,
        dataset=settings.data.title,
        grouping="",
        status="FINISHED",
        data_digest="",
        params={key: str(value) for key, value in flatten(settings).items()},
        children=(),
    )
