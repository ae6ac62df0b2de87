"""Converts records of a journal back to tracker calls. A damaged record causes no partial call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import methodcaller
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from mtlv.disk import digest_of
from mtlv.errors import TrackingError
from mtlv.tracking.checks import check_name
from mtlv.tracking.journal import FILES, JournalRecord
from mtlv.tracking.tracker import Metric, RunSpec, TrackedModel, Tracker

Call = Callable[[Tracker], Any]


class UnplayableError(Exception):
    """A record that cannot be converted to a call."""


def call_of(records: Sequence[JournalRecord], runs: Mapping[str, str], journal: Path) -> Call:
    """Return the call of a record, or of several `metrics` records together.

    Args:
        records: the records.
        runs: ids of runs in the store by uid.
        journal: folder of the journal.

    Raises:
        UnplayableError: the record or its files are damaged, or its run was never opened.
    """
    first = records[0]
    if first.call.startswith("_") or first.call not in vars(Tracker):
        raise UnplayableError("the call is unknown")
    try:
        content = first.content
        if first.call == "metrics":
            content = [[Metric(*point) for record in records for point in record.content[0]]]
        arguments = _arguments(first.call).validate_python(content)
    except (TypeError, ValueError) as error:
        raise UnplayableError(f"its content is invalid: {error}") from error
    folder = journal / FILES / str(first.number)
    files = {name: folder / _inside(name) for name in first.files}
    for name, path in files.items():
        if not path.is_file() or digest_of(path) != first.files[name]:
            raise UnplayableError(f"its file `{path}` is missing, incomplete or changed")

    def placed(argument: object) -> object:
        if isinstance(argument, RunSpec):
            return replace(argument, parent=_map_run(argument.parent, runs))
        if isinstance(argument, TrackedModel):
            return replace(argument, files=files, metrics_run=_map_run(argument.metrics_run, runs))
        return folder / _inside(str(argument)) if isinstance(argument, Path) else argument

    run = () if first.call in ("open_run", "describe_all") else (_map_run(first.run, runs),)
    return methodcaller(first.call, *run, *map(placed, arguments))


@cache
def _arguments(call: str) -> TypeAdapter[tuple[Any, ...]]:
    """Return what reads the arguments of a method of the tracker, except for the run."""
    kinds = get_type_hints(getattr(Tracker, call))
    arguments = tuple(kind for name, kind in kinds.items() if name not in ("run", "return"))
    return TypeAdapter(tuple[arguments])  # type: ignore[valid-type]


def _map_run(uid: str | None, runs: Mapping[str, str]) -> str | None:
    if uid is not None and uid not in runs:
        raise UnplayableError(f"its run `{uid}` was not opened in this journal")
    return None if uid is None else runs[uid]


def _inside(name: str) -> str:
    try:
        return check_name(name)
    except TrackingError as error:
        raise UnplayableError(str(error)) from error
