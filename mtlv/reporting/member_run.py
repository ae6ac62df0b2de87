"""Content of a member's parent run: means over its children, tables and figures."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from mtlv.evaluation.compared_runs import mean_and_sd
from mtlv.figures.per_task import draw_per_task
from mtlv.reporting.descriptions import describe_member
from mtlv.reporting.fold_run import PER_TASK, write_plan
from mtlv.reporting.groups import write_groups
from mtlv.reporting.member_result import MemberResult, error_bars, member_metrics
from mtlv.reporting.metric_titles import main_title
from mtlv.reporting.metrics import MetricNames, end_tags
from mtlv.tracking import TableFile, Tracker

SPLITTINGS = "report/splittings.json"


def write_member(tracker: Tracker, run: str, result: MemberResult) -> None:
    """Log metrics and artifacts of a member's own run, which summarizes its children."""
    tracker.metrics(run, member_metrics(result))
    tracker.tags(run, end_tags(result.outcomes))
    fold_run = result.resolved.children[0]
    write_plan(tracker, run, fold_run, result.outcomes[0], MetricNames(fold_run.plan, result.resolved.tasks))
    tracker.table(run, _per_task_table(result))
    if result.splittings:
        rows = [[one.word, one.count, " ".join(one.before), " ".join(one.after)] for one in result.splittings]
        tracker.table(run, TableFile(SPLITTINGS, ("word", "occurrences", "published", "own"), rows))
    with TemporaryDirectory() as name:
        folder = Path(name)
        groups = fold_run.groups
        pictures = [] if groups is None else write_groups(groups, folder, title=result.title)
        pictures.append(_draw_tasks(result, folder))
        for picture in pictures:
            tracker.artifact(run, picture)
            tracker.image(run, picture, f"pictures/{picture.stem}")
        for path in sorted((folder / "grouping").glob("*.json")):
            tracker.artifact(run, path, "grouping")
        tables = [PER_TASK, SPLITTINGS] if result.splittings else [PER_TASK]
        files = [*tables, *(picture.name for picture in pictures), "config.yml"]
    tracker.describe(run, describe_member(result, files))


def _per_task_table(result: MemberResult) -> TableFile:
    """Return the mean test metrics of every task over the children."""
    groups = result.resolved.children[0].groups
    partition = () if groups is None else groups.groups
    number_of = {task: str(number) for number, group in enumerate(partition, start=1) for task in group}
    main_of = {task.name: task.main_metric for task in result.resolved.tasks}
    means = {
        task: {
            name: fmean(result.of_task(task, name)) for name in result.figures(task) if name != main_of[task]
        }
        for task in result.resolved.task_names
    }
    others = tuple(dict.fromkeys(name for of_task in means.values() for name in of_task))
    judged = ("f1", "f1_std") if result.joint else ("judged_by", "value", "value_std")
    rows = []
    for task, of_task in means.items():
        values = (
            task,
            *(() if result.joint else (main_of[task],)),
            *mean_and_sd(result.main(task)),
            *map(of_task.get, others),
            fmean(result.of_task(task, "support")),
            number_of.get(task, ""),
        )
        rows.append([round(value, 4) if isinstance(value, float) else value for value in values])
    return TableFile(PER_TASK, ("task", *judged, *others, "support", "group"), rows)


def _draw_tasks(result: MemberResult, folder: Path) -> Path:
    tasks = result.resolved.task_names
    return draw_per_task(
        tasks,
        [fmean(result.main(task)) for task in tasks],
        [fmean(result.of_task(task, "support")) for task in tasks],
        folder / "per_task_f1.png",
        title=result.title,
        spread=error_bars([result.main(task) for task in tasks]),
        figure=main_title(result.resolved.tasks),
    )
