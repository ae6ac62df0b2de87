"""Training, and its results."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.api.arguments import as_settings, several
from mtlv.api.corpus import Corpus, readable, stored_path, the_corpus
from mtlv.api.groups import TaskGroups
from mtlv.api.notebook import html, progress
from mtlv.errors import ConfigError, DataError, TrackingError, TrainingError
from mtlv.events import Callback, NoteGiven
from mtlv.planning.check import check_suite, further_problems
from mtlv.registries import ARCHITECTURES
from mtlv.reporting.member_result import MemberResult
from mtlv.serving.frame import as_columns
from mtlv.serving.kinds import BOTH, DECISIONS
from mtlv.serving.model import ServedPlan
from mtlv.serving.package import CONTENT
from mtlv.settings import Suite, default_settings, load_suite
from mtlv.store import open_store
from mtlv.store.location import location_of
from mtlv.suite.keep_models import best_child, package
from mtlv.suite.run import SuiteResult, run_suite
from mtlv.tracking.mlflow_model import place_files
from mtlv.units.input_cache import InputCache

if TYPE_CHECKING:
    import pandas as pd

    from mtlv.settings import Member
    from mtlv.tracking import TrackedModel


class Result:
    """A trained member of a suite: its metrics, and its model as a scikit-learn style estimator.

    The model is the one of the fold and seed with the best validation score. `predict` returns:

    - yes/no tasks: [N, T] of 0 and 1 at the fitted thresholds; `classes_` are the T names of the tasks
    - one task with classes: [N] names of classes; `classes_` are the C classes
    - one number: [N] values
    - anything else: a DataFrame, as `predict_frame`
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
            TrackingError: the folder exists, or the store kept no weights.
        """
        path = Path(folder)
        if path.exists():
            raise TrackingError(f"{path} is there already", then="name a new folder")
        files = self._files  # before the folder is made
        path.mkdir(parents=True)
        place_files(files.files, files.texts, path, (shutil.copyfile,))
        return path

    def fit(self, X: object = None, y: object = None) -> Result:
        """Return the result itself, unchanged, as `sklearn.frozen.FrozenEstimator` does."""
        return self

    def predict(self, texts: Sequence[str]) -> NDArray | pd.DataFrame:
        """Predict N texts; see the class for the shape.

        Raises:
            DataError: a text is empty or not text, or one text is given instead of a list.
        """
        kind, tasks = self._kind, list(self.tasks)
        if kind is None:
            return self.predict_frame(texts, columns=DECISIONS)
        found = as_columns(self._model.predict(several(texts, "texts")), DECISIONS)
        if kind == "binary":
            return np.stack([found[task] for task in tasks], axis=1).astype(int)
        return np.asarray(found[tasks[0]])

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return probabilities of N texts: [N, T] of "yes" for yes/no tasks, [N, C] for a task with classes.

        Raises:
            DataError: as for `predict`, or the tasks do not have probabilities of the same shape.
        """
        found = self._model.predict(several(texts, "texts"))
        if self._kind == "binary":
            return np.stack([found[task].outputs for task in self.tasks], axis=1).astype(np.float64)
        if self._kind == "multiclass":
            return np.asarray(found[self.tasks[0]].outputs, np.float64)
        raise DataError(
            "`predict_proba` needs yes/no tasks, or one task with classes", then="call `predict_frame`"
        )

    def predict_frame(self, texts: Sequence[str], *, columns: str = BOTH) -> pd.DataFrame:
        """Return N rows with the predictions of every task.

        Args:
            texts: N texts.
            columns: `both`, `probabilities` or `decisions`.

        Raises:
            DataError: as for `predict`.
        """
        import pandas as pd

        return pd.DataFrame(as_columns(self._model.predict(several(texts, "texts")), columns))

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


class SuiteRun:
    """All results of a suite.

    Args:
        found: results of the members.
        experiment: name of the experiment.
    """

    def __init__(self, found: SuiteResult, experiment: str) -> None:
        self._found, self.experiment = found, experiment
        self.results = tuple(map(Result, found.members))
        self.failed = found.failed

    def to_frame(self) -> pd.DataFrame:
        """Return one row per run with its test metrics: means over folds and seeds, as fractions."""
        import pandas as pd

        rows = {result.name: result.metrics for result in self.results}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("run")

    def __repr__(self) -> str:
        return f"SuiteRun({self.experiment!r}, {len(self.results)} results, {len(self.failed)} failed)"

    def _repr_html_(self) -> str:
        return html(repr(self), self._found.header, self._found.rows, " ".join(self.failed))


def run(
    config: str | Path | Mapping[str, Any],
    overrides: Mapping[str, Any] | None = None,
    *,
    callback: Callback | None = None,
) -> SuiteRun:
    """Train, evaluate and track a config, like `mtlv run`.

    Args:
        config: path of the YAML file, or its content.
        overrides: values by dotted key, such as `{"training.epochs": 3}`.
        callback: receives the events of `mtlv.events`; None shows a progress bar.

    Raises:
        MtlvError: an error that the command would report.

    Example:
        >>> import mtlv
        >>> config = {"encoder": "tiny", "data": {"name": "synthetic", "documents": 60}}
        >>> suite = mtlv.run(config, {"training.epochs": 1, "matrix": {"architecture": ["stl", "mtl"]}})
        >>> suite
        SuiteRun('mtlv', 2 results, 0 failed)
        >>> list(suite.to_frame().columns)[:2]
        ['f1_macro', 'f1_micro']
    """
    return _run(load_suite(config, overrides or {}, further_problems()), callback)


def train(
    corpus: Corpus,
    *,
    architecture: str = "mtl",
    groups: TaskGroups | Sequence[Sequence[str]] | None = None,
    encoder: str | None = None,
    folder: str | Path | None = None,
    callback: Callback | None = None,
    **settings: Any,
) -> Result:
    """Train one architecture on a corpus; it is tracked in MLflow and resumed like any run.

    Args:
        corpus: N documents with T tasks.
        architecture: `stl`, `mtl`, `gmtl` or `gmhl`.
        groups: groups for a grouped architecture; None clusters the tasks.
        encoder: alias, name or folder; None is the default.
        folder: folder of the store and `mlflow.db`; None is the working folder, as for the command.
        callback: receives the events of `mtlv.events`; None shows a progress bar.
        settings: other settings, such as `epochs=3`, `folds=5`, `seed=[0, 1]`.

    Raises:
        ConfigError: a setting is wrong, or there are groups for an architecture without.
        DataError: `corpus` is no corpus.
        TrainingError: training failed.

    Example:
        >>> import mtlv
        >>> corpus = mtlv.load("synthetic", documents=60)
        >>> result = mtlv.train(corpus, encoder="tiny", epochs=1, folder="runs")
        >>> 0 <= result.metrics["f1_macro"] <= 1
        True
        >>> result.predict(["the heart is enlarged", "no finding"]).shape
        (2, 9)
    """
    the_corpus(corpus, "mtlv.train")
    values = {"architecture.name": architecture, **as_settings(settings, "training")}
    if encoder is not None:
        values["encoder.name"] = encoder
    if groups is not None:
        values |= _given(groups, architecture)
    if folder is not None:
        home = Path(folder).absolute()
        values |= {"store.uri": str(home / "mtlv-store"), "tracking.uri": f"sqlite:///{home / 'mlflow.db'}"}
    default = default_settings().store.uri
    store = str(values.get("store.uri", default))
    path = stored_path(corpus, Path(default if "://" in store else store))
    data = corpus.settings if path is None else {**corpus.settings, "data.path": str(path)}
    suite = load_suite({}, {**data, **values})
    if len(suite.members) > 1:
        raise ConfigError(["`mtlv.train` trains one architecture; call `mtlv.run` for a suite"])
    if corpus.memory is not None and path is not None:
        with readable(corpus) as read:  # so that nothing is written if a setting does not suit the corpus
            check_suite(load_suite({}, {**read, **values}))
        corpus.memory.write(path)
    if folder is not None:
        _make(Path(folder))
    found = _run(suite, callback)
    if found.failed:
        raise TrainingError(found.failed[0])
    return found.results[0]


def _make(folder: Path) -> None:
    """Create a folder unless it exists.

    Raises:
        DataError: it cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"`folder` {folder} cannot be created", got=error.strerror, then="choose another"
        ) from error


def _given(groups: TaskGroups | Sequence[Sequence[str]], architecture: str) -> dict[str, Any]:
    """Return the settings of given groups.

    Raises:
        ConfigError: the architecture has no groups.
    """
    if architecture in ARCHITECTURES and not ARCHITECTURES[architecture].grouped:
        grouped = " or ".join(name for name in ARCHITECTURES if ARCHITECTURES[name].grouped)
        raise ConfigError([f"`groups`: `architecture` has none (got {architecture}); allowed: {grouped}"])
    given = groups.groups if isinstance(groups, TaskGroups) else groups
    return {"grouping.method": "given", "grouping.groups": [list(group) for group in given]}


def _run(suite: Suite, callback: Callback | None) -> SuiteRun:
    with progress(callback) as call:
        for note in suite.notes:
            call(NoteGiven(note))
        return SuiteRun(run_suite(suite, call), suite.experiment)
