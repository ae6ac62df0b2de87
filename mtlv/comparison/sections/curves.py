"""Learning curves: one chart of all runs with bands, then small multiples per head and per task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mtlv.comparison.blocks import Block, FigureBlock, Section, TextBlock
from mtlv.comparison.parts import STEPS, band, curves_of, of_run, open_ends, runs_that_fit
from mtlv.comparison.parts.channels import (
    PANELS,
    dots,
    integer_ticks,
    number,
    small_multiples,
    tip,
    with_value,
)
from mtlv.evaluation.compared_runs import ComparedRun, Comparison, Curve
from mtlv.figures.palette import run_lines
from mtlv.formatting import list_first
from mtlv.plan import ascii_slug, group_name
from mtlv.reporting.metric_titles import describe_main_metrics, main_title

PANEL = 196, 120  # width and height of a panel in pixels
Rows = dict[str, list[dict[str, Any]]]
HOW_BANDS = (
    "A line is the mean over a run's folds and seeds after each epoch. The band "
    "shows their minimum and maximum; a run measured once has no band."
)
HOW_PANELS = f"A line is a run's mean over its folds and seeds; at most {PANELS} panels are shown at once"


@dataclass(frozen=True)
class SmallMultiples:
    """Small multiples of one metric."""

    id: str
    title: str
    caption: str
    prefix: str  # prefix of the tracked key, before the slash, for panels without their own
    field: str  # field of the rows that defines the panels
    axis: str  # title of the values
    scale: Mapping[str, Any]
    tips: tuple[Mapping[str, str], ...]  # additional lines of the tooltip


@dataclass(frozen=True)
class Panel:
    """A head or a task: its position, label, additional fields of its rows, and optional key prefix."""

    order: int
    label: str
    fields: dict[str, str] = field(default_factory=dict)
    prefix: str = ""


FRACTION = {"zero": False}
LOSS = "train/loss"
OF_TASKS = "The mean over tasks of the loss of their heads, so that architectures can be compared. "
TEXT_BITS = "val.texts.bits_per_character/"
OF_TOKENS = tip("tokens", "tokens", ",.0f")
HOW_BITS = (
    "Cross-entropy of masked pieces on the validation set after so many training tokens without padding, in "
    "bits per character, which does not depend on the vocabulary. It depends on the share of masked pieces. "
    f"{HOW_BANDS}"
)
OF_HEAD = (tip("members", "tasks of the head"),)
HEAD_LOSS = SmallMultiples(
    "curves_head_loss",
    "Training loss of each head",
    "A panel is a head: a set of tasks that are predicted together. Runs with the same head share a panel; "
    "heads of several tasks are first. Switch runs off to see other panels. ",
    "train.heads.loss", "head", "loss", {"zero": True}, OF_HEAD,
)  # fmt: skip
HEAD_F1 = SmallMultiples(
    "curves_head_f1",
    "Validation macro F1 of each head",
    "The mean F1 of a head's tasks on the validation set, in panels as above. ",
    "val.heads.f1_macro", "head", "macro F1", FRACTION, OF_HEAD,
)  # fmt: skip
HOW_FACTORS = (
    "What a balancer (`training.objective`) multiplied the losses by: means over the steps of an epoch. "
    "With 1, a loss counts as without a balancer. "
)
TASK_FACTOR = SmallMultiples(
    "curves_task_factor", "Factors of the tasks' losses", HOW_FACTORS,
    "train.tasks.factor", "task", "factor", {"zero": True}, (tip("task"),),
)  # fmt: skip
HEAD_FACTOR = SmallMultiples(
    "curves_head_factor", "Factors of the heads' losses", HOW_FACTORS,
    "train.heads.factor", "head", "factor", {"zero": True}, OF_HEAD,
)  # fmt: skip


def build(comparison: Comparison) -> Section | None:
    """Build the section; None if no run has a curve."""
    heads = _heads(comparison)
    tasks = {task.name: Panel(at, task.name) for at, task in enumerate(comparison.tasks)}
    blocks: list[Block] = [
        *_together(comparison, LOSS, "Training loss", {"zero": True}, _mean_losses, OF_TASKS),
        *_together(comparison, "val/f1_macro", "Validation macro F1", {"zero": False}),
        *_together(comparison, "val/score", "Validation score", {"zero": False}),
        *_texts(comparison),
        *_multiples(comparison, HEAD_LOSS, heads),
        *_multiples(comparison, HEAD_F1, heads),
        *_multiples(comparison, _of_tasks(comparison), _scores(tasks, comparison)),
        *_multiples(comparison, HEAD_FACTOR, heads),
        *_multiples(comparison, TASK_FACTOR, tasks),
    ]
    if blocks and (text := _ends(comparison)):
        blocks.insert(0, TextBlock(text, "finding"))
    intro = "How the runs learned: whether they converged, and which tasks were learned late or not at all."
    return Section("curves", "Learning curves", intro, blocks) if blocks else None


def _ends(comparison: Comparison) -> str:
    """Say which runs were not trained to the end; empty if that is not known of all."""
    if text := open_ends(comparison).strip():
        return text
    if any(comparison.learning(run).end is None for run in comparison.runs):
        return ""
    return "Every run was trained to the end: its score no longer rises."


def _of_tasks(comparison: Comparison) -> SmallMultiples:
    figure = main_title(comparison.tasks)
    not_learned = "label that was not learned" if figure == "F1" else "task that was not learned"
    caption = (
        f"A panel is a task, most frequent first. A line that stays at 0 is a {not_learned}. "
        f"Filter tasks to see the panels of rarer ones. {describe_main_metrics(comparison.tasks)} "
    )
    title = f"Validation {figure} of each task"
    return SmallMultiples(
        "curves_task_f1", title, caption, "val.tasks.f1", "task", figure, FRACTION, (tip("task"),)
    )


def _scores(tasks: Mapping[str, Panel], comparison: Comparison) -> dict[str, Panel]:
    """Return the panels of tasks with the validation metric that each is judged by."""
    return {
        task.name: replace(tasks[task.name], prefix=f"val.tasks.{task.main_metric}")
        for task in comparison.tasks
    }


def _together(
    comparison: Comparison,
    key: str,
    title: str,
    scale: Mapping[str, Any],
    curves: Callable[[ComparedRun, str], list[Curve]] = curves_of,
    meaning: str = "",
) -> list[FigureBlock]:
    """Build a figure of one curve of all runs, with bands."""
    rows = [of_run(run) | point for run in comparison.runs for point in band(curves(run, key), 4 * STEPS)]
    if not rows:
        return []
    spec = {"width": "container", "height": 300} | _lines(comparison, title, scale, banded=True)
    return [FigureBlock(f"curves_{key.replace('/', '_')}", title, f"{meaning}{HOW_BANDS}", spec, rows)]


def _mean_losses(run: ComparedRun, key: str) -> list[Curve]:
    """Return the mean loss over tasks of each child, from the mean losses of its heads' tasks.

    The tracked loss is that which is minimised: with several heads in a model, by default their sum, which
    cannot be compared with the loss of one head. It is used where the heads' losses are not known.
    """
    curves = []
    for child in run.children:
        heads = [
            (dict(child.curves.get(f"{HEAD_LOSS.prefix}/{group_name(head)}", ())), len(head))
            for model in run.plan
            for head in model
        ]
        if heads and all(losses for losses, _ in heads):
            curves.append(_weighted(heads))
        elif child.curves.get(key):
            curves.append(child.curves[key])
    return curves


def _weighted(heads: Sequence[tuple[Mapping[int, float], int]]) -> Curve:
    """Return the mean of heads' losses by step, weighted by the number of their tasks."""
    steps = sorted({step for losses, _ in heads for step in losses})
    there = {step: [(losses[step], tasks) for losses, tasks in heads if step in losses] for step in steps}
    return [
        (step, sum(loss * tasks for loss, tasks in losses) / sum(tasks for _, tasks in losses))
        for step, losses in there.items()
    ]


def _texts(comparison: Comparison) -> list[FigureBlock]:
    """Build a figure of the loss over tokens for each stage and task in which several runs learned texts."""
    keys = dict.fromkeys(key for run in comparison.runs for child in run.children for key in child.curves)
    lines = _lines(comparison, "bits per character", {"zero": False}, banded=True, extra=(OF_TOKENS,))
    x = number("tokens", title="tokens read", axis={"format": "~s", "grid": False, "tickCount": 5})
    spec = {"width": "container", "height": 300} | lines | {"encoding": lines["encoding"] | {"x": x}}
    blocks = []
    for name in [key.removeprefix(TEXT_BITS) for key in keys if key.startswith(TEXT_BITS)]:
        rows = [of_run(run) | point for run in comparison.runs for point in _over_tokens(run, name)]
        if len({row["run"] for row in rows}) > 1:
            id, title = f"curves_texts_{ascii_slug(name)}", f"Bits per character over tokens: {name}"
            blocks.append(FigureBlock(id, title, HOW_BITS, spec, rows))
    return blocks


def _over_tokens(run: ComparedRun, name: str) -> Iterable[dict[str, Any]]:
    """Yield the loss at the end of each epoch with the tokens read until then, both means over children."""
    read = {point["epoch"]: point["value"] for point in band(curves_of(run, f"train.texts.tokens/{name}"))}
    for point in band(curves_of(run, f"{TEXT_BITS}{name}"), 4 * STEPS):
        if point["epoch"] in read:
            yield point | {"tokens": read[point["epoch"]]}


def _multiples(
    comparison: Comparison, what: SmallMultiples, panels: Mapping[str, Panel]
) -> list[FigureBlock]:
    """Build a figure with a panel per head or task and a line per run."""
    by_run = {run.key: list(_panel_rows(run, what, panels)) for run in comparison.runs}
    rows, left = runs_that_fit(comparison, by_run)
    if not rows:
        return []
    lines = _lines(comparison, what.axis, what.scale, banded=False, extra=what.tips)
    spec = small_multiples(lines, what.field, PANEL)
    caption = f"{what.caption}{HOW_PANELS}.{left}"
    return [FigureBlock(what.id, what.title, caption, spec, rows, wide=True)]


def _panel_rows(
    run: ComparedRun, what: SmallMultiples, panels: Mapping[str, Panel]
) -> Iterable[dict[str, Any]]:
    every = dict.fromkeys(key for child in run.children for key in child.curves)
    for key in every:
        prefix, _, name = key.partition("/")
        panel = panels.get(name, Panel(len(panels), name))
        if prefix != (panel.prefix or what.prefix):
            continue
        fields = of_run(run) | {what.field: panel.label, "order": panel.order} | panel.fields
        for point in band(curves_of(run, key), STEPS):
            yield fields | point


def _heads(comparison: Comparison) -> dict[str, Panel]:
    """Return panels by head: largest first, then by the frequency of their most frequent task."""
    place, last = {task.name: at for at, task in enumerate(comparison.tasks)}, len(comparison.tasks)
    heads = {head for run in comparison.runs for model in run.plan for head in model}
    in_order = {head: tuple(sorted(head, key=lambda task: (place.get(task, last), task))) for head in heads}
    ordered = sorted(
        set(in_order.values()), key=lambda head: (-len(head), [place.get(t, last) for t in head], head)
    )
    seen: Counter[str] = Counter()
    panels = {}
    for at, head in enumerate(ordered):
        label = head[0] if len(head) == 1 else f"{head[0]} + {len(head) - 1} more"
        seen[label] += 1
        if seen[label] > 1:
            label = f"{label} ({seen[label]})"
        panels[head] = Panel(at, label, {"members": list_first(head)})
    return {group_name(head): panels[tasks] for head, tasks in in_order.items()}


def _lines(
    comparison: Comparison,
    title: str,
    scale: Mapping[str, Any],
    *,
    banded: bool,
    extra: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """Return the layers: lines, optional bands, and points with tooltips."""
    # A constant line has one tick, which would be rounded to a whole number.
    y = number("value", title=title, scale=scale, axis={"format": ".4~r"})
    tips = [
        tip("name", "run"), *extra, tip("epoch", "epoch", "d"), tip("value", "mean", ".4f"),
        tip("low", "lowest", ".4f"), tip("high", "highest", ".4f"), tip("children", "folds and seeds", "d"),
    ]  # fmt: skip
    area = {"type": "area", "opacity": 0.9 / max(6, len(comparison.shown))}
    ends = {"y": y | {"field": "low"}, "y2": {"field": "high"}, "tooltip": tips}
    bands = with_value("low", {"mark": area, "encoding": ends})
    colour, dashes = run_lines(comparison)
    line = {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"y": y, "tooltip": tips} | dashes}
    points = {"mark": dots(30), "encoding": {"y": y, "tooltip": tips}}
    curves = (child.curves.get(LOSS, ()) for run in comparison.runs for child in run.children)
    last_epoch = max((step + 1 for curve in curves for step, _ in curve), default=0)
    ticks = integer_ticks(last_epoch, 10 if banded else 4)
    x = number("epoch", title="epoch", axis={"values": ticks, "format": "d", "grid": False})
    return {"encoding": {"x": x} | colour, "layer": [line, *([bands] if banded else []), points]}
