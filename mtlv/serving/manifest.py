"""`served.json`: how the networks of a logged model were trained and evaluated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Strict, ValidationError
from pydantic.dataclasses import dataclass as checked

from mtlv.errors import TrackingError, shorten
from mtlv.foreign import read_json
from mtlv.serving.columns import ID, INPUT_COLUMNS
from mtlv.serving.inputs import STRICT, ServedTask
from mtlv.serving.kinds import ANSWERS
from mtlv.settings.values import Fraction, Positive

MOST_BYTES = 20_000_000  # maximum bytes of a JSON file
DESCRIPTION = "served.json"
FORMAT = 5
"""Increase it when older versions of mtlv can no longer read the folder."""
READABLE = (4, FORMAT)  # 4 had no `columns`, `temperatures` and `limits`
Limit = Annotated[tuple[Fraction, Fraction], Strict(False)]  # a list in the file
TASK_FILES = "own"  # the key of `task_files` in the file, since format 4


@checked(frozen=True, config=STRICT)
class ModelManifest:
    """Content of `served.json`."""

    origin: str  # name of the run that trained them
    tasks: Mapping[str, ServedTask]  # tasks by name, in the order of the corpus
    thresholds: Mapping[str, Fraction]  # decision thresholds of yes/no tasks, fitted on validation
    scope: str  # how they were fitted; see `mtlv.evaluation.thresholds`
    networks: Mapping[str, str]  # file of each model of the plan, by model name
    task_files: Mapping[str, str]  # file by task, if it is not that of the task's model
    encoder: str
    tokenizer: str  # digest of the tokenization
    features: str  # the setting `encoder.features`
    heads: Mapping[str, str]  # the settings `heads`; see `mtlv.units.model`
    precision: str  # `fp32` or `bf16`, as in the test
    mtlv: str  # version of mtlv that wrote it
    sha256: Mapping[str, str]  # checksums of the networks' files, by file
    # names of the inputs in the tables of the training documents, if they differ: {"text": ["report"]}
    columns: Mapping[str, list[str]] = field(default_factory=dict)
    temperatures: Mapping[str, Positive] = field(default_factory=dict)  # of tasks with probabilities
    limits: Mapping[str, list[Limit]] = field(default_factory=dict)  # see `mtlv.evaluation.abstention`
    # number of models whose outputs are averaged; those after the first have their description and plan in a
    # folder of their number
    models: int = 1
    format: int = FORMAT  # of the folder

    @property
    def thresholded(self) -> list[str]:
        """Names of the tasks that need a threshold."""
        return [name for name, served in self.tasks.items() if ANSWERS[served.task.kind].thresholded]

    @property
    def files(self) -> list[str]:
        """Files of all networks, without duplicates."""
        return list(dict.fromkeys((*self.networks.values(), *self.task_files.values())))

    def as_json(self) -> str:
        content = {f.name: getattr(self, f.name) for f in fields(self)}
        content[TASK_FILES] = content.pop("task_files")
        content["tasks"] = {name: served.as_json() for name, served in self.tasks.items()}
        return json.dumps(content, indent=1, ensure_ascii=False)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the description in `folder`.

        Raises:
            TrackingError: it is missing, invalid, or of another format.
        """
        content = read_json_file(folder / DESCRIPTION)
        version = content.get("format") if isinstance(content, dict) else None
        if type(version) is not int or version not in READABLE:
            raise TrackingError(
                f"the model in {folder} has a format that this version of mtlv does not support",
                got=version,
                allowed=" or ".join(map(str, READABLE)),
                then="use the version of mtlv in its requirements.txt",
            )
        try:
            tasks = {name: ServedTask.read(name, task) for name, task in content["tasks"].items()}
            values = {**content, "tasks": tasks, "task_files": content[TASK_FILES]}
            del values[TASK_FILES]
            manifest = cls(**values)
            _check(manifest)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise broken(folder / DESCRIPTION, error) from error
        return manifest


def _check(manifest: ModelManifest) -> None:
    """Raise ValueError for values that do not fit each other, an unknown kind, or one without its content."""
    if not manifest.columns.keys() <= {*INPUT_COLUMNS, ID}:
        raise ValueError("`columns` of unknown inputs")
    if not manifest.sha256.keys() >= set(manifest.files):
        raise ValueError("`sha256` without a file of `networks`")
    if any(Path(name).is_absolute() or ".." in Path(name).parts for name in manifest.files):
        raise ValueError("`networks` with a file outside the folder")
    for name, served in manifest.tasks.items():
        if served.task.kind not in ANSWERS:
            raise ValueError(f"task `{name}` of the unknown kind {served.task.kind!r}")
        if ANSWERS[served.task.kind].classed and not served.task.classes:
            raise ValueError(f"task `{name}` without classes")
        if ANSWERS[served.task.kind].needs not in ("", *served.schema.reads):
            raise ValueError(f"task `{name}` that does not read `{ANSWERS[served.task.kind].needs}`")


def read_json_file(path: Path) -> Any:
    """Read a JSON file; raise TrackingError if `path` is missing, too large, or not JSON."""
    try:
        return read_json(path, MOST_BYTES)
    except (OSError, ValueError) as error:
        raise broken(path, error) from error


def broken(path: Path, error: Exception) -> TrackingError:
    """Return the error for an unusable file of a logged model."""
    reason = getattr(error, "strerror", None) or str(error)
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        reason = f"`{'.'.join(map(str, first['loc']))}`: {first['msg']}"
    return TrackingError(
        f"the model's file {path} cannot be read",
        got=shorten(reason),
        then="get the model again from its run",
    )
