"""Converts records of a journal back to tracker calls. A damaged record causes no partial call."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtlv.errors import TrackingError
from mtlv.tracking.checks import check_name
from mtlv.tracking.journal import FILES, JournalRecord
from mtlv.tracking.tracker import DataPart, Metric, RunSpec, TableFile, TrackedModel, Tracker
from mtlv.tracking.views import Chart, View

Call = Callable[[Tracker], Any]


class UnplayableError(Exception):
    """A record that cannot be converted to a call."""


@dataclass(frozen=True)
class ReplayContext:
    """Data needed to convert a record to a call.

    Args:
        content: content of the record; for several `metrics` records all their points.
        run: id of its run in the store.
        files: local file by its name.
        runs: ids of runs in the store by uid.
        folder: folder of the record's files.
    """

    content: Mapping[str, Any]
    run: str
    files: Mapping[str, Path]
    runs: Mapping[str, str]
    folder: Path


def call_of(records: Sequence[JournalRecord], runs: Mapping[str, str], journal: Path) -> Call:
    """Return the call of a record, or of several `metrics` records together.

    Args:
        records: records from `JournalReader.take`.
        runs: ids of runs in the store by uid.
        journal: the journal's folder.

    Raises:
        UnplayableError: the record or its files are damaged, or its run was never opened.
    """
    first = records[0]
    make = CALLS.get(first.call)
    if make is None:
        raise UnplayableError("the call is unknown")
    try:
        run = _mapped(first.run, runs) if first.run else ""
        content: Mapping[str, Any] = first.content
        if len(records) > 1:
            content = {"points": [point for record in records for point in record.content["points"]]}
        folder = journal / FILES / str(first.number)
        return make(ReplayContext(content, run, _files(first, folder), runs, folder))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnplayableError(f"its content is invalid: {error!r}") from error


def _mapped(uid: str, runs: Mapping[str, str]) -> str:
    if uid not in runs:
        raise UnplayableError(f"its run `{uid}` was not opened in this journal")
    return runs[uid]


def _files(record: JournalRecord, folder: Path) -> dict[str, Path]:
    files = {name: folder / _inside(name) for name in record.files}
    for name, path in files.items():
        if not path.is_file() or path.stat().st_size != record.files[name]:
            raise UnplayableError(f"its file `{path}` is missing or incomplete")
    return files


def _inside(name: str) -> str:
    try:
        return check_name(name)
    except TrackingError as error:
        raise UnplayableError(str(error)) from error


def _points(rows: Sequence[Sequence[Any]]) -> list[Metric]:
    return [Metric(key, math.nan if value is None else value, step, ms) for key, value, step, ms in rows]


def _open_run(at: ReplayContext) -> Call:
    parent = at.content["parent"]
    spec = RunSpec(**{**at.content, "parent": None if parent is None else _mapped(parent, at.runs)})
    return lambda tracker: tracker.open_run(spec)


def _metrics(at: ReplayContext) -> Call:
    points = _points(at.content["points"])
    return lambda tracker: tracker.metrics(at.run, points)


def _artifact(at: ReplayContext) -> Call:
    local, folder = at.folder / _inside(at.content["name"]), at.content["folder"]
    return lambda tracker: tracker.artifact(at.run, local, folder)


def _text(at: ReplayContext) -> Call:
    text, name = at.content["text"], at.content["name"]
    return lambda tracker: tracker.text(at.run, text, name)


def _model(at: ReplayContext) -> Call:
    held = dict(at.content)
    other, dataset = held.pop("metrics_run"), held.pop("dataset")
    model = TrackedModel(
        **held | {"metrics": _points(held["metrics"])},
        files=at.files,
        metrics_run=None if other is None else _mapped(other, at.runs),
        dataset=None if dataset is None else (dataset[0], dataset[1]),
    )
    return lambda tracker: tracker.model(at.run, model)


def _tags(at: ReplayContext) -> Call:
    tags = at.content["tags"]
    return lambda tracker: tracker.tags(at.run, tags)


def _describe(at: ReplayContext) -> Call:
    text = at.content["text"]
    return lambda tracker: tracker.describe(at.run, text)


def _describe_all(at: ReplayContext) -> Call:
    text, views = at.content["text"], [_view(**view) for view in at.content["views"]]
    return lambda tracker: tracker.describe_all(text, views)


def _view(sections: Mapping[str, Any], columns: Any, closed: Any, **rest: Any) -> View:
    charts = {
        title: tuple(Chart(chart["kind"], tuple(chart["keys"])) for chart in held)
        for title, held in sections.items()
    }
    return View(sections=charts, columns=tuple(columns), closed=tuple(closed), **rest)


def _data(at: ReplayContext) -> Call:
    parts = [DataPart(**{**part, "tasks": tuple(part["tasks"])}) for part in at.content["parts"]]
    return lambda tracker: tracker.data(at.run, parts)


def _table(at: ReplayContext) -> Call:
    rows = json.loads(at.content["rows"])
    table = TableFile(at.content["name"], tuple(at.content["columns"]), rows)
    return lambda tracker: tracker.table(at.run, table)


def _image(at: ReplayContext) -> Call:
    local, key = at.files[at.content["name"]], at.content["key"]
    return lambda tracker: tracker.image(at.run, local, key)


def _close(at: ReplayContext) -> Call:
    status, ended = at.content["status"], at.content["ended_ms"]
    return lambda tracker: tracker.close(at.run, status, ended)


CALLS: Mapping[str, Callable[[ReplayContext], Call]] = {
    "open_run": _open_run,
    "metrics": _metrics,
    "artifact": _artifact,
    "text": _text,
    "model": _model,
    "tags": _tags,
    "describe": _describe,
    "describe_all": _describe_all,
    "data": _data,
    "table": _table,
    "image": _image,
    "close": _close,
}
