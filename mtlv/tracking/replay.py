"""Converts records of a journal back to tracker calls. A damaged record causes no partial call."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any

from mtlv.errors import TrackingError
from mtlv.tracking.checks import check_name
from mtlv.tracking.journal import FILES, JournalRecord, size_and_crc
from mtlv.tracking.tracker import DataPart, Metric, RunSpec, TableFile, TrackedModel, Tracker
from mtlv.tracking.views import Chart, View

Call = Callable[[Tracker], Any]


class UnplayableError(Exception):
    """A record that cannot be converted to a call."""


@dataclass(frozen=True)
class ReplayContext:
    """Data needed to convert a record to a call."""

    content: Mapping[str, Any]  # content of the record; for several `metrics` records all their points
    run: str  # id of its run in the store
    files: Mapping[str, Path]  # local file by its name
    runs: Mapping[str, str]  # ids of runs in the store by uid
    folder: Path  # folder of the record's files


def call_of(records: Sequence[JournalRecord], runs: Mapping[str, str], journal: Path) -> Call:
    """Return the call of a record, or of several `metrics` records together.

    Raises:
        UnplayableError: the record or its files are damaged, or its run was never opened.
    """
    first = records[0]
    arguments = ARGUMENTS.get(first.call)
    if arguments is None:
        raise UnplayableError("the call is unknown")
    try:
        run = _map_run(first.run, runs) if first.run else ""
        content: Mapping[str, Any] = first.content
        if len(records) > 1:
            content = {"points": [point for record in records for point in record.content["points"]]}
        folder = journal / FILES / str(first.number)
        at = ReplayContext(content, run, _files(first, folder), runs, folder)
        return methodcaller(first.call, *arguments(at))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnplayableError(f"its content is invalid: {error!r}") from error


def _map_run(uid: str, runs: Mapping[str, str]) -> str:
    if uid not in runs:
        raise UnplayableError(f"its run `{uid}` was not opened in this journal")
    return runs[uid]


def _files(record: JournalRecord, folder: Path) -> dict[str, Path]:
    files = {name: folder / _inside(name) for name in record.files}
    for name, path in files.items():
        if not path.is_file() or size_and_crc(path) != tuple(record.files[name]):
            raise UnplayableError(f"its file `{path}` is missing, incomplete or changed")
    return files


def _inside(name: str) -> str:
    try:
        return check_name(name)
    except TrackingError as error:
        raise UnplayableError(str(error)) from error


def _points(rows: Sequence[Sequence[Any]]) -> list[Metric]:
    return [Metric(key, math.nan if value is None else value, step, ms) for key, value, step, ms in rows]


def _spec(at: ReplayContext) -> RunSpec:
    parent = at.content["parent"]
    return RunSpec(**{**at.content, "parent": None if parent is None else _map_run(parent, at.runs)})


def _model(at: ReplayContext) -> TrackedModel:
    fields = dict(at.content)
    other, dataset = fields.pop("metrics_run"), fields.pop("dataset")
    return TrackedModel(
        **fields | {"metrics": _points(fields["metrics"])},
        files=at.files,
        metrics_run=None if other is None else _map_run(other, at.runs),
        dataset=None if dataset is None else (dataset[0], dataset[1]),
    )


def _view(sections: Mapping[str, Any], columns: Any, closed: Any, **rest: Any) -> View:
    charts = {
        title: tuple(Chart(chart["kind"], tuple(chart["keys"])) for chart in section)
        for title, section in sections.items()
    }
    return View(sections=charts, columns=tuple(columns), closed=tuple(closed), **rest)


def _data(at: ReplayContext) -> list[DataPart]:
    return [DataPart(**{**part, "tasks": tuple(part["tasks"])}) for part in at.content["parts"]]


def _table(at: ReplayContext) -> TableFile:
    return TableFile(at.content["name"], tuple(at.content["columns"]), json.loads(at.content["rows"]))


ARGUMENTS: Mapping[str, Callable[[ReplayContext], tuple[Any, ...]]] = {
    "open_run": lambda at: (_spec(at),),
    "metrics": lambda at: (at.run, _points(at.content["points"])),
    "artifact": lambda at: (at.run, at.folder / _inside(at.content["name"]), at.content["folder"]),
    "text": lambda at: (at.run, at.content["text"], at.content["name"]),
    "model": lambda at: (at.run, _model(at)),
    "tags": lambda at: (at.run, at.content["tags"]),
    "describe": lambda at: (at.run, at.content["text"]),
    "describe_all": lambda at: (at.content["text"], [_view(**view) for view in at.content["views"]]),
    "data": lambda at: (at.run, _data(at)),
    "table": lambda at: (at.run, _table(at)),
    "image": lambda at: (at.run, at.files[at.content["name"]], at.content["key"]),
    "close": lambda at: (at.run, at.content["status"], at.content["ended_ms"]),
}
"""Method of the tracker -> its arguments."""
