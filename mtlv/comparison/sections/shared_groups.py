"""Which tasks each run learned together, with the same number and colour for alike groups of all runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.sections.heatmap import CELL, cell_width, few_enough, run_columns
from mtlv.comparison.sections.parts import enumerated, of_run, task_axis, tip, whole_runs
from mtlv.evaluation.comparison import ComparedRun, Comparison, TaskInfo
from mtlv.figures.palette import RUNS

ALONE, ALL = "alone", "all"
PLAIN = {ALONE: "#B8BDC4", ALL: "#7F7F7F"}
APART = (
    " Tasks of different kinds or corpora need heads of their own; they have the same number where they "
    "share a model."
)
BRIGHT = ("#56B4E9", "#E69F00", "#CC79A7", "#999933", "#44AA99", PLAIN[ALONE])  # dark numbers show on these
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")

Partition = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class GroupNumbers:
    """Numbers of groups from 1, by run and by the group's tasks; alike groups of two runs share a number.

    Args:
        numbers: by key of the run, where it has groups.
        parts: every run's tasks by what is learned together, by key of the run.
    """

    numbers: dict[str, dict[tuple[str, ...], int]]
    parts: dict[str, Partition] = field(default_factory=dict)

    def label(self, run: ComparedRun, tasks: tuple[str, ...]) -> str:
        """The number as text, `alone` or `all` where the run has no groups to speak of."""
        partition = self.parts[run.key]
        if all(len(each) == 1 for each in partition):
            return ALONE
        return ALL if len(partition) == 1 else str(self.numbers[run.key][tasks])

    @property
    def labels(self) -> list[str]:
        """Every label there can be, in the order of the colours."""
        most = max((number for each in self.numbers.values() for number in each.values()), default=0)
        return [ALONE, ALL, *(str(number) for number in range(1, most + 1))]


def parts_of(run: ComparedRun, tasks: Mapping[str, TaskInfo]) -> Partition:
    """The run's tasks by head: those that are decided together.

    By model, where its heads are apart for no other reason than that their tasks are of different kinds or
    corpora: no head could hold two of them.
    """
    if all(_must_be_apart(model, tasks) for model in run.plan):
        return tuple(tuple(task for head in model for task in head) for model in run.plan)
    return tuple(head for model in run.plan for head in model)


def _must_be_apart(model: Partition, tasks: Mapping[str, TaskInfo]) -> bool:
    sorts = [{(tasks[name].kind, tasks[name].source) for name in head if name in tasks} for head in model]
    return all(not one & two for one, two in combinations(sorts, 2)) and all(sorts)


def grouped(partition: Partition) -> bool:
    """Whether the tasks are in groups: neither all together nor each alone."""
    return len(partition) > 1 and any(len(tasks) > 1 for tasks in partition)


def numbering(comparison: Comparison) -> GroupNumbers:
    """Number the groups of the first grouped run in order; a group of another has that of the most alike."""
    known: dict[int, frozenset[str]] = {}
    numbers: dict[str, dict[tuple[str, ...], int]] = {}
    tasks = {task.name: task for task in comparison.tasks}
    parts = {run.key: parts_of(run, tasks) for run in comparison.runs}
    for key, partition in parts.items():
        if grouped(partition):
            numbers[key] = _matched(partition, known)
            known = {number: frozenset(head) for head, number in numbers[key].items()} | known
    return GroupNumbers(numbers, parts)


def _matched(partition: Partition, known: Mapping[int, frozenset[str]]) -> dict[tuple[str, ...], int]:
    """Greedy: the pair with the largest Jaccard index first; groups that are left get new numbers."""
    pairs = [
        (-len(tasks & set(head)) / len(tasks | set(head)), number, at)
        for at, head in enumerate(partition)
        for number, tasks in known.items()
        if tasks & set(head)
    ]
    found: dict[int, int] = {}
    for _, number, at in sorted(pairs):
        if at not in found and number not in found.values():
            found[at] = number
    new = max(known, default=0)
    for at in range(len(partition)):
        if at not in found:
            new += 1
            found[at] = new
    return {head: found[at] for at, head in enumerate(partition)}


def colours(labels: Sequence[str]) -> list[str]:
    """A colour for each label; they repeat after twelve numbers."""
    return [PLAIN.get(label) or RUNS[(int(label) - 1) % len(RUNS)] for label in labels]


def group_colour(given: GroupNumbers) -> dict[str, Any]:
    """The `color` channel for the field `group`."""
    scale = {"domain": given.labels, "range": colours(given.labels)}
    return {"field": "group", "type": "nominal", "scale": scale, "legend": None}


def group_shapes(given: GroupNumbers) -> dict[str, Any]:
    """The `color` and `shape` channels of points by their group, with one legend."""
    labels = [label for label in given.labels if label not in PLAIN]
    field = {
        "field": "group",
        "type": "nominal",
        "legend": {"title": "group", "orient": "top", "columns": 12},
    }
    shapes = [SHAPES[at % len(SHAPES)] for at in range(len(labels))]
    return {
        "color": field | {"scale": {"domain": labels, "range": colours(labels)}},
        "shape": field | {"scale": {"domain": labels, "range": shapes}},
    }


def together(comparison: Comparison, given: GroupNumbers) -> list[FigureBlock]:
    """The figure; nothing where no run has a plan."""
    rows, left = whole_runs(comparison, {run.key: _rows(run, given) for run in comparison.runs})
    if not rows:
        return []
    caption = (
        "A column is a run; tasks with the same number (and colour) in it share a head, so they are learned "
        "and decided together. “all”: one head for all tasks; a dot: every task has a model or head of its "
        "own."
        + (APART if _several(comparison) else "")
        + " Groups of different runs have the same number where they have most tasks in common. Hover to "
        "see the other tasks and who shares the encoder." + left
    )
    spec = _spec(comparison, given)
    return [
        FigureBlock("groups_together", "Which tasks were learned together", caption, spec, rows, wide=True)
    ]


def _several(comparison: Comparison) -> bool:
    return len({(task.kind, task.source) for task in comparison.tasks}) > 1


def _rows(run: ComparedRun, given: GroupNumbers) -> list[dict[str, Any]]:
    rows = []
    sizes = {task: sum(map(len, model)) for model in run.plan for head in model for task in head}
    for part in given.parts[run.key]:
        label = given.label(run, part)
        fields: dict[str, Any] = {"group": label, "shown": "·" if label == ALONE else label}
        fields["bright"] = colours([label])[0] in BRIGHT
        for task in part:
            shared = "one of its own" if sizes[task] == 1 else f"shared by {sizes[task]} tasks"
            others = enumerated([other for other in part if other != task]) or "none"
            rows.append(of_run(run) | {"task": task, "others": others, "encoder": shared} | fields)
    return rows


def task_order(comparison: Comparison, given: GroupNumbers) -> list[str]:
    """Tasks so that those that the first grouped run puts together stand together."""
    first = next((run for run in comparison.runs if run.key in given.numbers), None)
    number = {} if first is None else {t: n for head, n in given.numbers[first.key].items() for t in head}
    names = [task.name for task in comparison.tasks]
    return sorted(names, key=lambda name: number.get(name, len(names)))


def _spec(comparison: Comparison, given: GroupNumbers) -> dict[str, Any]:
    tips = [
        tip("task"), tip("name", "run"), tip("group"), tip("others", "together with"), tip("encoder"),
    ]  # fmt: skip
    ink = {"condition": {"test": "datum.bright", "value": "#111111"}, "value": "#ffffff"}
    numbers = {
        "transform": few_enough(),
        "mark": {"type": "text", "fontSize": 11},
        "encoding": {"text": {"field": "shown", "type": "nominal"}, "color": ink},
    }
    order = task_order(comparison, given)
    return {
        "width": {"step": cell_width(comparison)},
        "height": {"step": CELL},
        "encoding": {
            "x": run_columns(comparison),
            "y": {"field": "task", "type": "nominal", "sort": order, "axis": task_axis()},
            "tooltip": tips,
        },
        "layer": [{"mark": "rect", "encoding": {"color": group_colour(given)}}, numbers],
    }
