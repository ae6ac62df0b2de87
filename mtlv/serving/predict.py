"""The command `mtlv predict`: find a run's model and predict texts."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.errors import DataError, TrackingError, nearest
from mtlv.serving.manifest import DESCRIPTION
from mtlv.serving.texts import InputTexts
from mtlv.tracking.mlflow_model import fetch_model
from mtlv.tracking.mlflow_reader import MlflowReader
from mtlv.tracking.reader import FOLD, KIND, MEMBER, UID, experiment_id, find_by_id_prefix, find_by_prefix

if TYPE_CHECKING:
    from mtlv.serving.answers import PredictionTable
    from mtlv.serving.model import ServedPlan
    from mtlv.tracking.reader import StoredRun

NAME = "mlflow.runName"
FULL_ID = re.compile(r"[0-9a-f]{32}")
PART_OF_ID = re.compile(r"[0-9a-f]{6,31}")


def predict_texts(
    plan: ServedPlan,
    texts: InputTexts,
    *,
    tasks: Collection[str] | None = None,
    calibrated: bool = False,
    abstain: float | None = None,
    explain: bool = False,
) -> PredictionTable:
    """Predict texts for all tasks or the named ones.

    Raises:
        DataError: a text lacks an input of a task, or has one that none reads, a task does not exist,
            none has a temperature if probabilities are to be `calibrated`, a limit to `abstain`, or weights
            of tokens to `explain` it.
    """
    from mtlv.serving.answers import PredictionTable

    read = {name for task in plan.description.tasks.values() for name in task.schema.reads}
    unread = [name for name in texts.more if name not in read]
    if texts.unit == "text" and unread:  # a file may have further columns
        raise DataError(f"no task of the model reads `{unread[0]}`", then="leave it out")
    prediction = plan.predict(texts, tasks=tasks, calibrated=calibrated, abstain=abstain, explain=explain)
    return PredictionTable(texts, prediction, plan.description.origin)


def load_plan(
    name: str, *, uri: str | None = None, experiment: str | None = None, device: str = "auto"
) -> ServedPlan:
    """Load the model of a run, or of a folder.

    Args:
        name: a run id, a prefix of one (6 digits or more), a run name (the newest run of it), a `mtlv.uid`,
            or a folder with a model.
        uri: tracking address; None means `mlflow.db` in the working folder.
        experiment: restricts to runs of this experiment.
        device: `auto`, `cpu`, `cuda` or `cuda:N`.

    Raises:
        TrackingError: the run or its model is missing, or several runs match.
        EncoderError, DeviceError: the model cannot be loaded here.
    """
    folder = _model_folder(name)
    if folder is not None:
        return _load(folder, device)

    reader = MlflowReader(uri)
    run = find_run(reader, name, experiment)
    with tempfile.TemporaryDirectory(prefix="mtlv-model-") as temporary:
        path = fetch_model(reader.uri, run.experiment, run.id, Path(temporary))
        if path is None:
            raise _no_model(run)
        return _load(_content(path) or path, device)


def find_run(reader: MlflowReader, name: str, experiment: str | None = None) -> StoredRun:
    """Return the run of this id, prefix of an id, name or uid.

    Raises:
        TrackingError: no run matches, or several match an id prefix.
    """
    experiments = dict(reader.experiments())
    within = list(experiments.values())
    if experiment is not None:
        within = [experiment_id(experiment, experiments)]
    run = reader.run(name) if FULL_ID.fullmatch(name) else None
    if run is not None and run.experiment in within:
        return run
    for tag in (NAME, UID) if "'" not in name else ():
        for match in reader.runs(within, {tag: name}, most=1):
            return match
    return _by_beginning(reader, name, within)


def _by_beginning(reader: MlflowReader, text: str, within: Sequence[str]) -> StoredRun:
    members = reader.runs(within, {KIND: MEMBER})
    same = [run for run in members if run.name == text]  # names with a quote cannot be used in a query
    if same:
        return same[0]
    if PART_OF_ID.fullmatch(text):
        run = find_by_id_prefix(text, [*members, *reader.runs(within, {KIND: FOLD})])
        if run is not None:
            return run
    known = dict.fromkeys(run.name for run in members)
    like = find_by_prefix(text, known)
    if like is not None:
        return next(run for run in members if run.name == like)
    examples = "".join(f", such as `{name}`" for name in list(known)[:1])
    raise TrackingError(
        f"there is no run `{text}` in the store",
        allowed=f"a run's id or uid, a run's name{examples}, or a folder with a model",
        then=nearest(text, known)
        or "`mtlv ui` shows the runs; `--uri` (in Python `uri=`) names another store",
    )


def _model_folder(text: str) -> Path | None:
    """Return the folder given by the user, if it contains a model.

    Raises:
        TrackingError: the text must be a folder, but there is no model in it.
    """
    path = Path(os.path.expanduser(text))
    folder = _content(path)
    if folder is None and (path.is_absolute() or text.startswith((".", "~"))):
        what = "contains no model" if os.path.isdir(path) else "does not exist"
        raise TrackingError(
            f"the folder {path} {what}", then="give one with the file MLmodel, or a run's id, uid or name"
        )
    return folder


def _content(folder: Path) -> Path | None:
    """Return the content for `ServedPlan.load`, from a model's folder or the content folder itself."""
    from mtlv.serving.package import CONTENT

    return next((path for path in (folder / CONTENT, folder) if os.path.isfile(path / DESCRIPTION)), None)


def _no_model(run: StoredRun) -> TrackingError:
    if run.kind not in (MEMBER, FOLD):
        return TrackingError(
            f"run `{run.name}` ({run.id}) does not train a model", then="give the run of a suite's member"
        )
    if run.params.get("predictions", "null") != "null":
        return TrackingError(
            f"run `{run.name}` ({run.id}) has no model, because its predictions were given",
            then="give a run that was trained",
        )
    if run.status == "RUNNING":
        return TrackingError(f"run `{run.name}` ({run.id}) has no model yet", then="wait until it ends")
    return TrackingError(
        f"run `{run.name}` ({run.id}) has no model",
        then="run its config again with `tracking.models: all` and `store.keep_weights: true`: "
        "units in the store are not trained again",
    )


def _load(folder: Path, device: str) -> ServedPlan:
    from mtlv.serving.model import ServedPlan

    return ServedPlan.load(folder, device=device)
