"""A tracker that only writes to a journal, so that no call waits for a store or fails because of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mtlv.errors import TrackingError
from mtlv.tracking.checks import (
    check_key,
    check_metrics,
    check_name,
    check_params,
    check_picture,
    check_tags,
)
from mtlv.tracking.journal import Journal
from mtlv.tracking.tracker import DataPart, Metric, RunSpec, Status, TableFile, TrackedModel
from mtlv.tracking.views import View


class JournalTracker:
    """Writes calls to `journal`, for an `Uploader` to upload. The id of a run is its uid.

    Calls that the store would reject are rejected here, so that every written call can be uploaded.
    All methods raise TrackingError if the disk cannot be written.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._runs: set[str] = set()

    def open_run(self, spec: RunSpec) -> str:
        if spec.parent is not None:
            self._check_open(spec.parent)
        spec = replace(
            spec,
            uid=check_key(spec.uid, "run"),
            params=check_params(spec.params),
            tags=check_tags(spec.tags),
            began_ms=spec.began_ms or _now(),
        )
        self.journal.append("open_run", spec.uid, [spec])
        self._runs.add(spec.uid)
        return spec.uid

    def metrics(self, run: str, metrics: Sequence[Metric]) -> None:
        # As lists, which take half the time of mappings.
        points = [[m.key, m.value, m.step, m.timestamp_ms] for m in check_metrics(metrics)]
        self.journal.append("metrics", self._check_open(run), [points])

    def artifact(self, run: str, local: Path, folder: str = "") -> None:
        check_name(f"{folder}/{local.name}" if folder else local.name)
        if not local.exists():
            raise TrackingError(f"the file `{local}` does not exist")
        files = {local.name: local}
        if local.is_dir():
            paths = {path.relative_to(local).as_posix(): path for path in sorted(local.rglob("*"))}
            files = {f"{local.name}/{check_name(name)}": p for name, p in paths.items() if p.is_file()}
            if not files:
                return  # stores do not keep empty folders
        self.journal.append("artifact", self._check_open(run), [local.name, folder], files)

    def text(self, run: str, text: str, name: str) -> None:
        self.journal.append("text", self._check_open(run), [text, check_name(name)])

    def model(self, run: str, model: TrackedModel) -> None:
        for name in (*model.files, *model.texts):
            check_name(name)
        lost = [str(path) for path in model.files.values() if not path.is_file()]
        if lost:
            raise TrackingError(f"the file `{lost[0]}` does not exist")
        if model.metrics_run is not None:
            self._check_open(model.metrics_run)
        checked = replace(
            model, files={}, settings=check_params(model.settings), metrics=check_metrics(model.metrics)
        )
        self.journal.append("model", self._check_open(run), [checked], model.files, link=True)

    def tags(self, run: str, tags: Mapping[str, str]) -> None:
        self.journal.append("tags", self._check_open(run), [check_tags(tags)])

    def describe(self, run: str, text: str) -> None:
        self.journal.append("describe", self._check_open(run), [text])

    def describe_all(self, text: str, views: Sequence[View]) -> None:
        self.journal.append("describe_all", "", [text, views])

    def data(self, run: str, parts: Sequence[DataPart]) -> None:
        self.journal.append("data", self._check_open(run), [parts])

    def table(self, run: str, table: TableFile) -> None:
        check_name(table.name)
        self.journal.append("table", self._check_open(run), [table])

    def image(self, run: str, local: Path, key: str) -> None:
        if not check_picture(local).is_file():
            raise TrackingError(f"the file `{local}` does not exist")
        self.journal.append(
            "image", self._check_open(run), [check_name(local.name), key], {local.name: local}
        )

    def close(self, run: str, status: Status = "FINISHED", ended_ms: int = 0) -> None:
        self.journal.append("close", self._check_open(run), [status, ended_ms or _now()])

    def _check_open(self, run: str) -> str:
        if run not in self._runs:
            raise TrackingError(f"there is no run `{run}`", then="open it first")
        return run


def _now() -> int:
    return time.time_ns() // 1_000_000
