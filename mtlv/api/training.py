"""Training of one architecture, or of a suite."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtlv.api.arguments import as_settings, errors_name_arguments, wrong_type
from mtlv.api.corpus import Corpus, readable, stored_path, the_corpus
from mtlv.api.groups import TaskGroups
from mtlv.api.notebook import html, progress
from mtlv.api.result import Result
from mtlv.errors import ConfigError, DataError, TrainingError, shorten
from mtlv.events import Callback, NoteGiven
from mtlv.planning.check import check_suite, further_problems
from mtlv.registries import ARCHITECTURES
from mtlv.settings import Suite, default_settings, load_suite
from mtlv.settings.draft import full_key
from mtlv.suite.placement import place_runs
from mtlv.suite.run import SuiteResult, run_suite

if TYPE_CHECKING:
    import pandas as pd


class SuiteRun:
    """All results of a suite.

    `results` has a `Result` per member, in the order of the config; with `tune`, only those that are best on
    validation. `failed` has a sentence per member that failed.

    Args:
        result: results of the members.
        experiment: name of the experiment.
    """

    def __init__(self, result: SuiteResult, experiment: str) -> None:
        self._result, self.experiment = result, experiment
        self.results = tuple(map(Result, result.members))
        self.failed = result.failed

    def to_frame(self) -> pd.DataFrame:
        """Return one row per run with its test metrics: means over folds and seeds, as fractions."""
        import pandas as pd

        rows = {result.name: result.metrics for result in self.results}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("run")

    def __repr__(self) -> str:
        return f"SuiteRun({self.experiment!r}, {len(self.results)} results, {len(self.failed)} failed)"

    def _repr_html_(self) -> str:
        return html(repr(self), self._result.header, self._result.rows, " ".join(self.failed))


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
        callback: receives the events of `mtlv.events`; None shows the progress.

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
    if not isinstance(config, str | os.PathLike | Mapping):
        raise wrong_type(config, "path or mapping", "mtlv.run", "give a config's path or its content")
    return _run(load_suite(config, overrides or {}, further_problems()), callback)


def train(
    corpus: Corpus,
    *,
    architecture: str = "mtl",
    groups: TaskGroups | Sequence[Sequence[str]] | Mapping[str, Sequence[str]] | None = None,
    encoder: str | None = None,
    tune: Mapping[str, Sequence[Any]] | None = None,
    folder: str | Path | None = None,
    callback: Callback | None = None,
    **settings: Any,
) -> Result:
    """Train one architecture on a corpus; it is tracked in MLflow and resumed like any run.

    Args:
        corpus: N documents with T tasks. For several corpora in one model, give their files as `data.sources`
            to `mtlv.run`.
        architecture: `stl`, `mtl`, `gmtl` or `gmhl`.
        groups: groups for a grouped architecture, also as lists of tasks, or lists by name; None clusters the
            tasks.
        encoder: alias, name or folder; None is the default.
        tune: values to try by setting, such as `{"learning_rate": [1e-4, 2e-4]}`; the result is that of the
            values that are best on validation.
        folder: folder of the store and `mlflow.db`; None is the working folder, as for the command.
        callback: receives the events of `mtlv.events`; None shows the progress.
        settings: other settings, such as `epochs=10`, `folds=5`, `seed=[0, 1]`. The default learning rate
            suits the encoder's size.

    Raises:
        ConfigError: a setting is wrong, or groups are given for an architecture that has none.
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
    if tune is not None:
        values["tune"] = _values_to_try(tune, values)
    if groups is not None:
        values |= _grouping(groups)
    if folder is not None:
        values |= _store_settings(folder)
    path = stored_path(corpus, Path(values.get("store.uri", default_settings().store.uri)))
    data = corpus.settings if path is None else {**corpus.settings, "data.path": str(path)}
    with errors_name_arguments("training"):
        if "stages" not in values:
            _need_groups(values)
        suite = load_suite({}, {**data, **values})
        if len(suite.members) > 1 and tune is None:
            raise ConfigError(["`mtlv.train` trains one architecture; call `mtlv.run` for a suite"])
        if corpus.memory is not None and path is not None:
            with readable(corpus) as read:  # so that nothing is written if a setting does not suit the corpus
                check_suite(load_suite({}, {**read, **values}))
            corpus.memory.write(path)
        if folder is not None:
            _make(Path(folder))
        suite_run = _run(suite, callback)
    if not suite_run.results:  # with `tune`, some may have failed
        raise TrainingError(suite_run.failed[0])
    return suite_run.results[0]


def _store_settings(folder: str | Path) -> dict[str, str]:
    """Return the settings of the store and of the tracking store in a folder."""
    if not isinstance(folder, (str, Path)):
        raise wrong_type(folder, "path", "folder", "name a folder, such as `folder='runs'`")
    home = Path(folder).absolute()
    return {"store.uri": str(home / "mtlv-store"), "tracking.uri": f"sqlite:///{home / 'mlflow.db'}"}


def _values_to_try(tune: Mapping[str, Sequence[Any]], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values to try by setting.

    Raises:
        ConfigError: they are no mapping, or of settings that are arguments, too.
    """
    if not isinstance(tune, Mapping):
        example = "{'learning_rate': [1e-4, 2e-4]}"
        raise ConfigError(
            [f"`tune` is a mapping of settings to lists of values (got {tune}); write {example}"]
        )
    values_to_try = as_settings(tune, "training")
    if both := [key for key in values_to_try if full_key(key, "") in values]:
        raise ConfigError([f"`tune`: `{both[0]}` is an argument, too; leave out one of the two"])
    return values_to_try


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


def _grouping(groups: TaskGroups | Sequence[Sequence[str]] | Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the settings of given groups.

    Raises:
        ConfigError: these are no lists of tasks.
    """
    lists = groups.groups if isinstance(groups, TaskGroups) else groups
    lists = list(lists.values()) if isinstance(lists, Mapping) else lists
    if not isinstance(lists, (list, tuple)) or not all(isinstance(names, (list, tuple)) for names in lists):
        got = shorten(repr(groups), 60)
        raise ConfigError([f"`groups` is a list of lists of tasks (got {got}); write [['A', 'B'], ['C']]"])
    return {"grouping.method": "given", "grouping.groups": [list(group) for group in lists]}


def _need_groups(values: Mapping[str, Any]) -> None:
    """Check that an architecture has groups if there are settings of groups.

    Raises:
        ConfigError: it has none.
    """
    architecture = values["architecture.name"]
    settings = [key for key in (*values, *values.get("tune", ())) if key.startswith("grouping.")]
    if settings and architecture in ARCHITECTURES and not ARCHITECTURES[architecture].grouped:
        grouped = " or ".join(name for name in ARCHITECTURES if ARCHITECTURES[name].grouped)
        raise ConfigError(
            [f"`{settings[-1]}` has no effect with `architecture={architecture!r}`; allowed: {grouped}"]
        )


def _run(suite: Suite, callback: Callback | None) -> SuiteRun:
    if callback is not None and not callable(callback):
        raise wrong_type(callback, "function", "callback", "write `callback=print` to see all events")
    with progress(callback) as call:
        placement = place_runs(suite)
        suite = placement.suite
        for note in (*([placement.line] if placement.is_chosen else []), *suite.notes):
            call(NoteGiven(note))
        return SuiteRun(run_suite(suite, call), suite.experiment)
