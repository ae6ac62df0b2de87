"""Tasks that each run learned together; similar groups have the same number and colour in all runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.parts import of_run, runs_that_fit
from mtlv.comparison.parts.channels import label, task_axis, tip
from mtlv.comparison.parts.heatmap import CELL, cell_width, run_columns, text_layer
from mtlv.comparison.ranking import control_of
from mtlv.evaluation.compared_runs import ComparedRun, Comparison, TaskInfo
from mtlv.figures.palette import GROUPS
from mtlv.formatting import list_first

ALONE, ALL = "alone", "all"
PLAIN = {ALONE: "#B8BDC4", ALL: "#757575"}
SEPARATE_HEADS = (
    " Tasks of different kinds or corpora need separate heads; they have the same number if they "
    "share a model."
)
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")

Partition = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class GroupNumbers:
    """Numbers of groups, from 1, by run and by the group's tasks; similar groups of runs share a number."""

    numbers: dict[str, dict[tuple[str, ...], int]]  # numbers by run key, for runs with groups
    # partition of each run's tasks by what is learned together, by run key
    parts: dict[str, Partition] = field(default_factory=dict)

    def label(self, run: ComparedRun, tasks: tuple[str, ...]) -> str:
        """Return the number as text, or `alone` or `all` if the run has no actual groups."""
        partition = self.parts[run.key]
        if all(len(group) == 1 for group in partition):
            return ALONE
        return ALL if len(partition) == 1 else str(self.numbers[run.key][tasks])

    def number(self, run: ComparedRun, tasks: Iterable[str], otherwise: int) -> str:
        """Return the number of a group of a run as text; `otherwise` if it has no such group."""
        number_of = {frozenset(head): number for head, number in self.numbers.get(run.key, {}).items()}
        return str(number_of.get(frozenset(tasks), otherwise))

    @property
    def labels(self) -> list[str]:
        """Return all possible labels, in the order of the colours."""
        most = max((number for numbers in self.numbers.values() for number in numbers.values()), default=0)
        return [ALONE, ALL, *(str(number) for number in range(1, most + 1))]


def parts_of(run: ComparedRun, tasks: Mapping[str, TaskInfo]) -> Partition:
    """Partition the run's tasks by head, i.e. by what is predicted together.

    Partition by model if its heads are separate only because their tasks are of different kinds or
    corpora, which cannot share a head.
    """
    if all(_needs_separate_heads(model, tasks) for model in run.plan):
        return tuple(tuple(task for head in model for task in head) for model in run.plan)
    return tuple(head for model in run.plan for head in model)


def _needs_separate_heads(model: Partition, tasks: Mapping[str, TaskInfo]) -> bool:
    sorts = [{(tasks[name].kind, tasks[name].source) for name in head if name in tasks} for head in model]
    return all(not one & two for one, two in combinations(sorts, 2)) and all(sorts)


def is_grouped(partition: Partition) -> bool:
    """Whether the tasks are in groups, neither all together nor each alone."""
    return len(partition) > 1 and any(len(tasks) > 1 for tasks in partition)


def numbering(comparison: Comparison) -> GroupNumbers:
    """Number the groups of the first grouped run in order; others get the number of the most similar.

    Runs that are controls come last, so that the groups of others have the first numbers.
    """
    known: dict[int, frozenset[str]] = {}
    numbers: dict[str, dict[tuple[str, ...], int]] = {}
    tasks = {task.name: task for task in comparison.tasks}
    parts = {run.key: parts_of(run, tasks) for run in comparison.runs}
    for run in sorted(comparison.runs, key=lambda run: bool(control_of(run))):
        if is_grouped(parts[run.key]):
            numbers[run.key] = match_numbers(parts[run.key], known)
            known = {number: frozenset(head) for head, number in numbers[run.key].items()} | known
    return GroupNumbers(numbers, parts)


def match_numbers(partition: Partition, known: Mapping[int, frozenset[str]]) -> dict[tuple[str, ...], int]:
    """Match greedily, the pair with the largest Jaccard index first; remaining groups get new numbers."""
    pairs = [
        (-len(tasks & set(head)) / len(tasks | set(head)), number, at)
        for at, head in enumerate(partition)
        for number, tasks in known.items()
        if tasks & set(head)
    ]
    matched: dict[int, int] = {}
    for _, number, at in sorted(pairs):
        if at not in matched and number not in matched.values():
            matched[at] = number
    new = max(known, default=0)
    for at in range(len(partition)):
        if at not in matched:
            new += 1
            matched[at] = new
    return {head: matched[at] for at, head in enumerate(partition)}


def colours(labels: Sequence[str]) -> list[str]:
    """Return a colour for each label; colours repeat after ten numbers."""
    return [PLAIN.get(label) or GROUPS[(int(label) - 1) % len(GROUPS)] for label in labels]


def group_shapes(labels: Sequence[str]) -> dict[str, Any]:
    """Return the `color` and `shape` channels of points by group, for groups with these numbers, with one
    legend.
    """
    field = label("group", legend={"title": "group", "orient": "top", "columns": 12})
    shapes = [SHAPES[(int(label) - 1) % len(SHAPES)] for label in labels]
    return {
        "color": field | {"scale": {"domain": list(labels), "range": colours(labels)}},
        "shape": field | {"scale": {"domain": list(labels), "range": shapes}},
    }


def together(comparison: Comparison, groups: GroupNumbers) -> list[FigureBlock]:
    """Build the figure; [] if no run has a plan."""
    rows, left = runs_that_fit(comparison, {run.key: _rows(run, groups) for run in comparison.runs})
    if not rows:
        return []
    several = len({(task.kind, task.source) for task in comparison.tasks}) > 1
    caption = (
        "A column is a run. Tasks with the same number (and colour) in it share a head, so they are learned "
        "and predicted together. “all”: one head for all tasks; a dot: the task has its own model or head."
        + (SEPARATE_HEADS if several else "")
        + " Groups of different runs have the same number if they have most tasks in common. Hover to "
        "see the other tasks and those that share the encoder." + left
    )
    spec = _spec(comparison, groups)
    return [
        FigureBlock("groups_together", "Which tasks were learned together", caption, spec, rows, wide=True)
    ]


def _rows(run: ComparedRun, groups: GroupNumbers) -> list[dict[str, Any]]:
    rows = []
    sizes = {task: sum(map(len, model)) for model in run.plan for head in model for task in head}
    for part in groups.parts[run.key]:
        group = groups.label(run, part)
        fields = {"group": group, "shown": "·" if group == ALONE else group}
        for task in part:
            shared = "its own" if sizes[task] == 1 else f"shared by {sizes[task]} tasks"
            others = list_first([other for other in part if other != task]) or "none"
            rows.append(of_run(run) | {"task": task, "others": others, "encoder": shared} | fields)
    return rows


def task_order(comparison: Comparison, groups: GroupNumbers) -> list[str]:
    """Order the tasks so that those grouped by the first grouped run are adjacent."""
    first = next((run for run in comparison.runs if run.key in groups.numbers), None)
    number = {} if first is None else {t: n for head, n in groups.numbers[first.key].items() for t in head}
    names = [task.name for task in comparison.tasks]
    return sorted(names, key=lambda name: number.get(name, len(names)))


def _spec(comparison: Comparison, groups: GroupNumbers) -> dict[str, Any]:
    tips = [
        tip("task"), tip("name", "run"), tip("group"), tip("others", "together with"), tip("encoder"),
    ]  # fmt: skip
    numbers = text_layer(label("shown"), f"datum.group == '{ALONE}'")
    order = task_order(comparison, groups)
    scale = {"domain": groups.labels, "range": colours(groups.labels)}
    colour = label("group", scale=scale, legend=None)
    return {
        "width": {"step": cell_width(comparison)},
        "height": {"step": CELL},
        "encoding": {
            "x": run_columns(comparison),
            "y": label("task", sort=order, axis=task_axis()),
            "tooltip": tips,
        },
        "layer": [{"mark": "rect", "encoding": {"color": colour}}, numbers],
    }
