"""What is read back from a store: runs as plain records. The counterpart of the write-only tracker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from mtlv.errors import TrackingError, nearest

MEMBER, FOLD, COMPARISON = "suite member", "fold", "comparison"
"""Kinds of runs, as the tag `mtlv.kind` has them."""


def experiment_id(name: str, experiments: Mapping[str, str]) -> str:
    """Id of the experiment `name`, of those that `RunReader.experiments` gave.

    Raises:
        TrackingError: there is none.
    """
    if name not in experiments:
        raise TrackingError(
            f"there is no experiment `{name}` in the store",
            allowed=", ".join(f"`{known}`" for known in experiments) or "none: the store is empty",
            then=nearest(name, experiments),
        )
    return experiments[name]


@dataclass(frozen=True)
class StoredRun:
    """A run of a store.

    Args:
        id: the store's.
        experiment: id of its experiment.
        name: shown to people.
        status: `RUNNING`, `FINISHED`, `FAILED`, `KILLED` or `SCHEDULED`.
        started_ms: milliseconds since 1970.
        artifacts: where its artifacts lie.
        params, tags: as stored.
        metrics: the last value of each key.
    """

    id: str
    experiment: str
    name: str
    status: str
    started_ms: int
    artifacts: str
    params: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.tags.get("mtlv.kind", "")

    @property
    def parent(self) -> str | None:
        return self.tags.get("mlflow.parentRunId")


class RunReader(Protocol):
    """Reads runs; every method raises TrackingError when the store cannot be read."""

    def experiments(self) -> Mapping[str, str]:
        """Name to id of every experiment that is not deleted, the one changed last first."""

    def runs(
        self, experiments: Sequence[str], tags: Mapping[str, str], *, most: int | None = None
    ) -> list[StoredRun]:
        """Runs of experiments (ids) with all of these tags, the newest first, at most `most` of them."""

    def run(self, run_id: str) -> StoredRun | None:
        """The run with this id, if there is one that is not deleted."""

    def history(self, run_id: str, key: str) -> list[tuple[int, float]]:
        """All points (step, value) of a metric, by step."""

    def files(self, wanted: Iterable[tuple[StoredRun, str]]) -> list[Path | None]:
        """Local copies of artifacts, in the order asked for; None for one that is not there."""

    def page(self, run: StoredRun) -> str | None:
        """Address of a run's page, where the store is a server."""
