"""Levels of a label hierarchy: scores of the labels' ancestors at each level."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from mtlv.comparison.blocks import FigureBlock, Section, TableBlock, TableColumn
from mtlv.comparison.parts import finite_mean_and_sd, of_run
from mtlv.comparison.parts.channels import dots, label, number, tip
from mtlv.evaluation.compared_runs import Comparison
from mtlv.evaluation.metrics import Decisions, Flags, decide, f1_macro, f1_micro
from mtlv.figures.palette import run_colour
from mtlv.plan import Task

INTRO = (
    "Scores of labels and their ancestors in the hierarchy (`data.parents`), level 1 at the top. A document "
    "has an ancestor, or is predicted to, with a label below it. The micro F1 of “all” is hierarchical F1. "
    "Means over folds and seeds of the runs that are on when the page opens; differences are not tested."
)
FIGURE = "Of each run, from the top of the hierarchy (1) to the labels."
COLUMNS = (
    TableColumn("name", "run", "text"),
    TableColumn("level", "level", "text"),
    TableColumn("labels", "labels", digits=0),
    TableColumn("macro", "macro F1", spread="macro_sd"),
    TableColumn("micro", "micro F1", spread="micro_sd"),
)


def build(comparison: Comparison) -> Section | None:
    """Build the section; None without a hierarchy, or scores of its labels on the baseline's data."""
    tasks = [task for task in comparison.tasks if task.levels]
    names, digest = [task.name for task in tasks], comparison.run(comparison.baseline).data_digest
    nodes, rows = _nodes(tasks), []
    for run in comparison.runs:
        known = [(c.test, c.tasks) for c in run.children if c.test and c.test.tasks.keys() >= {*names}]
        if run.key not in comparison.shown or run.data_digest != digest or len(known) < len(run.children):
            continue
        decided = [decide(test, names, {n: of[n]["threshold"] for n in names}) for test, of in known if nodes]
        for level, below in nodes.items():
            at_level = [roll_up(decisions, below) for decisions in decided]
            macro, micro = (finite_mean_and_sd([*map(metric, at_level)]) for metric in (f1_macro, f1_micro))
            figures = {"macro": macro[0], "macro_sd": macro[1], "micro": micro[0], "micro_sd": micro[1]}
            rows.append({**of_run(run), "level": level, "labels": below.shape[1], **figures})
    drawn = [row for row in rows if row["level"] != "all"]
    figure = FigureBlock("levels_scores", "Micro F1 by level", FIGURE, _spec(comparison, list(nodes)), drawn)
    table = TableBlock("levels", "Scores at each level", "", COLUMNS, rows)
    return Section("levels", "Levels", INTRO, [figure, table]) if rows else None


def _spec(comparison: Comparison, levels: Sequence[str]) -> dict[str, Any]:
    """Return the scores over the levels, from the top to the labels, with a line for each run."""
    order = [*levels[1:], *levels[:1]]
    tips = [tip("name", "run"), tip("level"), tip("micro", "micro F1", ".4f"), tip("labels", "labels", ",d")]
    return {
        "width": "container",
        "height": 240,
        "encoding": {
            "x": label("level", title="level", sort=order, axis={"labelAngle": 0}),
            "y": number("micro", title="micro F1 on the test set", scale={"zero": False}),
            "color": run_colour(comparison),
        },
        "layer": [{"mark": {"type": "line"}}, {"mark": dots(60), "encoding": {"tooltip": tips}}],
    }


def _nodes(tasks: Sequence[Task]) -> dict[str, Flags]:
    """Return whether each of T tasks is, or is below, each of K nodes of a level [T, K]; empty if none."""
    nodes = {"labels": np.eye(len(tasks), dtype=bool)}
    for level in range(max((len(task.levels) for task in tasks), default=0)):
        of_tasks = [set(chain(*task.levels[level : level + 1])) for task in tasks]
        names = sorted(set().union(*of_tasks))
        nodes[str(level + 1)] = np.array([[name in ancestors for name in names] for ancestors in of_tasks])
    return nodes | {"all": np.concatenate([*nodes.values()][1:], axis=1)} if tasks else {}


def roll_up(decisions: Decisions, below: Flags) -> Decisions:
    """Return decisions for K nodes: a document has a node if it has one of the T tasks below it.

    A node is unknown without a true task, but with an unknown one. `below` [T, K] has the tasks of each node.
    """
    cells = (decisions.truth, decisions.predicted, ~decisions.known)
    truth, predicted, unknown = (part.astype(np.float32) @ below > 0 for part in cells)
    return Decisions(truth, predicted & (truth | ~unknown), truth | ~unknown)
