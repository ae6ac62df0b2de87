"""The tracker: a small write-only protocol for runs, and its records.

Every call may be repeated: timestamps are fixed by the caller, and logging the same again changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from mtlv.tracking.views import View

Status = Literal["FINISHED", "FAILED", "KILLED"]
RUN_ID = "{run id}"
"""Placeholder for the run id in a model's description; the store assigns the id when it creates the run."""
MODELS = "models"
"""Setting of a `TrackedModel`: how many models it is the mean of, if several."""
INPUT_EXAMPLE, REQUEST_EXAMPLE = "input_example.json", "serving_input_example.json"
"""Files of a model: a table that it reads, as `{"columns": [...], "data": [...]}`, and a request with it."""
Param = str | int | float | bool | None | Sequence[object] | Mapping[str, object]


@dataclass(frozen=True)
class RunSpec:
    """A run to open."""

    uid: str  # content key; the same uid is the same run (tag `mtlv.uid`)
    name: str
    kind: str = ""  # `suite member`, `fold`, `comparison` (tag `mtlv.kind`)
    parent: str | None = None  # id of the parent run
    params: Mapping[str, Param] = field(default_factory=dict)  # settings, flattened with dots
    tags: Mapping[str, str] = field(default_factory=dict)
    description: str = ""  # on its page, in Markdown
    colour: str = ""  # `#RRGGBB` of its lines and bars
    began_ms: int = 0  # start time in milliseconds since 1970; 0 means now
    waiting: bool = False  # whether it starts later, when it is opened again


@dataclass(frozen=True)
class Metric:
    """One point of a curve."""

    key: str  # see `mtlv.tracking.checks.check_key`
    value: float  # a number; infinity is stored as NaN
    step: int = 0  # epoch or optimizer step, from 0
    timestamp_ms: int = 0  # milliseconds since 1970; fixed, so that logging again stores nothing new


@dataclass(frozen=True)
class TrackedModel:
    """A trained model to log with a run: a folder that MLflow loads as a python function, without pickles."""

    files: Mapping[str, Path]  # local file by its name in the folder; linked instead of copied if possible
    texts: Mapping[str, str]  # content of further small files by name
    code: str  # name of the Python file in `texts` that loads the folder
    content: str  # subfolder that is passed to the code
    outputs: Mapping[str, str]  # type (`double`, `boolean`) of each output column, by name
    # parameters of a prediction, with their default values
    params: Mapping[str, str | bool | float] = field(default_factory=dict)
    description: str = ""  # in Markdown; `RUN_ID` in it becomes the run's id
    settings: Mapping[str, Param] = field(default_factory=dict)  # settings shown with the model
    metrics: Sequence[Metric] = ()  # its metrics, as already logged in a run
    metrics_run: str | None = None  # id of that run; None means the model's own run
    dataset: tuple[str, str] | None = None  # name and digest of the data set of the metrics


@dataclass(frozen=True)
class DataPart:
    """Documents read by a run."""

    name: str  # such as `openi train`; differs between parts
    digest: str
    role: str  # `training`, `validation`, `test` or another role
    source: str  # address or file of origin
    documents: int
    tasks: tuple[str, ...]  # names of the labels


@dataclass(frozen=True)
class TableFile:
    """A table to view together with the same table of other runs; `name` ends with `.json`."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]


@runtime_checkable
class Tracker(Protocol):
    """Destination of runs. All methods raise TrackingError on failure."""

    def open_run(self, spec: RunSpec) -> str:
        """Return the id of the run `spec.uid` of this experiment: created or reopened, and RUNNING; SCHEDULED
        if it is waiting.
        """

    def metrics(self, run: str, metrics: Sequence[Metric]) -> None:
        """Log points; one invalid key or value rejects all of them before anything is sent."""

    def artifact(self, run: str, local: Path, folder: str = "") -> None:
        """Copy a file (or a folder with its content) into `folder`; `""` is the root."""

    def text(self, run: str, text: str, name: str) -> None:
        """Write `text` as the UTF-8 file `name`, such as `report/per_task.csv`."""

    def model(self, run: str, model: TrackedModel) -> None:
        """Log the run's trained model; a run that already has one keeps it, unless `MODELS` differs."""

    def tags(self, run: str, tags: Mapping[str, str]) -> None:
        """Set tags; existing tags get the new value."""

    def describe(self, run: str, text: str) -> None:
        """Set the run's description in Markdown, replacing the previous one.

        `[words](artifact:NAME)` becomes a link to that artifact of the run.
        """

    def describe_all(self, text: str, views: Sequence[View]) -> None:
        """Set the experiment's description in Markdown, and add views of its runs, by name.

        `[words](view:ID)` becomes a link to the charts of that view, `[words](table:ID)` to its table,
        `[words](page:UID)` to the page of the comparison's run with that uid.
        """

    def data(self, run: str, parts: Sequence[DataPart]) -> None:
        """Log the data read by the run."""

    def table(self, run: str, table: TableFile) -> None:
        """Write a table as an artifact, replacing one of the same name."""

    def image(self, run: str, local: Path, key: str) -> None:
        """Show a PNG together with the images `key` of other runs."""

    def close(self, run: str, status: Status = "FINISHED", ended_ms: int = 0) -> None:
        """Close the run, with that end time (milliseconds since 1970; 0 means now)."""


class TrackingStore(Tracker, Protocol):
    """A tracker that knows what became of its runs."""

    def end_if_running(self, run: str, ended_ms: int) -> bool:
        """Mark a run that is RUNNING as KILLED, with that end time; return whether it was."""


class NullTracker(Tracker):
    """Discards everything: methods of the protocol do nothing."""

    def open_run(self, spec: RunSpec) -> str:
        return spec.uid
