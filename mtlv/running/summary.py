"""What a member's parent run and a suite's comparison hold: means over children, pictures, tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory

from mtlv.compare.per_task_figure import draw_per_task
from mtlv.compare.report import Picture, ReportInput, TaskLine, report_html
from mtlv.compare.suite_figure import draw_suite
from mtlv.compare.table import Member, Row, as_csv, as_markdown, make_rows
from mtlv.plan import slugs
from mtlv.running.child_files import write_plan
from mtlv.running.environment import machine, versions
from mtlv.running.group_artifacts import write_groups
from mtlv.running.groups import TaskGroups
from mtlv.running.outcome import Outcome
from mtlv.running.record import Names, last_timestamp, params
from mtlv.running.resolve import Resolved
from mtlv.seeding import content_key
from mtlv.tracking import Metric, RunSpec, Tracker

TASK_FIGURES = ("f1", "precision", "recall", "average_precision")
SHOWN = ("data.", "encoder.", "architecture.", "grouping.", "training.", "evaluation.", "seed")


@dataclass(frozen=True)
class MemberResult:
    """A member and what each of its children came to; `generated` if its documents are made up."""

    resolved: Resolved
    outcomes: tuple[Outcome, ...]
    generated: bool

    @property
    def name(self) -> str:
        return self.resolved.name

    @property
    def title(self) -> str:
        """Name and data, with a word where the data is generated."""
        data = self.resolved.member.settings.data.name
        return f"{self.name} on {data}{' (generated reports)' if self.generated else ''}"

    @property
    def timestamp_ms(self) -> int:
        """When the last epoch ended."""
        return max(last_timestamp(found) for found in self.outcomes)

    def of_task(self, task: str, figure: str) -> list[float]:
        """A test figure of a task, one value per child."""
        return [getattr(found.metrics.tasks[task], figure) for found in self.outcomes]


def member_rows(results: Sequence[MemberResult]) -> tuple[Row, ...]:
    """The suite's table."""
    return make_rows([Member(result.name, tuple(map(_figures, result.outcomes))) for result in results])


def _figures(found: Outcome) -> dict[str, float]:
    costs = {key.split("/")[1]: value for key, value in found.costs.items()}
    return found.metrics.plan.as_dict() | costs


def parent_metrics(result: MemberResult) -> list[Metric]:
    """Means and spreads over the children, and the elbow with k as the step."""
    at = result.timestamp_ms
    out = []
    for name in result.outcomes[0].metrics.plan.as_dict():
        values = [found.metrics.plan.as_dict()[name] for found in result.outcomes]
        out.append(Metric(f"test/{name}", fmean(values), 0, at))
        if len(values) > 1:
            out.append(Metric(f"test/{name}_std", stdev(values), 0, at))
    for task, slug in slugs(result.resolved.tasks).items():
        out += [
            Metric(f"test.tasks.{figure}/{slug}", fmean(result.of_task(task, figure)), 0, at)
            for figure in TASK_FIGURES
        ]
    costs = [found.costs for found in result.outcomes]
    out += [Metric(key, fmean(cost[key] for cost in costs), 0, at) for key in costs[0]]
    groups = result.resolved.children[0].groups
    return out if groups is None else out + _group_metrics(groups, at)


def _group_metrics(groups: TaskGroups, at: int) -> list[Metric]:
    out = [Metric(f"grouping.stability/{name}", value, 0, at) for name, value in groups.stability.items()]
    if groups.elbow is not None:
        rows = zip(groups.elbow.k, groups.elbow.inertia, groups.elbow.silhouette, strict=True)
        for k, inertia, silhouette in rows:
            out.append(Metric("elbow/inertia", inertia, k, at))
            if silhouette is not None:
                out.append(Metric("elbow/silhouette", silhouette, k, at))
    return out


def write_parent(tracker: Tracker, run: str, result: MemberResult) -> None:
    """Metrics and artifacts of a member's own run, so that it tells the story when it is collapsed."""
    tracker.metrics(run, parent_metrics(result))
    child = result.resolved.children[0]
    write_plan(tracker, run, child, result.outcomes[0], Names(child.plan, result.resolved.tasks))
    tracker.text(run, as_csv(member_rows([result])), "report/table.csv")
    with TemporaryDirectory() as name:
        folder = Path(name)
        pictures = [*_group_pictures(result, folder), _per_task_picture(result, folder)]
        (folder / "report.html").write_text(report_html(_report(result, pictures)), encoding="utf-8")
        tracker.artifact(run, folder / "report.html")
        for picture in pictures:
            tracker.artifact(run, picture.path)
        for path in sorted((folder / "grouping").glob("*.json")):
            tracker.artifact(run, path, "grouping")


def _group_pictures(result: MemberResult, folder: Path) -> list[Picture]:
    groups = result.resolved.children[0].groups
    if groups is None:
        return []
    written = {path.name: path for path in write_groups(groups, folder, title=result.title)}
    captions = {
        "elbow.png": ("Elbow", "Inertia and silhouette over the number of groups; the knee is marked."),
        "task_map.png": ("Map of the tasks", "Their vectors on the first two principal components."),
    }
    return [Picture(t, written[file], caption) for file, (t, caption) in captions.items() if file in written]


def _per_task_picture(result: MemberResult, folder: Path) -> Picture:
    tasks = result.resolved.tasks
    path = draw_per_task(
        tasks,
        [fmean(result.of_task(task, "f1")) for task in tasks],
        [fmean(result.of_task(task, "support")) for task in tasks],
        folder / "per_task_f1.png",
        title=result.title,
        spread=[_spread(result.of_task(task, "f1")) or 0.0 for task in tasks],
    )
    return Picture("F1 of each task", path, "On the test part, with the number of its positive documents.")


def _spread(values: Sequence[float]) -> float | None:
    return stdev(values) if len(values) > 1 else None


def _report(result: MemberResult, pictures: Sequence[Picture]) -> ReportInput:
    resolved = result.resolved
    settings, child = resolved.member.settings, resolved.children[0]
    groups = child.groups
    stability = {} if groups is None else groups.stability
    warnings = dict.fromkeys(note for each in resolved.children for note in each.fold.notes)
    warnings |= dict.fromkeys(text for found in result.outcomes for text in found.thresholds.warnings)
    return ReportInput(
        title=result.title,
        architecture=settings.architecture.name,
        encoder=settings.encoder.name,
        dataset=settings.data.name,
        tasks=[_task_line(result, task) for task in resolved.tasks],
        rows=member_rows([result]),
        documents={part: len(child.fold.part(part)) for part in ("train", "validation", "test")},
        generated=result.generated,
        folds=len({each.fold.index for each in resolved.children}),
        seeds=len(settings.seeds),
        groups=() if groups is None else groups.groups,
        groups_reason="" if groups is None else groups.reason,
        stability=stability,
        pictures=pictures,
        settings={key: value for key, value in params(settings).items() if key.startswith(SHOWN)},
        warnings=tuple(warnings),
        versions=versions(),
        machine=machine() | {"trained on": result.outcomes[0].records[0].device},
        created=datetime.fromtimestamp(result.timestamp_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _task_line(result: MemberResult, task: str) -> TaskLine:
    groups = result.resolved.children[0].groups
    number = "" if groups is None else next(str(i + 1) for i, g in enumerate(groups.groups) if task in g)
    means = {figure: fmean(result.of_task(task, figure)) for figure in (*TASK_FIGURES, "support")}
    return TaskLine(task, **means, f1_std=_spread(result.of_task(task, "f1")), group=number)


def comparison_spec(results: Sequence[MemberResult]) -> RunSpec:
    """The run that holds a suite's comparison."""
    uid = content_key(["comparison", [result.resolved.uid for result in results]])
    return RunSpec(uid, f"comparison of {len(results)} runs", "comparison")


def write_comparison(tracker: Tracker, run: str, results: Sequence[MemberResult]) -> None:
    """The suite's table and its picture."""
    rows = member_rows(results)
    tracker.text(run, as_markdown(rows), "comparison.md")
    tracker.text(run, as_csv(rows), "comparison.csv")
    tracker.text(run, json.dumps(_groups_of(results), indent=1, ensure_ascii=False), "groups.json")
    tasks = results[0].resolved.tasks
    if len({(result.resolved.data, result.resolved.tasks) for result in results}) > 1:
        return  # side by side, figures of different test sets would compare nothing
    with TemporaryDirectory() as folder:
        macro = [[found.metrics.plan.f1_macro for found in result.outcomes] for result in results]
        path = draw_suite(
            [result.name for result in results],
            tasks,
            [[fmean(result.of_task(task, "f1")) for task in tasks] for result in results],
            [fmean(results[0].of_task(task, "support")) for task in tasks],
            [fmean(values) for values in macro],
            Path(folder) / "comparison.png",
            title=f"Test F1 on {results[0].title.split(' on ', 1)[1]}",
            micro=[fmean(f.metrics.plan.f1_micro for f in result.outcomes) for result in results],
            macro_spread=None if len(macro[0]) < 2 else [stdev(values) for values in macro],
        )
        tracker.artifact(run, path)


def _groups_of(results: Sequence[MemberResult]) -> Mapping[str, Sequence[Sequence[str]]]:
    grouped = ((result.name, result.resolved.children[0].groups) for result in results)
    return {name: groups.groups for name, groups in grouped if groups is not None}
