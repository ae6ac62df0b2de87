"""What a run tells the outside world: a small write-only protocol, and its records.

Every call may be repeated: callers give fixed timestamps, and logging the same again changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from mtlv.tracking.views import View

Status = Literal["FINISHED", "FAILED", "KILLED"]
RUN_ID = "{run id}"
"""Stands for the id of its run in a model's description: the store gives it when it makes the run."""
Param = str | int | float | bool | None | Sequence[object] | Mapping[str, object]


@dataclass(frozen=True)
class RunSpec:
    """A run to open.

    Args:
        uid: what the run is, by content; the same uid is the same run (tag `mtlv.uid`).
        name: shown to people.
        kind: `suite member`, `fold`, `comparison` (tag `mtlv.kind`).
        parent: id of the run it hangs under.
        params: settings, flattened with dots.
        tags: further tags.
        description: what its page says of it, in Markdown.
        colour: `#RRGGBB` of its lines and bars.
        began_ms: milliseconds since 1970 when it began; 0 means now.
    """

    uid: str
    name: str
    kind: str = ""
    parent: str | None = None
    params: Mapping[str, Param] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    colour: str = ""
    began_ms: int = 0


@dataclass(frozen=True, slots=True)
class Metric:
    """One point of a curve.

    Args:
        key: see `mtlv.tracking.checks.check_key`.
        value: a number; infinity is stored as NaN.
        step: epoch or optimizer step, from 0.
        timestamp_ms: milliseconds since 1970; fixed, so that logging again stores nothing new.
    """

    key: str
    value: float
    step: int = 0
    timestamp_ms: int = 0


@dataclass(frozen=True)
class TrackedModel:
    """A trained model to keep with a run: a folder that MLflow loads as a python function. No pickles.

    Args:
        files: local file by its name in the folder; linked instead of copied where that is possible.
        texts: text of further small files by name.
        code: which of `texts` is the Python file that loads the folder.
        content: which folder in it the code is given.
        outputs: type (`double`, `boolean`) of each column that it gives, by name.
        params: what a caller may set, with the value it has unasked.
        description: what it is, in Markdown; `RUN_ID` in it becomes its run's id.
        settings: shown with it.
        metrics: its figures, as a run has them already.
        metrics_run: id of that run; None means the model's own.
        dataset: name and digest of what the figures are of.
    """

    files: Mapping[str, Path]
    texts: Mapping[str, str]
    code: str
    content: str
    outputs: Mapping[str, str]
    params: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    settings: Mapping[str, Param] = field(default_factory=dict)
    metrics: Sequence[Metric] = ()
    metrics_run: str | None = None
    dataset: tuple[str, str] | None = None


@dataclass(frozen=True)
class DataPart:
    """Documents that a run read.

    Args:
        name: such as `openi train`; parts of one corpus have names of their own.
        digest: of these documents.
        role: `training`, `validation`, `test` or what else they were for.
        source: address or file that they come from.
        documents: how many.
        tasks: names of the labels.
    """

    name: str
    digest: str
    role: str
    source: str
    documents: int
    tasks: tuple[str, ...]


@dataclass(frozen=True)
class TableFile:
    """A table to look at beside the same table of other runs; `name` ends with `.json`."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]


@runtime_checkable
class Tracker(Protocol):
    """Where runs are written to. Every method raises TrackingError when that fails."""

    def open_run(self, spec: RunSpec) -> str:
        """Id of the run `spec.uid` of this experiment: made, or taken up again and RUNNING."""

    def metrics(self, run: str, metrics: Sequence[Metric]) -> None:
        """Write points; one bad key or value refuses all of them before anything is sent."""

    def artifact(self, run: str, local: Path, folder: str = "") -> None:
        """Copy a file (or a folder with all it holds) into `folder`, `""` for the root."""

    def text(self, run: str, text: str, name: str) -> None:
        """Write `text` as the UTF-8 file `name`, such as `report/per_task.csv`."""

    def model(self, run: str, model: TrackedModel) -> None:
        """Keep the run's trained model; a run that has one keeps that."""

    def tags(self, run: str, tags: Mapping[str, str]) -> None:
        """Set tags; a tag that is there gets the new value."""

    def describe(self, run: str, text: str) -> None:
        """Say in Markdown what the run is, in place of what was said before.

        `[words](artifact:NAME)` becomes a link to that artifact of the run.
        """

    def describe_all(self, text: str, views: Sequence[View]) -> None:
        """Say in Markdown what the experiment is, and offer views of its runs, by name.

        `[words](view:ID)` becomes a link to the charts of that view, `[words](table:ID)` to its table.
        """

    def data(self, run: str, parts: Sequence[DataPart]) -> None:
        """Name the data that the run reads."""

    def table(self, run: str, table: TableFile) -> None:
        """Write a table as an artifact; it replaces the one of its name."""

    def image(self, run: str, local: Path, key: str) -> None:
        """Show a PNG beside the pictures `key` of other runs."""

    def close(self, run: str, status: Status = "FINISHED", ended_ms: int = 0) -> None:
        """End the run, at that time (milliseconds since 1970; 0 means now)."""


class NullTracker:
    """Writes nowhere."""

    def open_run(self, spec: RunSpec) -> str:
        return spec.uid

    def metrics(self, run: str, metrics: Sequence[Metric]) -> None:
        pass

    def artifact(self, run: str, local: Path, folder: str = "") -> None:
        pass

    def text(self, run: str, text: str, name: str) -> None:
        pass

    def model(self, run: str, model: TrackedModel) -> None:
        pass

    def tags(self, run: str, tags: Mapping[str, str]) -> None:
        pass

    def describe(self, run: str, text: str) -> None:
        pass

    def describe_all(self, text: str, views: Sequence[View]) -> None:
        pass

    def data(self, run: str, parts: Sequence[DataPart]) -> None:
        pass

    def table(self, run: str, table: TableFile) -> None:
        pass

    def image(self, run: str, local: Path, key: str) -> None:
        pass

    def close(self, run: str, status: Status = "FINISHED", ended_ms: int = 0) -> None:
        pass
