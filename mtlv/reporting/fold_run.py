"""Artifacts of a fold run and those shared with its parent. `mtlv compare` reads these files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mtlv.environment import environment_text
from mtlv.evaluation.texts import classification_report, per_task_csv
from mtlv.figures.per_task import draw_per_task
from mtlv.plan import Scores, as_json
from mtlv.reporting.descriptions import describe_fold_run
from mtlv.reporting.groups import GROUPS, groups_json
from mtlv.reporting.member_result import CURVES, FoldResult
from mtlv.reporting.metric_titles import main_title
from mtlv.reporting.metrics import (
    MetricNames,
    constant_metrics,
    end_tags,
    last_timestamp,
    reference_metrics,
    without_secrets,
)
from mtlv.reporting.plan_result import PlanResult
from mtlv.settings import dump
from mtlv.store.scores_file import write_scores
from mtlv.tracking import Metric, TableFile, Tracker

if TYPE_CHECKING:
    from mtlv.planning.resolve import FoldRun

PER_TASK = "report/per_task.json"
FOLD_FILES = (PER_TASK, "per_task_f1.png", "report/classification_report.txt", "scores", "config.yml")


def curves_json(metrics: Iterable[Metric]) -> str:
    """Return `curves.json`: `{KEY: [[step, value], ...]}` of every metric with a value per epoch."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for metric in metrics:
        if metric.key.startswith(CURVES):
            curves.setdefault(metric.key, []).append((metric.step, metric.value))
    return json.dumps({key: sorted(curves[key]) for key in sorted(curves)}, ensure_ascii=False)


def per_task_table(outcome: PlanResult, names: MetricNames) -> TableFile:
    """Return the test metrics of every task, and the head of each task."""
    values_of = {
        task: {name: round(value, 4) for name, value in figures.as_dict().items()}
        for task, figures in outcome.metrics.tasks.items()
    }
    columns = list(dict.fromkeys(name for figures in values_of.values() for name in figures))
    rows = [[task, *map(figures.get, columns), names.head_of[task]] for task, figures in values_of.items()]
    return TableFile(PER_TASK, ("task", *columns, "head"), rows)


def tasks_json(names: MetricNames, support: Mapping[str, int], test: Scores) -> str:
    """Return `tasks.json`: slug to name, head, index, support in the test part, the number of documents there
    with a target for the task, kind of task, and levels of a hierarchy."""
    tasks = {
        slug: {"name": name, "head": names.head_of[name], "index": index, "support": support[name]}
        | {"documents": int(test.tasks[name].mask.sum())}
        | {
            key: getattr(names.known[name], key)
            for key in ("kind", "main_metric", "source", "classes", "negative")
        }
        | ({"levels": levels} if (levels := names.known[name].levels) else {})
        for index, (name, slug) in enumerate(names.tasks.items())
    }
    heads = {slug: {"name": name, "tasks": list(names.members[name])} for name, slug in names.heads.items()}
    content = {"documents": len(test.ids), "tasks": tasks, "heads": heads}
    return json.dumps(content, indent=1, ensure_ascii=False)


def write_plan(
    tracker: Tracker, run: str, fold_run: FoldRun, outcome: PlanResult, names: MetricNames
) -> None:
    """Log config, plan, tasks and packages."""
    support = {task: figures.support for task, figures in outcome.metrics.tasks.items()}
    tracker.text(run, dump(without_secrets(fold_run.jobs[0].settings)), "config.yml")
    tracker.text(run, json.dumps(as_json(fold_run.plan), indent=1, ensure_ascii=False), "plan.json")
    tracker.text(run, tasks_json(names, support, outcome.test), "tasks.json")
    tracker.text(run, environment_text(), "environment.txt")


def write_fold_run(tracker: Tracker, run: str, result: FoldResult) -> None:
    """Log what is known at the end of a fold: plan and groups, report, scores, the figure of its tasks."""
    fold_run, outcome, names = result.fold_run, result.outcome, result.names
    at = last_timestamp(outcome)
    tracker.metrics(run, constant_metrics(result.constants, names.tasks, at))
    if result.reference is not None:
        tracker.metrics(run, reference_metrics(result.reference, names.tasks, at))
    tracker.tags(run, end_tags([outcome]) | {"mtlv.trained_on": outcome.trained_on})
    write_plan(tracker, run, fold_run, outcome, names)
    order = list(names.tasks)
    decided = [task for task in order if task in outcome.thresholds.values]
    if decided:
        report = classification_report(outcome.test, decided, outcome.thresholds.values)
        tracker.text(run, report, "report/classification_report.txt")
    tracker.text(run, per_task_csv(outcome.metrics), "report/per_task.csv")
    tracker.table(run, per_task_table(outcome, names))
    fitted = {"scope": outcome.thresholds.scope, "values": dict(outcome.thresholds.values)}
    tracker.text(run, json.dumps(fitted, indent=1, ensure_ascii=False), "thresholds.json")
    tracker.text(run, curves_json(result.points), "curves.json")
    if fold_run.groups is not None:
        tracker.text(run, json.dumps(groups_json(fold_run.groups), indent=1, ensure_ascii=False), GROUPS)
    with TemporaryDirectory() as folder:
        for scores in (outcome.validation, outcome.test):
            file = Path(folder) / f"{scores.part}.parquet"
            write_scores(scores, file)
            tracker.artifact(run, file, "scores")
        values = [outcome.metrics.tasks[task].main for task in order]
        support = [outcome.metrics.tasks[task].support for task in order]
        figure = main_title(list(names.known.values()))
        picture = draw_per_task(
            order, values, support, Path(folder) / "per_task_f1.png", title=result.name, figure=figure
        )
        tracker.artifact(run, picture)
    tracker.describe(run, describe_fold_run(result, FOLD_FILES))
