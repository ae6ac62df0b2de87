"""Metrics, params and tags of a fold run, with the names of the tracking contract."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import TYPE_CHECKING

from mtlv import __version__
from mtlv.data.targets import TARGETS
from mtlv.errors import mask_credentials
from mtlv.evaluation.compared_runs import NOT_TRAINED, mean_and_sd
from mtlv.evaluation.learned import BAG_OF_WORDS, CONSTANT, OF_WORDS
from mtlv.evaluation.metrics import Metrics
from mtlv.evaluation.mixed import evaluate_all
from mtlv.evaluation.reference import ReferenceScores
from mtlv.evaluation.scoring import SCORING, all_need_thresholds
from mtlv.formatting import with_spread
from mtlv.plan import Plan, Scores, Task, slug, slugs
from mtlv.plan.shape import StageShape
from mtlv.registries import ARCHITECTURES, GROUPINGS
from mtlv.reporting.plan_result import PlanResult
from mtlv.settings import flatten
from mtlv.settings.identity import settings_key
from mtlv.store.records import EpochRecord, UnitRecord
from mtlv.tracking import Metric

if TYPE_CHECKING:
    from mtlv.planning.groups import TaskGroups
    from mtlv.planning.resolve import FoldRun, ResolvedMember
    from mtlv.settings import Settings


OF_TRAINING = ("architecture.head", "architecture.private", "encoder.", "heads.", "grouping.", "training.")


class MetricNames:
    """Slugs of a plan's heads and tasks, as used in metric keys."""

    def __init__(self, plan: Plan, tasks: Sequence[Task]) -> None:
        self.known = {task.name: task for task in tasks}
        self.tasks = slugs(self.known)
        self.heads = slugs([head.name for head in plan.heads])
        self.head_of = {task: head.name for head in plan.heads for task in head.tasks}
        self.members = {head.name: head.tasks for head in plan.heads}

    def joint(self, heads: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
        """Return those heads whose tasks are evaluated jointly, with their tasks."""
        members = ((head, self.members[head]) for head in heads)
        return [
            (head, tasks)
            for head, tasks in members
            if all_need_thresholds(self.known[task] for task in tasks)
        ]

    def epoch_metric(self, task: str) -> str:
        """Return the metric of a task that is logged per epoch."""
        return SCORING[self.known[task].kind].epoch_metric(self.known[task])


def tags(resolved: ResolvedMember, fold_run: FoldRun) -> dict[str, str]:
    """Return the tags of a fold run; the member's own run has those of its first fold run."""
    settings = resolved.settings
    return {
        "mtlv.architecture": settings.architecture.name,
        "mtlv.encoder": settings.encoder.name if settings.trains else NOT_TRAINED,
        "mtlv.dataset": settings.data.title,
        "mtlv.grouping": grouping_words(settings, fold_run.groups),
        # the `tasks` setting of each stage; an empty list means all tasks
        "mtlv.learned": json.dumps([stage.tasks or () for stage in settings.each_stage], ensure_ascii=False),
        "mtlv.stages": json.dumps([asdict(shape) for shape in _stage_shapes(settings, fold_run)]),
        "mtlv.data_digest": resolved.data,
        "mtlv.settings": settings_key(settings),
        "mtlv.version": __version__,
    }


def _stage_shapes(settings: Settings, fold_run: FoldRun) -> list[StageShape]:
    """Return what each stage of a fold run learned, in order, without those that the last does not need."""
    all_jobs = (*fold_run.earlier, *fold_run.jobs)
    texts = {f"{data.called}.text" for data in settings.data.each_source}
    shapes = []
    for name in dict.fromkeys(job.unit.stage for job in all_jobs):
        jobs = [job for job in all_jobs if job.unit.stage == name]
        tasks = {task for job in jobs for task in job.unit.model.tasks}
        starts = [job.start_job.unit.stage for job in jobs if job.start_job is not None]
        teachers = [teacher.unit.stage for job in jobs for teacher in job.teachers]
        shape = StageShape(
            name,
            len(tasks),
            len({job.unit.model.name for job in jobs}),  # several teachers of one model are alike
            is_grouped=ARCHITECTURES[jobs[0].settings.architecture.name].grouped,
            has_text_only=not tasks.isdisjoint(texts),
            start=next(iter(starts), ""),
            teacher=next(iter(teachers), ""),
        )
        shapes.append(shape)
    return shapes


def grouping_words(settings: Settings, groups: TaskGroups | None) -> str:
    """Return a short description of the grouping; `none` if the architecture has no groups."""
    section = settings.grouping
    if groups is None:
        return "none"
    features = [section.features] if GROUPINGS[section.method].takes else []
    return " ".join([section.method, *features, f"k={groups.grouping.k}"])


def end_tags(outcomes: Sequence[PlanResult]) -> dict[str, str]:
    """Return the tags of a run at its end. MLflow's tables show all digits of a metric, but not of a tag."""
    values = [outcome.metrics.plan.main for outcome in outcomes]
    stack = max((record.stack for outcome in outcomes for record in outcome.records), default=1)
    score = with_spread(fmean(values), mean_and_sd(values)[1], 3)
    return {"mtlv.state": "done", "mtlv.score": score} | ({"mtlv.stack": str(stack)} if stack > 1 else {})


def params(settings: Settings) -> dict[str, str | int | float | bool]:
    """Return every setting that was used, flattened, without the password of the tracking address."""
    unread = () if settings.trains else OF_TRAINING
    values = flatten(without_secrets(settings))
    return {key: value for key, value in values.items() if not key.startswith(unread)}


def own_params(fold_run: FoldRun) -> dict[str, str | int | float | bool]:
    """Return params in addition to the settings: the number of groups, or else of models, and of epochs."""
    trained = fold_run.jobs[0].settings.training
    k = len(fold_run.plan.models) if fold_run.groups is None else fold_run.groups.grouping.k
    return {"k": k, **({} if trained.budget is None else {"epochs": trained.epochs})}


def without_secrets(settings: Settings) -> Settings:
    """Return the settings without secrets."""
    uri = settings.tracking.uri
    if uri is None:
        return settings
    return settings.model_copy(
        update={"tracking": settings.tracking.model_copy(update={"uri": mask_credentials(uri)})}
    )


def metrics_of_unit_epoch(epoch: EpochRecord, validation: Scores, names: MetricNames) -> list[Metric]:
    """Return the metrics of an epoch of a model: the loss of its heads, and ranking metrics of its tasks."""
    at = (epoch.epoch, epoch.timestamp_ms)
    tasks = list(validation.tasks)
    # Ranking metrics need no threshold, so none is fitted.
    task_metrics = evaluate_all(
        validation, [names.known[task] for task in tasks], dict.fromkeys(tasks, 0.5)
    ).tasks
    values = {task: task_metrics[task].as_dict()[names.epoch_metric(task)] for task in tasks}
    out = [Metric(f"train.heads.loss/{names.heads[head]}", loss, *at) for head, loss in epoch.heads.items()]
    by_task = epoch.factors.keys() <= names.tasks.keys()
    kind, slugs = ("tasks", names.tasks) if by_task else ("heads", names.heads)
    out += [Metric(f"train.{kind}.factor/{slugs[name]}", value, *at) for name, value in epoch.factors.items()]
    for head, members in names.joint(epoch.heads):
        mean_precision = fmean(values[task] for task in members)
        out.append(Metric(f"val.heads.average_precision_macro/{names.heads[head]}", mean_precision, *at))
    return out + [
        Metric(f"val.tasks.{names.epoch_metric(task)}/{names.tasks[task]}", values[task], *at)
        for task in tasks
    ]


def metrics_of_plan_epoch(
    epochs: Sequence[EpochRecord], number: int, metrics: Metrics, names: MetricNames
) -> list[Metric]:
    """Return the metrics of epoch `number` of all of a plan's models; a model may have stopped earlier."""
    at = (number, max(epoch.timestamp_ms for epoch in epochs))
    out = [
        Metric("train/loss", fmean(x for epoch in epochs for x in epoch.task_losses(names.members)), *at),
        Metric("train/learning_rate", epochs[0].learning_rate, *at),
    ]
    figures = split_figures("val", metrics, names)
    already_logged = {f"val.tasks.{names.epoch_metric(task)}/{slug}" for task, slug in names.tasks.items()}
    out += [Metric(key, value, *at) for key, value in figures if key not in already_logged]
    for head, tasks in names.joint(names.members):
        value = fmean(metrics.tasks[task].main for task in tasks)
        out.append(Metric(f"val.heads.f1_macro/{names.heads[head]}", value, *at))
    return out


def chosen_epochs(record: UnitRecord, names: MetricNames) -> Iterator[Metric]:
    """Yield the chosen epoch of each head, or of its tasks if they differ."""
    end = (0, record.epochs[-1].timestamp_ms)
    for head in record.epochs[-1].heads:
        chosen = {task: record.chosen_epochs[task] for task in names.members[head]}
        if len(set(chosen.values())) == 1:
            key = f"train.heads.chosen_epoch/{names.heads[head]}"
            yield Metric(key, next(iter(chosen.values())), *end)
        else:
            for task, epoch in chosen.items():
                yield Metric(f"train.tasks.chosen_epoch/{names.tasks[task]}", epoch, *end)


def metrics_of_plan(outcome: PlanResult, names: MetricNames) -> list[Metric]:
    """Return all metrics that depend on all of a plan's models."""
    out: list[Metric] = []
    for epoch, metrics in enumerate(outcome.curve):
        out += metrics_of_plan_epoch(
            [record.epoch_at(epoch) for record in outcome.records], epoch, metrics, names
        )
    end = (0, last_timestamp(outcome))
    out += [Metric(key, value, *end) for key, value in split_figures("test", outcome.metrics, names)]
    if outcome.curve:
        best = outcome.curve[outcome.best_epoch].plan.as_dict() | {"epoch": outcome.best_epoch}
        out += [Metric(f"best/{name}", value, *end) for name, value in best.items()]
    out += [Metric(key, value, *end) for key, value in outcome.costs.items()]
    entropies = (entropy for record in outcome.records for entropy in record.teacher_entropy.items())
    out += [
        Metric(f"train.tasks.teacher_entropy/{names.tasks[task]}", value, *end) for task, value in entropies
    ]
    return out


def text_metrics(
    stage: str, record: UnitRecord, tasks: Mapping[str, Task], words: Mapping[str, float]
) -> list[Metric]:
    """Return what a model learned of texts without labels: after each epoch the validation metrics, the
    tokens that it has read until then, and the tokens per second of this epoch.
    """
    text_tasks = [
        tasks[name] for name in record.validation.tasks if not TARGETS[tasks[name].kind].has_targets
    ]
    out, read = [], 0
    for epoch in record.epochs if text_tasks else ():
        at = (epoch.epoch, epoch.timestamp_ms)
        read += epoch.tokens
        task_metrics = evaluate_all(record.validation_at(epoch.epoch), text_tasks, {}).tasks
        for task in text_tasks:
            name = slug(f"{stage} {task.name}")
            out += [
                Metric(f"val.texts.{key}/{name}", x, *at)
                for key, x in task_metrics[task.name].as_dict().items()
            ]
            if epoch.tokens:
                out.append(Metric(f"train.texts.tokens/{name}", read, *at))
                out.append(Metric(f"train.texts.tokens_per_second/{name}", epoch.tokens / epoch.seconds, *at))
    started = (0, record.epochs[0].timestamp_ms)
    return out + [Metric(f"texts/{key}", value, *started) for key, value in words.items() if text_tasks]


def constant_metrics(constants: Mapping[str, float], tasks: Mapping[str, str], at: int) -> list[Metric]:
    """Return the main metric of each task's constant answer."""
    return [Metric(f"test.tasks.{CONSTANT}/{tasks[task]}", value, 0, at) for task, value in constants.items()]


def reference_metrics(scores: ReferenceScores, tasks: Mapping[str, str], at: int) -> list[Metric]:
    """Return the main metrics of the plan and of each task by a bag of words."""
    of_tasks = {f"test.tasks.{OF_WORDS}/{tasks[task]}": value for task, value in scores.tasks.items()}
    return [Metric(key, value, 0, at) for key, value in {BAG_OF_WORDS: scores.main, **of_tasks}.items()]


def last_timestamp(outcome: PlanResult) -> int:
    """Return the end of the last epoch of a plan's models, in milliseconds."""
    return max(record.epochs[-1].timestamp_ms for record in outcome.records)


def split_figures(split: str, metrics: Metrics, names: MetricNames) -> Iterator[tuple[str, float]]:
    """Yield `SPLIT/M` of the plan and `SPLIT.tasks.M/TASK` of each task."""
    for name, value in metrics.plan.as_dict().items():
        yield f"{split}/{name}", value
    for task, figures in metrics.tasks.items():
        for name, value in figures.as_dict().items():
            yield f"{split}.tasks.{name}/{names.tasks[task]}", value
