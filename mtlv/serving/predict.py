"""`mtlv predict`: find a run's model and ask it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.errors import TrackingError, nearest
from mtlv.serving.texts import InputTexts
from mtlv.tracking import DEFAULT_URI
from mtlv.tracking.reader import FOLD, MEMBER, StoredRun, experiment_id

if TYPE_CHECKING:
    from mtlv.serving.answers import PredictionTable
    from mtlv.serving.model import ServedPlan
    from mtlv.tracking.reader import RunReader

KIND, NAME = "mtlv.kind", "mlflow.runName"
FULL_ID = re.compile(r"[0-9a-f]{32}")
PART_OF_ID = re.compile(r"[0-9a-f]{6,31}")


@dataclass(frozen=True)
class ModelQuery:
    """Where a model is looked for.

    Args:
        run: a run's id, the beginning of one (6 digits or more), its name (the newest run of that name), or a
            folder with a model.
        uri: tracking address; None means `mlflow.db` in the working folder.
        experiment: only runs of it.
    """

    run: str
    uri: str | None = None
    experiment: str | None = None


def predict_texts(
    place: ModelQuery, texts: InputTexts, *, tasks: Collection[str] | None = None, device: str = "auto"
) -> PredictionTable:
    """Ask the model at `place`.

    Args:
        place: of the model.
        texts: to be read.
        tasks: names of those that are wanted; None is all.
        device: `auto`, `cpu`, `cuda` or `cuda:N`.

    Raises:
        TrackingError: the run or its model is not there, or a name means several runs.
        EncoderError, DeviceError: the model cannot be loaded here.
        DataError: a text lacks what a task reads, or there is no such task.
    """
    folder = _own_folder(place.run)
    if folder is not None:
        return _ask(_load(folder, device), texts, tasks)
    from mtlv.tracking.mlflow_model import fetch_model
    from mtlv.tracking.mlflow_reader import MlflowReader

    reader = MlflowReader(place.uri)
    run = find_run(reader, place)
    with tempfile.TemporaryDirectory(prefix="mtlv-model-") as name:
        found = fetch_model(place.uri or DEFAULT_URI, run.experiment, run.id, Path(name))
        if found is None:
            raise _no_model(run)
        plan = _load(_content(found) or found, device)
    return _ask(plan, texts, tasks)


def find_run(reader: RunReader, place: ModelQuery) -> StoredRun:
    """The run that `place` means.

    Raises:
        TrackingError: there is none, or the beginning of an id fits several.
    """
    experiments = dict(reader.experiments())
    within = list(experiments.values())
    if place.experiment is not None:
        within = [experiment_id(place.experiment, experiments)]
    run = reader.run(place.run) if FULL_ID.fullmatch(place.run) else None
    if run is not None and run.experiment in within:
        return run
    named = reader.runs(within, {NAME: place.run}, most=1) if "'" not in place.run else []
    return named[0] if named else _by_beginning(reader, place.run, within)


def _by_beginning(reader: RunReader, text: str, within: Sequence[str]) -> StoredRun:
    members = reader.runs(within, {KIND: MEMBER})
    same = [run for run in members if run.name == text]  # with a quote, which no store can be asked for
    if same:
        return same[0]
    if PART_OF_ID.fullmatch(text):
        every = [*members, *reader.runs(within, {KIND: FOLD})]
        begins = [run for run in every if run.id.startswith(text)]
        if len(begins) == 1:
            return begins[0]
        if begins:
            raise TrackingError(f"`{text}` is the prefix of {len(begins)} run ids", then="give more digits")
    known = dict.fromkeys(run.name for run in members)
    examples = "".join(f", such as `{name}`" for name in list(known)[:1])
    raise TrackingError(
        f"there is no run `{text}` in the store",
        allowed=f"a run's id, a run's name{examples}, or a folder with a model",
        then=nearest(text, known) or "`mtlv ui` shows the runs; `--uri` names another store",
    )


def _own_folder(text: str) -> Path | None:
    """The folder that the user names, where it is one with a model.

    Raises:
        TrackingError: it can only be meant as a folder, and holds no model.
    """
    path = Path(os.path.expanduser(text))
    found = _content(path)
    if found is None and (path.is_absolute() or text.startswith((".", "~"))):
        what = "holds no model" if os.path.isdir(path) else "is not there"
        raise TrackingError(
            f"the folder {path} {what}", then="give one with the file MLmodel, or a run's id or name"
        )
    return found


def _content(folder: Path) -> Path | None:
    """What a model's folder, or its content itself, holds for `ServedPlan.load`."""
    from mtlv.serving.manifest import DESCRIPTION
    from mtlv.serving.package import CONTENT

    return next((path for path in (folder / CONTENT, folder) if os.path.isfile(path / DESCRIPTION)), None)


def _no_model(run: StoredRun) -> TrackingError:
    if run.kind not in (MEMBER, FOLD):
        return TrackingError(
            f"run `{run.name}` ({run.id}) is no run that trains", then="name the run of a suite's member"
        )
    if run.status == "RUNNING":
        return TrackingError(f"run `{run.name}` ({run.id}) has no model yet", then="wait until it has ended")
    return TrackingError(
        f"run `{run.name}` ({run.id}) has no model",
        then="run its config again with `tracking.models: all` and `store.keep_weights: true`: "
        "what is in the store is not trained again",
    )


def _load(folder: Path, device: str) -> ServedPlan:
    from mtlv.serving.model import ServedPlan

    return ServedPlan.load(folder, device=device)


def _ask(plan: ServedPlan, texts: InputTexts, tasks: Collection[str] | None) -> PredictionTable:
    from mtlv.serving.answers import PredictionTable

    return PredictionTable(texts, plan.predict(texts, tasks=tasks), plan.description.origin)
