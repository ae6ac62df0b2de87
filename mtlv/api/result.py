"""Results of training."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mtlv.api.groups import TaskGroups
from mtlv.api.model import Model
from mtlv.api.notebook import html
from mtlv.errors import TrackingError
from mtlv.reporting.member_result import MemberResult
from mtlv.serving.model import ServedPlan
from mtlv.serving.package import CONTENT
from mtlv.store.local import Store
from mtlv.suite.keep_models import best_fold_run, package
from mtlv.tracking.mlflow_model import place_files, save_model
from mtlv.units.input_cache import InputCache

if TYPE_CHECKING:
    import pandas as pd

    from mtlv.plan import Task
    from mtlv.settings import Member
    from mtlv.tracking import TrackedModel


class Result(Model):
    """A trained member of a suite: its metrics, and the model of the fold and seed with the best validation
    score, or the mean of all with `tracking.models: ensemble`, as a `Model`."""

    def __init__(self, result: MemberResult) -> None:
        self._result = result

    @property
    def member(self) -> Member:
        """Name and settings."""
        return self._result.resolved.member

    @property
    def name(self) -> str:
        """Name of the run."""
        return self._result.name

    @property
    def uid(self) -> str:
        """Tag `mtlv.uid` of the run, with which `load_model` finds it."""
        return self._result.resolved.uid

    @property
    def groups(self) -> TaskGroups | None:
        """Groups of the first fold; None if the architecture has no groups."""
        groups = self._result.resolved.children[0].groups
        return None if groups is None else TaskGroups(groups, self.name)

    @property
    def metrics(self) -> dict[str, float]:
        """Test metrics over all tasks: means over folds and seeds, as fractions."""
        rows = [outcome.metrics.plan.as_dict() for outcome in self._result.outcomes]
        return {key: fmean(row[key] for row in rows) for key in rows[0]}

    def to_frame(self) -> pd.DataFrame:
        """Return test metrics by task: means over folds and seeds, with `METRIC std` if there are several."""
        import pandas as pd

        rows = {}
        for task in self.tasks:
            row = {}
            for key in self._result.figures(task):
                values = self._result.of_task(task, key)
                row[key] = fmean(values)
                if len(values) > 1:
                    row[f"{key} std"] = stdev(values)
            rows[task] = row
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("task")

    # ---- The model -----------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """Write the model to a new folder, which `load_model`, `mtlv predict FOLDER TEXT` and MLflow read.

        Raises:
            TrackingError: the folder exists or cannot be written, or the store kept no weights.
        """
        path = Path(folder)
        if path.exists():
            raise TrackingError(f"{path} is there already", then="name a new folder")
        files = self._files  # before the folder is made
        try:
            path.mkdir(parents=True)
            save_model(files, path)
        except OSError as error:
            raise TrackingError(
                f"{path} cannot be written", got=error.strerror, then="name another"
            ) from error
        return path

    @property
    def _known(self) -> Sequence[Task]:
        return self._result.resolved.tasks

    @cached_property
    def _model(self) -> ServedPlan:
        with TemporaryDirectory(prefix="mtlv-model-") as name:
            place_files(self._files.files, self._files.texts, Path(name), (shutil.copyfile,))
            return ServedPlan.load(Path(name) / CONTENT)

    @cached_property
    def _files(self) -> TrackedModel:
        """Files of the model in the store."""
        resolved, outcomes = self._result.resolved, self._result.outcomes
        ensemble = self._result.ensemble
        best = best_fold_run(resolved, outcomes)
        store, trained = Store(self.member.settings.store.folder), []
        for number in (best,) if ensemble is None else range(len(outcomes)):
            weights: dict[str, Path] = {}
            for record in outcomes[number].records:
                weights |= store.weights_of(record)
            missing = [task for task in self.tasks if task not in weights]
            if missing:
                raise TrackingError(
                    f"the store has no weights of {', '.join(missing)}",
                    then="train with `keep_weights=True` in a folder without these units",
                )
            trained.append((resolved.children[number], outcomes[number], weights))
        return package(InputCache(store), store, resolved, trained, ensemble)

    # ---- Display -------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value:.4f}" for key, value in list(self.metrics.items())[:2])
        return f"Result({self.name!r}, {shown})"

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        rows = [(name, *row) for name, row in zip(frame.index, frame.itertuples(index=False), strict=True)]
        return html(repr(self), ("task", *frame.columns), rows)
