"""Content of a member's parent run: means over its children, figures, report."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from mtlv.environment import machine, versions
from mtlv.evaluation.scoring import SCORING, thresholded
from mtlv.figures.per_task import draw_per_task
from mtlv.figures.splittings import draw_splittings
from mtlv.registries import ARCHITECTURES
from mtlv.reporting.descriptions import describe_parent
from mtlv.reporting.fold_run import PER_TASK, write_plan
from mtlv.reporting.groups import write_groups
from mtlv.reporting.html_report import ReportFigure, ReportInput, TaskLine, report_html
from mtlv.reporting.learned_words import sentences
from mtlv.reporting.member_result import (
    MemberResult,
    error_bars,
    judged_by,
    member_rows,
    parent_metrics,
    spread_of,
)
from mtlv.reporting.metric_titles import supported_by
from mtlv.reporting.metrics import MetricNames, params
from mtlv.reporting.pictures import log_picture
from mtlv.reporting.suite_table import as_csv
from mtlv.tracking import TableFile, Tracker

SPLITTINGS = "report/splittings.json"
GROUP_TITLES = {"elbow.png": "Elbow", "task_map.png": "Map of the tasks"}
GROUP_CAPTIONS = {
    "elbow.png": "Inertia and silhouette over the number of groups; the recommended number is marked.",
    "task_map.png": "Their vectors on the first two principal components.",
}
SHOWN = ("data.", "encoder.", "architecture.", "grouping.", "training.", "evaluation.", "seed")


def write_parent(tracker: Tracker, run: str, result: MemberResult) -> None:
    """Log metrics and artifacts of a member's own run, which summarizes its children."""
    tracker.metrics(run, parent_metrics(result))
    child = result.resolved.children[0]
    write_plan(tracker, run, child, result.outcomes[0], MetricNames(child.plan, result.resolved.known))
    tracker.text(run, as_csv(member_rows([result])), "report/table.csv")
    tracker.table(run, _per_task_table(result))
    if result.splittings:
        tracker.table(run, _splittings_table(result))
    with TemporaryDirectory() as name:
        folder = Path(name)
        pictures = [
            *_group_pictures(result, folder),
            _per_task_picture(result, folder),
            *_splittings_picture(result, folder),
        ]
        (folder / "report.html").write_text(report_html(_report(result, pictures)), encoding="utf-8")
        tracker.artifact(run, folder / "report.html")
        for picture in pictures:
            log_picture(tracker, run, picture.path)
            tracker.image(run, picture.path, f"pictures/{picture.path.stem}")
        for path in sorted((folder / "grouping").glob("*.json")):
            tracker.artifact(run, path, "grouping")
        files = ["report.html", PER_TASK, *(picture.path.name for picture in pictures), "config.yml"]
    tracker.describe(run, describe_parent(result, files))


def _splittings_table(result: MemberResult) -> TableFile:
    rows = [
        [each.word, each.count, " ".join(each.before), " ".join(each.after)] for each in result.splittings
    ]
    return TableFile(SPLITTINGS, ("word", "occurrences", "published", "own"), rows)


def _per_task_table(result: MemberResult) -> TableFile:
    """Return the mean test metrics of every task over the children."""
    lines = [_task_line(result, task) for task in result.resolved.tasks]
    others = tuple(dict.fromkeys(name for line in lines for name in line.others))
    judged = ("f1", "f1_std") if result.joint else ("judged_by", "value", "value_std")
    rows = []
    for line in lines:
        how = () if result.joint else (line.judged_by,)
        values = (
            line.name,
            *how,
            line.main,
            line.main_std,
            *(line.others.get(name) for name in others),
            line.support,
            line.group,
        )
        rows.append([round(value, 4) if isinstance(value, float) else value for value in values])
    return TableFile(PER_TASK, ("task", *judged, *others, "support", "group"), rows)


def _group_pictures(result: MemberResult, folder: Path) -> list[ReportFigure]:
    groups = result.resolved.children[0].groups
    if groups is None:
        return []
    pictures = write_groups(groups, folder, title=result.title)
    return [ReportFigure(GROUP_TITLES[path.name], path, GROUP_CAPTIONS[path.name]) for path in pictures]


def _per_task_picture(result: MemberResult, folder: Path) -> ReportFigure:
    tasks = result.resolved.tasks
    path = draw_per_task(
        tasks,
        [fmean(result.main(task)) for task in tasks],
        [fmean(result.of_task(task, "support")) for task in tasks],
        folder / "per_task_f1.png",
        title=result.title,
        spread=error_bars([result.main(task) for task in tasks]),
        figure=judged_by(result),
    )
    counted = supported_by(result.resolved.known)
    return ReportFigure(
        f"{judged_by(result)} of each task", path, f"On the test part, with the number of its {counted}."
    )


def _splittings_picture(result: MemberResult, folder: Path) -> list[ReportFigure]:
    if not result.splittings:
        return []
    path = draw_splittings(
        [f"{each.word} ({each.count:,})" for each in result.splittings],
        [each.before for each in result.splittings],
        [each.after for each in result.splittings],
        folder / "splittings.png",
        title=result.title,
    )
    caption = (
        "The most frequent words of the texts (of the first 500) that the published vocabulary splits, with "
        "the number of their occurrences; words are of the texts that the own vocabulary was learned from."
    )
    return [ReportFigure("Words and their pieces", path, caption)]


def _report(result: MemberResult, pictures: Sequence[ReportFigure]) -> ReportInput:
    resolved = result.resolved
    settings, child = resolved.member.settings, resolved.children[0]
    groups = child.groups
    stability = {} if groups is None else groups.stability
    warnings = dict.fromkeys(note for each in resolved.children for note in each.fold.notes)
    warnings |= dict.fromkeys(text for found in result.outcomes for text in found.thresholds.warnings)
    learned = sentences(result.learning)
    return ReportInput(
        title=result.title,
        architecture=ARCHITECTURES[settings.architecture.name].title,
        encoder=settings.encoder.name,
        dataset=settings.data.title,
        tasks=[_task_line(result, task) for task in resolved.tasks],
        rows=member_rows([result]),
        documents={part: len(child.fold.part(part)) for part in ("train", "validation", "test")},
        generated=result.generated,
        thresholds=bool(thresholded(resolved.known)),
        folds=len({each.fold.index for each in resolved.children}),
        seeds=len(settings.seeds),
        groups=() if groups is None else groups.groups,
        groups_reason="" if groups is None else groups.reason,
        stability=stability,
        pictures=pictures,
        settings={key: value for key, value in params(settings).items() if key.startswith(SHOWN)},
        warnings=(*learned, *warnings),
        versions=versions(),
        machine=machine() | {"trained on": result.outcomes[0].records[0].device},
        created=datetime.fromtimestamp(result.timestamp_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _task_line(result: MemberResult, task: str) -> TaskLine:
    groups = result.resolved.children[0].groups
    number = "" if groups is None else next(str(i + 1) for i, g in enumerate(groups.groups) if task in g)
    main, kind = next((t.main_metric, t.kind) for t in result.resolved.known if t.name == task)
    return TaskLine(
        task,
        fmean(result.of_task(task, "support")),
        fmean(result.main(task)),
        {name: fmean(result.of_task(task, name)) for name in result.figures(task) if name != main},
        judged_by=main,
        counted="positive" if SCORING[kind].counts_positive else "documents",
        main_std=spread_of(result.main(task)),
        group=number,
    )
