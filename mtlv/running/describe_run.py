"""What a run was and what it found, in words: the Markdown at the top of its page in MLflow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean

from mtlv.compare.report import SYSTEMS
from mtlv.compare.table import COLUMNS, Row, as_markdown, plain, shown
from mtlv.running.groups import TaskGroups
from mtlv.running.member_result import ChildResult, MemberResult, member_rows
from mtlv.running.resolve import Child, Resolved
from mtlv.tracking import View

EXTREMES = 3  # tasks named as the easiest and as the hardest
LONGEST = 7500  # characters; MLflow cuts at 8000 without a word
FILES = {
    "report.html": "everything on one page: figures, groups, pictures, settings",
    "comparison.png": "test F1 of every task and member",
    "elbow.png": "inertia and silhouette over the number of groups",
    "task_map.png": "the tasks on a map, by group",
    "per_task_f1.png": "test F1 of every task",
    "report/per_task.json": "figures of every task, as a table",
    "report/classification_report.txt": "precision, recall and F1 as scikit-learn prints them",
    "comparison.md": "the suite's table",
    "scores": "raw outputs and targets of every document",
    "config.yml": "the settings; `mtlv run` takes it",
}
"""Artifacts worth opening first, and why."""


def describe_plan(resolved: Resolved, *, generated: bool) -> str:
    """What a member is about to do."""
    settings, child = resolved.member.settings, resolved.children[0]
    system = SYSTEMS.get(settings.architecture.name, settings.architecture.name)
    what, _, how = system.partition(": ")
    shape = f"{_many(len(child.plan.models), 'model')} with {_many(len(list(child.plan.heads)), 'head')}"
    over = _over(resolved.children) or ["1 fold"]
    parts = ", ".join(f"{len(child.fold.part(part))} {part}" for part in ("train", "validation", "test"))
    lines = [
        f"**{what[0].upper()}{what[1:]}** ({how}) of {_many(len(resolved.tasks), 'task')} of "
        f"`{settings.data.name}`{' (generated reports)' if generated else ''} "
        f"with encoder {plain(settings.encoder.name)}: {shape} in each of {' x '.join(over)}; "
        f"{_many(settings.training.epochs, 'epoch')}; documents: {parts}."
    ]
    if child.groups is not None:
        lines.append(_groups(settings.grouping.method, settings.grouping.features, child.groups))
        if len({frozenset(map(frozenset, c.groups.groups)) for c in resolved.children if c.groups}) > 1:
            lines.append("These are the groups of the first fold; other folds have others.")
    return "\n\n".join(lines)


def _groups(method: str, features: str, groups: TaskGroups) -> str:
    how = "as given" if method == "given" else f"by `{method}` on `{features}`"
    head = f"**{_many(len(groups.groups), 'group')}** {how} ({plain(groups.reason).rstrip('.')}):\n"
    return "\n".join([head, *(f"{i}. {_names(members)}" for i, members in enumerate(groups.groups, 1))])


def describe_parent(result: MemberResult, files: Collection[str]) -> str:
    """What a member was and what it found; `files` are the artifacts in its root and the tables."""
    (row,) = member_rows([result])
    spread = _spread(result)
    macro, micro = (shown(row.cells[column.key], column) for column in COLUMNS[:2])
    found = f"**Test F1 macro {macro}, F1 micro {micro}**{spread}."
    tasks = _extremes({task: fmean(result.of_task(task, "f1")) for task in result.resolved.tasks})
    plan = describe_plan(result.resolved, generated=result.generated)
    # MLflow folds all but the first lines away.
    report = "All on one page: [report.html](artifact:report.html)." if "report.html" in files else ""
    first = " ".join(filter(None, [found, tasks, report]))
    return _cut([first, plan, _airy(as_markdown([row])), where(files)])


def describe_child(result: ChildResult, files: Iterable[str]) -> str:
    """What a fold with a seed came to."""
    child, found = result.child, result.outcome
    figures = found.metrics.plan
    thresholds = sorted({round(value, 4) for value in found.thresholds.values.values()})
    limits = f"{thresholds[0]:g}" if len(thresholds) == 1 else f"{thresholds[0]:g} to {thresholds[-1]:g}"
    text = (
        f"Fold {child.fold.index}, seed {child.seed} of **{plain(result.member)}**: test F1 macro "
        f"**{figures.f1_macro:.4f}**, F1 micro {figures.f1_micro:.4f} at a threshold of {limits} "
        f"(`{found.thresholds.scope}`, fitted on validation), on {_many(len(found.test.ids), 'document')}; "
        f"best validation F1 macro in epoch {found.best_epoch} (from 0)."
    )
    tasks = _extremes({task: figures.f1 for task, figures in found.metrics.tasks.items()})
    return _cut([text, tasks, where(files)])


def describe_comparison(results: Sequence[MemberResult], rows: Sequence[Row], files: Iterable[str]) -> str:
    """What a suite's members came to, side by side."""
    best = [row.name for row in rows if row.cells["f1_macro"].best]
    text = f"{_many(len(results), 'member')} of a suite on the test part{_spread(results[0])}. "
    text += f"Highest F1 macro: **{', '.join(map(plain, best))}**."
    table = _fitting(_airy(as_markdown(rows)))
    more = "With statistics, curves and errors: `mtlv compare`."
    return _cut([text, table, where(files), more])


def describe_experiment(data: str, tasks: int, views: Iterable[View]) -> str:
    """How to read the experiment's list of runs."""
    shown_views = ", ".join(
        f"[{view.name}]({'view' if view.sections else 'table'}:{view.id})" for view in views
    )
    return "\n\n".join(
        [
            f"Which of the {tasks} tasks of `{data}` should be learned together? Trained by `mtlv`.",
            "- A row is a member of a suite: one architecture, encoder and setting. Its figures are means "
            "over its folds and seeds, which hang below it (**+**).\n"
            "- `comparison of ...` holds the table and the picture of a whole suite.\n"
            f"- Ready columns and charts, also under **Views**: {shown_views}.\n"
            "- Select members and press **Compare** to lay their curves over each other.\n"
            "- With statistics: `mtlv compare --experiment NAME`.",
        ]
    )


def where(files: Iterable[str]) -> str:
    """Where to look."""
    known = set(files)
    lines = [f"- [{name}](artifact:{name}): {why}" for name, why in FILES.items() if name in known]
    return "\n".join(["**Artifacts:**\n", *lines]) if lines else ""


def _extremes(f1: Mapping[str, float]) -> str:
    if len(f1) < 2 * EXTREMES:
        return ""
    order = sorted(f1, key=lambda task: -f1[task])
    easy, hard = order[:EXTREMES], order[-EXTREMES:]
    shown = [", ".join(f"{plain(task)} {f1[task]:.3f}" for task in tasks) for tasks in (easy, hard)]
    return f"Highest F1: {shown[0]}. Lowest: {shown[1]}."


def _spread(result: MemberResult) -> str:
    """What stands behind `±`; nothing for one child."""
    over = _over(result.resolved.children)
    return f" (mean ± standard deviation over {' x '.join(over)})" if over else ""


def _over(children: Sequence[Child]) -> list[str]:
    """`4 folds`, `3 seeds`: what there are several of."""
    folds, seeds = len({child.fold.index for child in children}), len({child.seed for child in children})
    return [_many(count, noun) for count, noun in ((folds, "fold"), (seeds, "seed")) if count > 1]


def _airy(table: str) -> str:
    """MLflow sets the columns of a table without a gap, so each cell brings its own."""
    head, rule, *rows = table.splitlines()
    return "\n".join([_gaps(head), rule, *map(_gaps, rows)])


def _gaps(line: str) -> str:
    return re.sub(r"(?<!\\) \|", "&emsp; |", line)


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(plain, names))


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _fitting(table: str) -> str:
    """As many lines of a table as fit, and how many do not."""
    lines = table.splitlines()
    kept = len(lines)
    while sum(map(len, lines[:kept])) + kept > LONGEST - 1500:
        kept -= 1
    left = len(lines) - kept
    return "\n".join(lines[:kept]) + (f"\n\n... and {left} more in `comparison.md`" if left else "")


def _cut(parts: Sequence[str]) -> str:
    """The parts with a line between, at most `LONGEST` characters."""
    text = "\n\n".join(part.strip() for part in parts if part)
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + " …"
