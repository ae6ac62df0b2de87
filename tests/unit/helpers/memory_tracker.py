"""A tracker in memory with MLflow's rules, for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtlv.errors import TrackingError
from mtlv.tracking.checks import check_metrics, check_name, check_params, check_tags
from mtlv.tracking.tracker import DataPart, Metric, RunSpec, Status, TableFile, TrackedModel
from mtlv.tracking.views import View


@dataclass
class MemoryRun:
    """Content of one run; `points` contains each metric once, in order of arrival."""

    spec: RunSpec
    status: str = "RUNNING"
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    points: dict[Metric, None] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    description: str = ""
    data: dict[tuple[str, str], DataPart] = field(default_factory=dict)
    images: dict[str, bytes] = field(default_factory=dict)
    model: TrackedModel | None = None

    def history(self, key: str) -> list[Metric]:
        return [point for point in self.points if point.key == key]

    def last(self, key: str) -> float:
        """Return the value of `key` at its highest step."""
        return max(self.history(key), key=lambda point: point.step).value


class MemoryTracker:
    """Runs by id; the id is the uid."""

    def __init__(self) -> None:
        self.runs: dict[str, MemoryRun] = {}
        self.description = ""
        self.views: tuple[View, ...] = ()

    def open_run(self, spec: RunSpec) -> str:
        params, tags = check_params(spec.params), check_tags(spec.tags)
        if spec.parent is not None:
            self._run(spec.parent)
        run = self.runs.setdefault(spec.uid, MemoryRun(spec))
        run.status = "SCHEDULED" if spec.waiting else "RUNNING"
        run.params = {**params, **run.params}
        run.tags.update(tags)
        run.description = spec.description or run.description
        return spec.uid

    def metrics(self, run: str, metrics: Sequence[Metric]) -> None:
        self._run(run).points.update(dict.fromkeys(check_metrics(metrics)))

    def artifact(self, run: str, local: Path, folder: str = "") -> None:
        files = self._run(run).files
        if not local.exists():
            raise TrackingError(f"the file `{local}` does not exist")
        root = local if local.is_dir() else local.parent
        for path in sorted(local.rglob("*")) if local.is_dir() else [local]:
            if path.is_file():
                name = path.relative_to(root).as_posix()
                files[check_name(f"{folder}/{name}" if folder else name)] = path.read_bytes()

    def text(self, run: str, text: str, name: str) -> None:
        self._run(run).files[check_name(name)] = text.encode()

    def model(self, run: str, model: TrackedModel) -> None:
        check_metrics(model.metrics)
        for name in (*model.files, *model.texts):
            check_name(name)
        held = self._run(run)
        held.model = held.model or model

    def tags(self, run: str, tags: Mapping[str, str]) -> None:
        self._run(run).tags.update(check_tags(tags))

    def describe(self, run: str, text: str) -> None:
        self._run(run).description = text

    def describe_all(self, text: str, views: Sequence[View]) -> None:
        self.description, self.views = text, tuple(views)

    def data(self, run: str, parts: Sequence[DataPart]) -> None:
        self._run(run).data.update({(part.name, part.digest): part for part in parts})

    def table(self, run: str, table: TableFile) -> None:
        content = {"columns": list(table.columns), "data": [list(row) for row in table.rows]}
        self.text(run, json.dumps(content, ensure_ascii=False), table.name)

    def image(self, run: str, local: Path, key: str) -> None:
        self._run(run).images[key] = local.read_bytes()

    def close(self, run: str, status: Status = "FINISHED", ended_ms: int = 0) -> None:
        self._run(run).status = status

    def end_if_running(self, run: str, ended_ms: int) -> bool:
        if self._run(run).status not in ("RUNNING", "SCHEDULED"):
            return False
        self._run(run).status = "KILLED"
        return True

    def _run(self, run: str) -> MemoryRun:
        if run not in self.runs:
            raise TrackingError(f"there is no run `{run}`", then="open it first")
        return self.runs[run]
