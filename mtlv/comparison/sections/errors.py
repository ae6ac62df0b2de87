"""Errors of runs: precision and recall, F1 over the threshold, and documents on which two runs disagree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from mtlv.comparison.blocks import Block, FigureBlock, Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.disagree import disagreement
from mtlv.comparison.label_review import label_review
from mtlv.comparison.parts import finite_mean, of_run
from mtlv.comparison.parts.channels import PANELS, dots, number, of_rows, small_multiples, tip
from mtlv.comparison.pooled_scores import one_after_the_other
from mtlv.evaluation.abstention import (
    Decisions,
    decisions_by_task,
    error_limits,
    made_on_test,
    risk_over_coverage,
)
from mtlv.evaluation.calibration import known_pairs
from mtlv.evaluation.compared_runs import ComparedFold, ComparedRun, Comparison, mean_and_sd
from mtlv.evaluation.curves import precision_recall_steps
from mtlv.evaluation.metrics import average_precision
from mtlv.evaluation.scoring import tasks_with_threshold
from mtlv.evaluation.thresholds import f1_on_grid, grid_values
from mtlv.figures.palette import run_lines
from mtlv.formatting import list_first
from mtlv.plan import Scores

ROWS = 7_000  # approximate maximum of a figure: with more runs and tasks, curves get fewer points
MOST, LEAST = 60, 11  # maximum and minimum number of points of a curve
GRIDS = {step: grid_values(step, 1 - step, step) for step in (0.02, 0.05, 0.1)}
PANEL = 196, 150  # width and height of a panel in pixels
SUBSET = "test/subset_accuracy"
WANTED_ERRORS = (0.05, 0.01)  # shares of wrong decisions
RISK = (
    "Share of wrong decisions among the most confident ones of the test documents, over their share of all "
    "decisions (yes or no of a label, or a class); those of all tasks, folds and seeds are pooled. Lower is "
    "better: a run whose curve falls to the left knows which of its decisions are uncertain."
)
ABSTENTION = (
    "Error: share of wrong decisions on test. Area under the curve: mean risk over all coverages, with its "
    "standard deviation over folds and seeds; lower is better. Coverage at 5% and 1%: share of the test "
    "decisions that `mtlv predict --abstain` makes at this error, with limits from validation for each task; "
    "error: how many of these are wrong. Empty: the validation documents are too few, or errors on them too "
    "frequent, for any limit."
)
COMPARED = 8  # maximum number of runs compared in pairs
HOW_PANELS = f"A panel is a task, most frequent first, at most {PANELS} at once; filter tasks to see others."


def build(comparison: Comparison) -> Section | None:
    """Build the section; None if no run shown at first has scores."""
    runs = [run for run in comparison.runs if run.key in comparison.shown]
    blocks: list[Block] = [
        *_all_right(runs),
        *_left_out(comparison),
        *_precision_recall(comparison, runs),
        *_thresholds(comparison, runs),
        *_abstention(comparison, runs),
        *disagreement(comparison, runs[:COMPARED]),
        *label_review(comparison),
    ]
    behind = "The results in detail: single documents."
    if tasks_with_threshold(comparison.tasks):
        behind = (
            "The results in detail: the trade-off of each run between precision and recall, the effect of "
            "its threshold, errors if it may abstain, and single documents."
        )
    intro = f"{behind} For the runs that are switched on when the page opens."
    has_figures = any(not isinstance(block, TextBlock) for block in blocks)
    return Section("errors", "Errors", intro, blocks) if has_figures else None


def _all_right(runs: Sequence[ComparedRun]) -> list[TextBlock]:
    """Say of how many documents each run decides all labels correctly; [] if tasks are not only labels."""
    means = [(run.name, finite_mean(run.values(SUBSET))) for run in runs]
    shares = [f"“{name}” {mean:.0%}" for name, mean in means if mean is not None]
    text = "Share of the test documents of which all labels are right"
    return [TextBlock(f"{text}: {list_first(shares)}.", "finding")] if shares else []


def _left_out(comparison: Comparison) -> list[TextBlock]:
    """Name the tasks without a threshold, if others have one."""
    curved = set(tasks_with_threshold(comparison.tasks))
    others = [task.name for task in comparison.tasks if task.name not in curved]
    if not others or not curved:
        return []
    text = "Precision-recall and threshold curves are only for yes/no tasks"
    return [TextBlock(f"{text}; left out: {list_first(others)}.")]


def _points(runs: Sequence[ComparedRun], comparison: Comparison) -> int:
    return max(LEAST, min(MOST, ROWS // max(1, len(runs) * len(comparison.tasks))))


def _precision_recall(comparison: Comparison, runs: Sequence[ComparedRun]) -> list[FigureBlock]:
    most = _points(runs, comparison)
    rows = [row for run in runs for row in _curve_rows(comparison, run, most)]
    tips = [tip("name", "run"), tip("task"), tip("average_precision", "average precision", ".4f")]
    tips += [tip("recall", "recall", ".3f"), tip("precision", "precision", ".3f"), tip("positive", "", "d")]
    encoding = {"x": _axis("recall", "recall"), "y": _axis("precision", "precision"), "tooltip": tips}
    lines = {"mark": {"type": "line", "interpolate": "step-before", "strokeWidth": 1.8}}
    points = {"mark": dots(90, opacity=0)}  # for the pointer only
    caption = (
        "Precision over recall on the test documents at all thresholds, for each task; the scores of a run's "
        "folds and seeds are pooled. The area under the steps is the average precision. Closer to the upper "
        f"right is better. {HOW_PANELS}"
    )
    spec = _panels(comparison, encoding, lines, points)
    figure = FigureBlock("errors_precision_recall", "Precision and recall", caption, spec, rows, wide=True)
    return [figure] if rows else []


def _curve_rows(comparison: Comparison, run: ComparedRun, most: int) -> Iterator[dict[str, Any]]:
    scores = one_after_the_other(run, "test")
    if scores is None:
        return
    for order, name in _scored(comparison, scores):
        outputs, truth = known_pairs(scores, [name])
        recall, precision = precision_recall_steps(truth, outputs, most)
        row = of_run(run) | {"task": name, "order": order, "positive": int(truth.sum())}
        row["average_precision"] = round(average_precision(truth, outputs), 4)
        if recall.size:
            yield row | {"recall": 0.0, "precision": round(float(precision[0]), 4)}
        for x, y in zip(recall, precision, strict=True):
            yield row | {"recall": round(float(x), 4), "precision": round(float(y), 4)}


def _scored(comparison: Comparison, scores: Scores) -> list[tuple[int, str]]:
    """Return index and name of the tasks with a threshold and scores, not only decisions."""
    curved = {*tasks_with_threshold(comparison.tasks)} & scores.tasks.keys()
    scored = {name for name in curved if not scores.tasks[name].is_decided}
    return [(at, task.name) for at, task in enumerate(comparison.tasks) if task.name in scored]


def _thresholds(comparison: Comparison, runs: Sequence[ComparedRun]) -> list[FigureBlock]:
    most = _points(runs, comparison)
    grid = next((grid for grid in GRIDS.values() if len(grid) <= most), GRIDS[0.1])
    rows = [row for run in runs for row in _threshold_rows(comparison, run, grid)]
    tips = [tip("name", "run"), tip("task"), tip("threshold", "threshold", ".3f"), tip("f1", "F1", ".4f")]
    tips += [tip("positive", "positive", "d")]
    encoding = {"x": _axis("threshold", "threshold"), "y": _axis("f1", "F1 on validation"), "tooltip": tips}
    lines = of_rows("!datum.fitted", {"mark": {"type": "line", "strokeWidth": 1.8}})
    fitted = of_rows("datum.fitted", {"mark": dots(55)})
    hover = {"mark": dots(70, opacity=0)}
    caption = (
        "F1 on the validation documents over the threshold, for each task; the scores of a run's folds and "
        "seeds are pooled. Dots are the fitted thresholds, one per fold and seed. A flat maximum means "
        f"that the threshold hardly matters. {HOW_PANELS}"
    )
    spec = _panels(comparison, encoding, lines, fitted, hover)
    figure = FigureBlock("errors_thresholds", "F1 over the threshold", caption, spec, rows, wide=True)
    return [figure] if rows else []


def _threshold_rows(
    comparison: Comparison, run: ComparedRun, grid: Sequence[float]
) -> Iterator[dict[str, Any]]:
    scores = one_after_the_other(run, "validation")
    tasks = _scored(comparison, scores) if scores is not None else []
    if scores is None or not tasks:
        return
    f1, positive = f1_on_grid(scores, [name for _, name in tasks], grid)
    for t, (order, name) in enumerate(tasks):
        row = of_run(run) | {"task": name, "order": order, "positive": int(positive[t])}
        for value, at in zip(grid, f1[:, t], strict=True):
            yield row | {"threshold": value, "f1": round(float(at), 4), "fitted": False}
        chosen = sorted(set(run.of_task(name, "threshold")))
        if chosen:
            for value, at in zip(chosen, f1_on_grid(scores, [name], chosen)[0][:, 0], strict=True):
                yield row | {"threshold": round(value, 6), "f1": round(float(at), 4), "fitted": True}


def _abstention(comparison: Comparison, runs: Sequence[ComparedRun]) -> list[Block]:
    """Return risk over coverage, and what wanted errors leave on test; [] without probabilities."""
    rows, points = [], []
    for run in runs:
        tested = [(child, part) for child in run.children if (part := _decisions(comparison, child, "test"))]
        pooled = Decisions.joined(part for _, by_task in tested for part in by_task.values())
        if np.unique(pooled.confidence).size < 2:  # decisions without probabilities
            continue
        risk = risk_over_coverage(pooled)
        ends = np.unique(np.linspace(1, risk.size, MOST).astype(int)).tolist()
        points += [of_run(run) | {"coverage": end / risk.size, "risk": float(risk[end - 1])} for end in ends]
        rows.append(of_run(run) | _selective_row(comparison, tested))
    tips = [tip("name", "run"), tip("coverage", "coverage", ".3f"), tip("risk", "risk", ".4f")]
    colour, dashes = run_lines(comparison)
    spec = {
        "width": "container",
        "height": 260,
        "encoding": {"x": _axis("coverage", "coverage"), "y": number("risk"), "tooltip": tips} | colour,
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 1.8}, "encoding": dashes},
            {"mark": dots(70, opacity=0)},
        ],
    }
    columns = [
        TableColumn("name", "run", kind="text"),
        TableColumn("error", "error"),
        TableColumn("area", "area under the curve", digits=4, spread="sd"),
    ]
    for error in WANTED_ERRORS:
        columns += [
            TableColumn(f"coverage {error}", f"coverage at {error:.0%}"),
            TableColumn(f"error {error}", f"error at {error:.0%}", digits=4),
        ]
    blocks: list[Block] = [
        FigureBlock("errors_risk", "Risk over coverage", RISK, spec, points),
        TableBlock("errors_abstention", "Abstention at a wanted error", ABSTENTION, columns, rows),
    ]
    return blocks if rows else []


def _decisions(comparison: Comparison, child: ComparedFold, part: str) -> dict[str, Decisions]:
    scores = child.test if part == "test" else child.validation
    thresholds = {name: one["threshold"] for name, one in child.tasks.items() if "threshold" in one}
    return decisions_by_task(scores, comparison.tasks, thresholds) if scores else {}


def _selective_row(
    comparison: Comparison, tested: Sequence[tuple[ComparedFold, dict[str, Decisions]]]
) -> dict[str, Any]:
    """Return means over children; without those at a wanted error, if one of them has no limit for it."""
    joined = [Decisions.joined(by_task.values()) for _, by_task in tested]
    area, spread = mean_and_sd([float(risk_over_coverage(part).mean()) for part in joined])
    row = {"error": fmean(part.wrong.mean() for part in joined), "area": area, "sd": spread}
    validation = [_decisions(comparison, child, "validation") for child, _ in tested]
    limits = [{name: error_limits(part) for name, part in by_task.items()} for by_task in validation]
    for error in WANTED_ERRORS:
        made = [made_on_test(of, by_task, error) for of, (_, by_task) in zip(limits, tested, strict=True)]
        known = [(wrong, part) for wrong, part in zip(made, joined, strict=True) if wrong is not None]
        if len(known) == len(tested):
            row[f"coverage {error}"] = fmean(wrong.size / part.wrong.size for wrong, part in known)
            row[f"error {error}"] = fmean(wrong.mean() for wrong, _ in known)
    return row


def _panels(
    comparison: Comparison, encoding: dict[str, Any], lines: dict[str, Any], *others: dict[str, Any]
) -> dict[str, Any]:
    """Return a panel per task with these layers."""
    colour, dashes = run_lines(comparison)
    layers = [lines | {"encoding": dashes}, *others]
    return small_multiples({"encoding": encoding | colour, "layer": layers}, "task", PANEL)


def _axis(field: str, title: str) -> dict[str, Any]:
    scale, axis = {"domain": [0, 1], "nice": False}, {"tickCount": 3, "format": ".1f"}
    return number(field, title=title, scale=scale, axis=axis)
