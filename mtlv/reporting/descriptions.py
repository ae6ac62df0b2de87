"""Descriptions of runs and their results: the Markdown text at the top of a run's page in MLflow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from mtlv.evaluation.metrics import MetricValues
from mtlv.evaluation.thresholds import Thresholds
from mtlv.formatting import many, plain
from mtlv.planning.groups import TaskGroups
from mtlv.planning.resolve import FoldRun, ResolvedMember
from mtlv.registries import ARCHITECTURES, GROUPINGS
from mtlv.reporting.learned_words import warnings
from mtlv.reporting.markdown import airy, cut, fitting
from mtlv.reporting.member_result import FoldResult, MemberResult, as_members
from mtlv.reporting.suite_table import COLUMNS, Row, SuiteColumn, as_markdown, format_cell, make_rows
from mtlv.tracking import RunSpec, View

if TYPE_CHECKING:
    from mtlv.settings import Settings
    from mtlv.settings.schema import TeachSettings

PAGE = "All on one page: the run `comparison of ...` of this experiment, or `mtlv compare`."
FILES = {
    "elbow.png": "inertia and silhouette over the number of groups",
    "task_map.png": "the tasks on a map, by group",
    "per_task_f1.png": "test F1 of every task",
    "report/splittings.json": "words with their pieces in the published vocabulary and the own one",
    "report/per_task.json": "metrics of every task, as a table",
    "report/classification_report.txt": "precision, recall and F1 as scikit-learn prints them",
    "comparison.md": "the suite's table",
    "search.json": "every trial of the search, the best on validation first",
    "scores": "raw outputs and targets of every document",
    "config.yml": "the settings, as a config for `mtlv run`",
}
"""Artifacts to open first, with a description."""


def describe_plan(resolved: ResolvedMember, *, generated: bool) -> str:
    """Describe a member before its training."""
    settings, fold_run = resolved.settings, resolved.children[0]
    what, _, how = ARCHITECTURES[settings.architecture.name].title.partition(": ")
    layout = f" ({how})" if how else ""
    shape = f"{many(len(fold_run.plan.models), 'model')} with {many(len(list(fold_run.plan.heads)), 'head')}"
    over = _over(resolved.children) or ["1 fold"]
    parts = ", ".join(f"{len(fold_run.fold.part(part))} {part}" for part in ("train", "validation", "test"))
    trained = f" with encoder {plain(settings.encoder.name)}: {shape} in each of {' x '.join(over)}; "
    trained += _epochs(fold_run.jobs[0].settings)
    lines = [
        f"**{what[0].upper()}{what[1:]}**{layout} of {many(len(resolved.task_names), 'task')} of "
        f"`{settings.data.title}`{' (generated reports)' if generated else ''}"
        f"{trained if settings.trains else ''}; documents: {parts}."
    ]
    earlier = {job.unit.stage: job.settings for job in fold_run.earlier}
    for stage, before in zip(settings.stages or (), settings.each_stage[:-1], strict=False):
        lines.append(_stage(stage.name, earlier.get(stage.name, before)))
    if settings.training.teach is not None:
        lines.append(_taught(settings.training.teach))
    if fold_run.groups is not None:
        lines.append(_groups(settings.grouping.method, settings.grouping.features, fold_run.groups))
        if len({frozenset(map(frozenset, c.groups.groups)) for c in resolved.children if c.groups}) > 1:
            lines.append("These are the groups of the first fold; other folds have different groups.")
    return "\n\n".join(lines)


def _stage(name: str, settings: Settings) -> str:
    """Describe an earlier stage in one line."""
    what = f"`{settings.architecture.name}` of {_names(settings.tasks) if settings.tasks else 'all tasks'}"
    return (
        f"Preceded by stage {plain(name)}: {what}, {_epochs(settings)}, "
        f"learning rate {settings.training.rate:g}."
    )


def _taught(teach: TeachSettings) -> str:
    """Describe the teacher of the last stage in one line."""
    rising = "a share that rises from 0 to 1" if teach.gold == "annealed" else f"a share of {teach.gold:g}"
    return (
        f"Taught by stage {plain(teach.stage)}: true targets have {rising} of the loss, its outputs "
        f"for the training documents the rest (temperature {teach.temperature:g})."
    )


def _epochs(settings: Settings) -> str:
    budget = settings.training.budget
    within = "" if budget is None else f" of each model (`training.budget: {budget}`)"
    return many(settings.training.epochs, "epoch") + within


def _groups(method: str, features: str, groups: TaskGroups) -> str:
    how = f"by `{method}`" + (f" on `{features}`" if GROUPINGS[method].takes else "")
    head = f"**{many(len(groups.groups), 'group')}** {how} ({plain(groups.reason).rstrip('.')}):\n"
    return "\n".join([head, *(f"{i}. {_names(members)}" for i, members in enumerate(groups.groups, 1))])


def describe_member(result: MemberResult, files: Collection[str]) -> str:
    """Describe a member and its results; `files` are the artifacts in its root and the tables."""
    (row,) = make_rows(as_members([result]))
    spread = _spread(result)
    figures = (
        f"{c.title} {format_cell(row.cells[c.key], c)}" for c in _first(result.outcomes[0].metrics.plan)
    )
    headline = f"**Test {', '.join(figures)}**{spread}."
    plan = describe_plan(result.resolved, generated=result.generated)
    # MLflow collapses all but the first lines.
    warned = warnings({result.name: result.learning}, plain)
    averaged = "" if result.ensemble is None else result.ensemble.text
    first = " ".join(filter(None, [headline, averaged, *warned, PAGE]))
    return cut([first, plan, airy(as_markdown([row])), where(files)])


def describe_fold_run(result: FoldResult, files: Iterable[str]) -> str:
    """Describe the results of one fold and seed."""
    fold_run, outcome = result.fold_run, result.outcome
    figures, columns = outcome.metrics.plan.as_dict(), _first(outcome.metrics.plan)
    shown_figures = [f"{column.title} **{figures[column.key]:.4f}**" for column in columns[:1]]
    shown_figures += [f"{column.title} {figures[column.key]:.4f}" for column in columns[1:]]
    best = ""
    if outcome.curve:
        best = f"; best validation {columns[0].title} in epoch {outcome.best_epoch} (from 0)"
    text = (
        f"Fold {fold_run.fold.index}, seed {fold_run.seed} of **{plain(result.member)}**: test "
        f"{', '.join(shown_figures)}{_limits(outcome.thresholds)}, on "
        f"{many(len(outcome.test.ids), 'document')}{best}."
    )
    return cut([text, where(files)])


def describe_comparison(results: Sequence[MemberResult], rows: Sequence[Row]) -> str:
    """Describe the results of a suite's members."""
    column = _first(results[0].outcomes[0].metrics.plan)[0]
    text = f"{many(len(results), 'member')} of a suite on the test part{_spread(results[0])}."
    learnings = {result.name: result.learning for result in results}
    best = [row.name for row in rows if row.cells[column.key].best and not learnings[row.name].nothing]
    text += f" Highest {column.title}: **{', '.join(map(plain, best))}**." if best else ""
    text = " ".join([text, *warnings(learnings, plain)])
    table = fitting(airy(as_markdown(rows)))
    more = "For statistics, curves and errors: `mtlv compare`."
    return cut([text, table, where(["comparison.md"]), more])


def describe_experiment(data: str, tasks: int, views: Iterable[View], comparison: RunSpec | None) -> str:
    """Describe how to read the list of runs of the experiment, and link the comparison of the suite."""
    shown_views = ", ".join(
        f"[{view.name}]({'view' if view.sections else 'table'}:{view.id})" for view in views
    )
    answer = "Trained by `mtlv`." if comparison is None else f"[{comparison.name}](page:{comparison.uid})"
    return "\n\n".join(
        [
            # MLflow collapses all but the first lines.
            f"Which of the {tasks} tasks of `{data}` should be learned together? {answer}",
            "- A row is a member of a suite: one architecture, encoder and setting. Its metrics are means "
            "over its folds and seeds, whose runs are nested below it (**+**).\n"
            "- `comparison of ...` has the page and the table of a whole suite.\n"
            f"- Prepared columns and charts, also under **Views**: {shown_views}.\n"
            "- Select members and press **Compare** to plot their curves together.\n"
            "- For other runs on one page: `mtlv compare`.",
        ]
    )


def where(files: Iterable[str]) -> str:
    """Return a list of links to artifacts."""
    known = set(files)
    lines = [f"- [{name}](artifact:{name}): {why}" for name, why in FILES.items() if name in known]
    return "\n".join(["**Artifacts:**\n", *lines]) if lines else ""


def _first(figures: MetricValues) -> list[SuiteColumn]:
    """Return the first two columns of the table that are metrics of a plan."""
    values = figures.as_dict()
    return [column for column in COLUMNS if column.key in values][:2]


def _limits(thresholds: Thresholds) -> str:
    values = sorted({round(value, 4) for value in thresholds.values.values()})
    if not values:
        return ""
    limits = f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}"
    return f" at a threshold of {limits} (`{thresholds.scope}`, fitted on validation)"


def _spread(result: MemberResult) -> str:
    """Return the explanation of `±`; empty for one fold run."""
    over = _over(result.resolved.children)
    return f" (mean ± standard deviation over {' x '.join(over)})" if over else ""


def _over(children: Sequence[FoldRun]) -> list[str]:
    """Return the counts of folds and seeds that are above 1: `4 folds`, `3 seeds`."""
    folds, seeds = len({run.fold.index for run in children}), len({run.seed for run in children})
    return [many(count, noun) for count, noun in ((folds, "fold"), (seeds, "seed")) if count > 1]


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(plain, names))
