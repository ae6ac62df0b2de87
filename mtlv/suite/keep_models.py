"""Trained models of runs, and the choice of the fold run whose model is logged with its member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mtlv.data.targets import TARGETS
from mtlv.evaluation.mixed import evaluate_all
from mtlv.evaluation.scoring import all_need_thresholds
from mtlv.events import Callback, NoteGiven, WarningGiven
from mtlv.plan import Task
from mtlv.reporting.datasets import fold_parts
from mtlv.reporting.metric_titles import main_title
from mtlv.reporting.metrics import last_timestamp, own_params, params
from mtlv.serving.inputs import TEXT, served_tasks
from mtlv.serving.kinds import ANSWERS
from mtlv.serving.manifest import DESCRIPTION
from mtlv.serving.model import PLAN
from mtlv.serving.package import CONTENT, describe, encoder_files, lay_out
from mtlv.tracking import Metric, TrackedModel
from mtlv.tracking.tracker import MODELS, RUN_ID

if TYPE_CHECKING:
    from pathlib import Path

    from mtlv.execution.executor import Executor
    from mtlv.planning.resolve import FoldRun, ResolvedMember
    from mtlv.reporting.member_result import MemberResult
    from mtlv.reporting.plan_result import Ensemble, PlanResult
    from mtlv.serving.manifest import ModelManifest
    from mtlv.store.local import Store
    from mtlv.store.records import UnitRecord
    from mtlv.tracking import Tracker
    from mtlv.units.input_cache import InputCache
    from mtlv.units.job import Job

    TrainedPart = tuple[FoldRun, PlanResult, Mapping[str, Path]]  # with the file of each task's weights

NO_WEIGHTS = "trained models are not logged with the runs, because `store.keep_weights` is false"
SHOWN_KEYS = ("architecture.name", "encoder.name", "data.name", "grouping.method", "grouping.features")


@dataclass
class ModelKeeper:
    """Logs trained plans with their runs, depending on `tracking.models`."""

    tracker: Tracker
    cache: InputCache  # corpora and encoders
    store: Store  # store of the weights
    callback: Callback  # gets a note if a model is not logged
    executor: Executor  # trains units with damaged weights again
    _runs: dict[tuple[str, int, int], str] = field(default_factory=dict)
    _reported: set[str] = field(default_factory=set)

    def log_fold_run(
        self, run: str, resolved: ResolvedMember, fold_run: FoldRun, outcome: PlanResult
    ) -> None:
        """Log the model of a fold run with it."""
        settings = resolved.settings
        self._runs[resolved.uid, fold_run.fold.index, fold_run.seed] = run
        if settings.tracking.models == "all" and settings.trains:
            self._keep(run, resolved, [(fold_run, outcome)])

    def log_member(self, run: str, result: MemberResult) -> None:
        """Log the mean of all fold runs with the member's run, or the best on validation, first on ties."""
        resolved, outcomes, ensemble = result.resolved, result.outcomes, result.ensemble
        if resolved.settings.tracking.models == "none" or not resolved.settings.trains:
            return
        trained = list(zip(resolved.children, outcomes, strict=True))
        if ensemble is not None:
            self._keep(run, resolved, trained, ensemble=ensemble)
            return
        best = best_fold_run(resolved, outcomes)
        value = validation_score(outcomes[best], resolved.tasks)
        figure = validation_title(resolved.tasks)
        why = f"Of {len(outcomes)} folds and seeds it has the best {figure} on validation, {value:.3f}. "
        self._keep(run, resolved, [trained[best]], why if len(outcomes) > 1 else "")

    def _keep(
        self,
        run: str,
        resolved: ResolvedMember,
        trained: Sequence[tuple[FoldRun, PlanResult]],
        why: str = "",
        ensemble: Ensemble | None = None,
    ) -> None:
        settings = resolved.settings
        if not any(TARGETS[task.kind].has_targets for task in resolved.tasks):
            return  # no text can be asked for anything
        if not settings.store.keep_weights:
            self._tell(NO_WEIGHTS)
            return
        parts: list[TrainedPart] = []
        for fold_run, outcome in trained:
            weights = list(map(self._weights, fold_run.jobs, outcome.records))
            if not all(weights):
                folders = [str(self.store.units / record.key) for record in outcome.records]
                lost = [folder for folder, paths in zip(folders, weights, strict=True) if not paths]
                self._tell(
                    f"{fold_run.jobs[0].name}: its model is not logged, because an earlier run kept no "
                    f"weights; to train again, delete {', '.join(lost)}"
                )
                return
            networks = {task: path for paths in weights for task, path in paths.items()}
            parts.append((fold_run, outcome, networks))
        model = package(self.cache, self.store, resolved, parts, ensemble, why)
        if ensemble is None:
            model = self._with_figures(model, resolved, *trained[0])
        self.tracker.model(run, model)

    def _weights(self, job: Job, record: UnitRecord) -> dict[str, Path]:
        """Return the weight files of a unit; if one is damaged, the unit is first trained again."""

        def warn(text: str) -> None:
            self.callback(WarningGiven(f"{job.name}: {text}"))

        def read() -> dict[str, Path]:
            return self.store.weights_of(record)

        while (files := self.store.read_or_set_aside(record.key, read, warn)) is None:
            record = self.executor.run(job)
        return files

    def _with_figures(
        self, model: TrackedModel, resolved: ResolvedMember, fold_run: FoldRun, outcome: PlanResult
    ) -> TrackedModel:
        """Return the model with its origin and test metrics, which MLflow's list of models shows."""
        settings = resolved.settings
        figures, end = outcome.metrics.plan.as_dict(), last_timestamp(outcome)
        parts = fold_parts(settings.data, self.cache.corpus(settings.data), fold_run.fold)
        tested = next(part for part in parts if part.role == "test")
        shown = {key: value for key, value in params(settings).items() if key in SHOWN_KEYS}
        shown, fold, seed = shown | own_params(fold_run), fold_run.fold.index, fold_run.seed
        return replace(
            model,
            settings={**shown, "fold": fold, "seed": seed, "networks": len(fold_run.jobs)},
            metrics=[Metric(f"test/{name}", value, 0, end) for name, value in figures.items()],
            metrics_run=self._runs[resolved.uid, fold, seed],
            dataset=(tested.name, tested.digest),
        )

    def _tell(self, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self.callback(NoteGiven(text))


def best_fold_run(resolved: ResolvedMember, outcomes: Sequence[PlanResult]) -> int:
    """Return the index of the fold run with the best validation score; the first one on ties."""
    values = [validation_score(outcome, resolved.tasks) for outcome in outcomes]
    return values.index(max(values))


def package(
    cache: InputCache,
    store: Store,
    resolved: ResolvedMember,
    trained: Sequence[TrainedPart],
    ensemble: Ensemble | None = None,
    why: str = "",
) -> TrackedModel:
    """Return a fold run's trained plan as files, or the `ensemble` of several."""
    (fold_run, outcome, networks), *rest = trained
    settings = resolved.settings
    encoder = cache.encoder(settings.encoder, settings.data)
    files = encoder_files(store, cache, encoder)
    tasks = served_tasks(resolved.tasks, cache.corpus(settings.data), settings.data, fold_run.fold.train)
    description = describe(fold_run, ensemble or outcome, tasks, files.tokenizer, resolved, networks)
    if ensemble is not None:
        origin, why = f"{resolved.name} · mean of {len(trained)} folds and seeds", f"{ensemble.text} "
        description = replace(description, origin=origin, models=len(trained))
    model = lay_out(description, fold_run, files, networks.values())
    for number, part in enumerate(rest, start=1):
        other = package(cache, store, resolved, [part])
        texts = {
            f"{CONTENT}/{number}/{name}": other.texts[f"{CONTENT}/{name}"] for name in (DESCRIPTION, PLAN)
        }
        model = replace(model, files={**model.files, **other.files}, texts={**model.texts, **texts})
    shown = {MODELS: len(trained)} if rest else {}
    count = len(model.files) - len(files.files)
    return replace(model, settings=shown, description=_words(description, count, why))


def _words(description: ModelManifest, count: int, why: str) -> str:
    """Return the description on the page of a model of `count` networks."""
    networks = "one network" if count == 1 else f"{count} networks as one model"
    tasks = description.tasks.values()
    reads = dict.fromkeys((TEXT, *(name for task in tasks for name in task.schema.reads)))
    takes = "texts" if len(reads) == 1 else f"the columns {', '.join(f'`{name}`' for name in reads)}"
    kinds = dict.fromkeys(ANSWERS[task.task.kind].gives for task in tasks)
    row, asked = ('["some text"]', '"some text"') if len(reads) == 1 else ("frame", "--file rows.jsonl")
    return (
        f"`{description.origin}`: {networks}. {why}Its input is {takes}; its output for each task is the "
        f"{', or '.join(filter(None, kinds))}.\n\n"
        f'```python\nmodel = mlflow.pyfunc.load_model("runs:/{RUN_ID}/model")\n'
        f"model.predict({row})\n```\n\n"
        f"or `mtlv predict {RUN_ID} {asked}`"
    )


def validation_score(outcome: PlanResult, tasks: Sequence[Task]) -> float:
    """Return the main metric on validation of the kept weights, at the fitted thresholds.

    `validation_title` is its title.
    """
    return evaluate_all(outcome.validation, tasks, outcome.thresholds.values).plan.main


def validation_title(tasks: Sequence[Task]) -> str:
    """Return the title of `validation_score`: macro F1 for yes/no tasks."""
    return "macro F1" if all_need_thresholds(tasks) else main_title(tasks)
