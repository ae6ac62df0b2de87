"""Runs in memory, read like those of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mtlv.tracking.reader import MEMBER, StoredRun


def stored(
    number: str, name: str, kind: str = MEMBER, *, experiment: str = "1", at: int = 0, **tags: str
) -> StoredRun:
    tags = {"mtlv.kind": kind, "mlflow.runName": name, **tags}
    return StoredRun(number.ljust(32, "0"), experiment, name, "FINISHED", at, "", tags=tags)


class Shelf:
    """A reader of runs, the newest first; `asked` counts its queries."""

    def __init__(self, *runs: StoredRun, experiments: Mapping[str, str] | None = None) -> None:
        self.held = sorted(runs, key=lambda run: -run.started_ms)
        self.names = experiments or {"first": "1"}
        self.asked = 0

    def experiments(self) -> Mapping[str, str]:
        return self.names

    def runs(
        self, experiments: Sequence[str], tags: Mapping[str, str], *, most: int | None = None
    ) -> list[StoredRun]:
        self.asked += 1
        fit = [run for run in self.held if run.experiment in experiments and tags.items() <= run.tags.items()]
        return fit[:most]

    def run(self, run_id: str) -> StoredRun | None:
        return next((run for run in self.held if run.id == run_id), None)
