"""Results of training."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mtlv.api.arguments import several
from mtlv.api.groups import TaskGroups
from mtlv.api.notebook import html
from mtlv.errors import DataError, TrackingError
from mtlv.reporting.member_result import MemberResult
from mtlv.serving.frame import as_columns
from mtlv.serving.input_frame import as_frame, as_texts
from mtlv.serving.kinds import BOTH, DECISIONS
from mtlv.serving.model import Prediction, ServedPlan
from mtlv.serving.package import CONTENT
from mtlv.store import open_store
from mtlv.store.location import location_of
from mtlv.suite.keep_models import best_child, package
from mtlv.tracking.mlflow_model import place_files
from mtlv.units.input_cache import InputCache

if TYPE_CHECKING:
    import pandas as pd

    from mtlv.settings import Member
    from mtlv.tracking import TrackedModel

Texts: TypeAlias = "Sequence[str] | Sequence[Mapping[str, object]] | pd.Series | pd.DataFrame"
"""Texts, or rows of a table with a column `text`."""


class Result:
    """A trained member of a suite: its metrics, and its model as a scikit-learn style estimator.

    The model is the one of the fold and seed with the best validation score. `predict` returns:

    - yes/no tasks: [N, T] of 0 and 1 at the fitted thresholds; `classes_` are the T names of the tasks
    - one task with classes: [N] names of classes; `classes_` are the C classes
    - one number: [N] values
    - anything else: a DataFrame, as `predict_frame`

    Texts are a list, a Series, or a DataFrame with a column `text` (or only one column). Some tasks need more
    than a text: a DataFrame, or a list of mappings, has it in `text_pair`, `words` or `mentions`.
    """

    def __init__(self, found: MemberResult) -> None:
        self._found = found

    @property
    def member(self) -> Member:
        """Name and settings."""
        return self._found.resolved.member

    @property
    def name(self) -> str:
        """Name of the run."""
        return self._found.name

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the T tasks."""
        return tuple(task.name for task in self._found.resolved.known)

    @property
    def groups(self) -> TaskGroups | None:
        """Groups of the first fold; None if the architecture has no groups."""
        found = self._found.resolved.children[0].groups
        return None if found is None else TaskGroups(found, self.name)

    @property
    def metrics(self) -> dict[str, float]:
        """Test metrics over all tasks: means over folds and seeds, as fractions."""
        each = [outcome.metrics.plan.as_dict() for outcome in self._found.outcomes]
        return {key: fmean(one[key] for one in each) for key in each[0]}

    def to_frame(self) -> pd.DataFrame:
        """Return test metrics by task: means over folds and seeds, with `METRIC std` if there are several."""
        import pandas as pd

        rows = {}
        for task in self.tasks:
            row = {}
            for key in self._found.figures(task):
                values = self._found.of_task(task, key)
                row[key] = fmean(values)
                if len(values) > 1:
                    row[f"{key} std"] = stdev(values)
            rows[task] = row
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("task")

    # ---- The model -----------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """Write the model to a new folder, which `mtlv predict FOLDER TEXT` reads.

        Raises:
            TrackingError: the folder exists or cannot be written, or the store kept no weights.
        """
        path = Path(folder)
        if path.exists():
            raise TrackingError(f"{path} is there already", then="name a new folder")
        files = self._files  # before the folder is made
        try:
            path.mkdir(parents=True)
            place_files(files.files, files.texts, path, (shutil.copyfile,))
        except OSError as error:
            raise TrackingError(
                f"{path} cannot be written", got=error.strerror, then="name another"
            ) from error
        return path

    def fit(self, X: object = None, y: object = None) -> Result:
        """Return the result itself, unchanged, as `sklearn.frozen.FrozenEstimator` does."""
        return self

    def predict(self, texts: Texts) -> NDArray | pd.DataFrame:
        """Predict N texts; see the class for the shape.

        Raises:
            DataError: a text is empty or not text, or one text is given instead of a list.
        """
        kind, tasks = self._kind, list(self.tasks)
        if kind is None:
            return self.predict_frame(texts, columns=DECISIONS)
        found = as_columns(self._predict(texts)[0], DECISIONS)
        if kind == "binary":
            return np.stack([found[task] for task in tasks], axis=1).astype(int)
        return np.asarray(found[tasks[0]])

    def predict_proba(self, texts: Texts) -> NDArray[np.float64]:
        """Return probabilities of N texts: [N, T] of "yes" for yes/no tasks, [N, C] for a task with classes.

        Raises:
            DataError: as for `predict`, or the tasks do not have probabilities of the same shape.
        """
        found, _ = self._predict(texts)
        if self._kind == "binary":
            return np.stack([found[task].outputs for task in self.tasks], axis=1).astype(np.float64)
        if self._kind == "multiclass":
            return np.asarray(found[self.tasks[0]].outputs, np.float64)
        raise DataError(
            "`predict_proba` needs yes/no tasks, or one task with classes", then="call `predict_frame`"
        )

    def predict_frame(self, texts: Texts, *, columns: str = BOTH) -> pd.DataFrame:
        """Return N rows with the predictions of every task, and the index of a given Series or DataFrame.

        Args:
            texts: N texts.
            columns: `both`, `probabilities` or `decisions`.

        Raises:
            DataError: as for `predict`.
        """
        import pandas as pd

        found, index = self._predict(texts)
        return pd.DataFrame(as_columns(found, columns), index=index)

    def _predict(self, texts: Texts) -> tuple[Prediction, pd.Index]:
        """Return predictions of N texts, and the index of the table that they stand in."""
        import pandas as pd

        whole = isinstance(texts, (pd.DataFrame, pd.Series, Mapping))
        frame = as_frame(texts if whole else several(texts, "texts"))
        return self._model.predict(as_texts(frame)), frame.index

    @property
    def classes_(self) -> NDArray:
        """Names of the tasks [T] for yes/no tasks; the classes [C] of a single task."""
        tasks = self._found.resolved.known
        names = tasks[0].classes if self._kind == "multiclass" else self.tasks
        return np.array(names, dtype=object)

    @property
    def _estimator_type(self) -> str:
        return "regressor" if self._kind == "regression" else "classifier"

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        several = self._kind == "binary" and len(self.tasks) > 1
        classifies = self._estimator_type == "classifier"
        return Tags(
            estimator_type=self._estimator_type,
            target_tags=TargetTags(required=True, multi_output=several),
            classifier_tags=ClassifierTags(multi_label=several) if classifies else None,
            regressor_tags=None if classifies else RegressorTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
        )

    @cached_property
    def _kind(self) -> str | None:
        """Kind of all tasks, if `predict` has one shape for them; None otherwise."""
        kinds = {task.kind for task in self._found.resolved.known}
        kind = kinds.pop() if len(kinds) == 1 else ""
        alone = len(self.tasks) == 1 and kind in ("multiclass", "regression")
        return kind if kind == "binary" or alone else None

    @cached_property
    def _model(self) -> ServedPlan:
        with TemporaryDirectory(prefix="mtlv-model-") as name:
            place_files(self._files.files, self._files.texts, Path(name), (shutil.copyfile,))
            return ServedPlan.load(Path(name) / CONTENT)

    @cached_property
    def _files(self) -> TrackedModel:
        """Files of the model in the store."""
        resolved, outcomes = self._found.resolved, self._found.outcomes
        best = best_child(resolved, outcomes)
        store = open_store(location_of(self.member.settings.store))
        weights: dict[str, Path] = {}
        for record in outcomes[best].records:
            weights |= store.weights_of(record)
        missing = [task for task in self.tasks if task not in weights]
        if missing:
            raise TrackingError(
                f"the store has no weights of {', '.join(missing)}",
                then="train with `keep_weights=True` in a folder without these units",
            )
        return package(InputCache(store), store, resolved, resolved.children[best], outcomes[best], weights)

    # ---- Display -------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value:.4f}" for key, value in list(self.metrics.items())[:2])
        return f"Result({self.name!r}, {shown})"

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        rows = [(name, *row) for name, row in zip(frame.index, frame.itertuples(index=False), strict=True)]
        return html(repr(self), ("task", *frame.columns), rows)
