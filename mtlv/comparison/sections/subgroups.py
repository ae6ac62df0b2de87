"""Subgroups: scores and calibration of the test documents with one value of a column, beside the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from mtlv.comparison.blocks import Block, FigureBlock, Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.pairwise_tests import each_draw
from mtlv.comparison.parts import learned_nothing, of_run
from mtlv.comparison.parts.channels import GREY, dots, label, number, of_rows, run_axis, run_names, tip
from mtlv.comparison.verdict_words import interval_text
from mtlv.evaluation.bootstrap import (
    DOCUMENT_RESAMPLES,
    Floats,
    Weights,
    expanded_interval,
    not_of_sums,
    resample_scores,
)
from mtlv.evaluation.calibration import calibration_error, known_pairs, reliability
from mtlv.evaluation.compared_runs import ComparedFold, ComparedRun, Comparison
from mtlv.evaluation.scoring import SCORING, tasks_with_threshold
from mtlv.evaluation.significance import ALPHA, holm
from mtlv.figures.palette import run_colour
from mtlv.formatting import list_first
from mtlv.plan import Scores, Task
from mtlv.reporting.metric_titles import plan_title
from mtlv.seeding import content_key, seed_from

FEWEST, FEWEST_POSITIVE = 30, 10  # documents, and positive labels, of a group that is judged
ROUNDING = 1e-9  # differences that are equal but for rounding
LOWER, HIGHER, OPEN, SMALL = "lower", "higher", "cannot tell", "too small to judge"
INTRO = (
    "Test documents with one value of a column (`data.columns.subgroups`), beside all others with this "
    "column. Groups by several columns at once are not built. For the runs that are switched on when the "
    "page opens."
)
FIGURE = (
    "Score of a group minus that of the others, on the same tasks (dot), with its 95% interval over "
    "resampled test documents (line). A dot is filled if the difference is shown after the correction for "
    "all groups of the run. F1 is also higher where more documents are positive, which may differ between "
    "groups."
)
TABLE = (
    f"A group is judged if it and the others have at least {FEWEST} documents in each test part (those that "
    f"are resampled together count once) and, for yes/no tasks, {FEWEST_POSITIVE} positive labels: by the "
    f"tasks with {FEWEST} targets, and of yes/no tasks both answers, in both. Sizes are those of the "
    "smallest test part, other numbers means over folds and seeds, with 95% intervals over resampled test "
    "documents; p is the share of random groups of the same size that differ as much, with Holm's correction "
    "for all groups of the run. Calibration error: of the yes/no tasks, pooled; by chance larger with fewer "
    "documents."
)
COLUMNS = (
    TableColumn("name", "run", "text"),
    TableColumn("group", "group", "text"),
    TableColumn("documents", "documents", digits=0),
    TableColumn("positive", "positive labels", digits=0),
    TableColumn("tasks", "tasks", digits=0),
    TableColumn("score", "score"),
    TableColumn("score_interval", "95% interval", "text"),
    TableColumn("difference", "minus the others", signed=True),
    TableColumn("difference_interval", "95% interval", "text"),
    TableColumn("p", "p after Holm", digits=4),
    TableColumn("conclusion", "conclusion", "text"),
    TableColumn("error", "calibration error"),
)


def build(comparison: Comparison) -> Section | None:
    """Build the section; None without subgroups, or without scores of a run on the baseline's data."""
    shown = [run for run in comparison.runs if run.key in comparison.shown] if comparison.subgroups else []
    digest, nothing = comparison.run(comparison.baseline).data_digest, learned_nothing(comparison)
    runs = [run for run in shown if run.data_digest == digest and run not in nothing]
    runs = [run for run in runs if all(child.test and child.test.ids for child in run.children)]
    if not runs:
        return None
    draws: dict[str, Weights] = {}
    for weights, _, children in each_draw(child for run in runs for child in run.children):
        with_all = np.concatenate([np.ones_like(weights[:1]), weights])
        draws |= dict.fromkeys((child.run_id for child in children), with_all)
    unsummed = not_of_sums(comparison.tasks)
    tasks = [task for task in comparison.tasks if task not in unsummed]
    rows = _rows(runs, comparison.subgroups, tasks, draws)
    judged = [row for row in rows if row["tasks"]]
    left_out = [
        f"“{name}” (small)" for name in dict.fromkeys(row["group"] for row in rows if not row["tasks"])
    ]
    left_out += [f"run “{run.name}” (other data, or nothing learned)" for run in shown if run not in runs]
    left_out += [f"task “{task.name}” (its metric is not a sum over documents)" for task in unsummed]
    text = f"Groups that score differently: {list_first(_differing(judged)) or 'none is shown'}."
    text += f" Not judged: {list_first(left_out)}." if left_out else ""
    blocks: list[Block] = [TextBlock(text, "finding")]
    if judged:
        title, spec = "Groups beside the others", _spec(comparison)
        blocks.append(FigureBlock("subgroups_differences", title, FIGURE, spec, judged, wide=True))
    blocks.append(TableBlock("subgroups", "All groups", TABLE, COLUMNS, rows))
    return Section("subgroups", "Subgroups", INTRO, blocks)


def _rows(
    runs: Sequence[ComparedRun],
    subgroups: Mapping[str, Mapping[str, frozenset[str]]],
    tasks: Sequence[Task],
    draws: Mapping[str, Weights],
) -> list[dict[str, Any]]:
    """Return a row for each run and group, with p-values corrected for all groups of a run.

    `draws` are by `run_id`.
    """
    by_run: dict[str, list[dict[str, Any]]] = {run.key: [] for run in runs}
    for column, groups in subgroups.items():
        everyone = frozenset[str]().union(*groups.values())
        for name, ids in groups.items():
            deals: dict[tuple[Sequence[str], ...], Weights] = {}  # by test documents, which runs share
            for run in runs:
                sides = [_restrict(run, ids), _restrict(run, everyone - ids)]
                figures = _figures(run, sides, tasks, draws)
                if figures["tasks"]:
                    figures["p"] = _p_value(run, ids, everyone, figures.pop("judged"), deals)
                rows = by_run[run.key]
                rows.append({**of_run(run), "group": f"{column}: {name}", "order": len(rows), **figures})
    for rows in by_run.values():
        for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
            row["p"] = p
            if row["tasks"]:
                is_shown = p is not None and p < ALPHA
                row["conclusion"] = (LOWER if row["difference"] < 0 else HIGHER) if is_shown else OPEN
    return [row for rows in by_run.values() for row in rows]


def _restrict(run: ComparedRun, ids: frozenset[str]) -> list[Scores]:
    """Return the test scores of each child without the targets and groups of other documents."""
    restricted = []
    for test in (child.test for child in run.children if child.test is not None):
        kept = np.array([id_ in ids for id_ in test.ids])
        tasks = {name: replace(task, mask=task.mask & kept) for name, task in test.tasks.items()}
        groups = tuple(compress(test.groups or test.ids, kept))
        restricted.append(replace(test, tasks=tasks, groups=groups))
    return restricted


def _can_judge(task: Task, scores: Scores) -> bool:
    """Whether a task has enough targets, and a yes/no task both answers."""
    targets = scores.tasks[task.name].targets[scores.tasks[task.name].mask]
    needs_both = SCORING[task.kind].needs_threshold
    return len(targets) >= FEWEST and not (needs_both and len(np.unique(targets)) < 2)


def _figures(
    run: ComparedRun, sides: Sequence[list[Scores]], tasks: Sequence[Task], draws: Mapping[str, Weights]
) -> dict[str, Any]:
    """Return sizes and figures of a group, given its scores and the others'; only sizes of a small one."""
    parts = [*sides[0], *sides[1]]
    tasks = [task for task in tasks if all(task.name in scores.tasks for scores in parts)]
    labels = tasks_with_threshold(tasks)
    positive = [int(known_pairs(scores, labels)[1].sum()) if labels else 0 for scores in parts]
    is_positive = min(positive) >= FEWEST_POSITIVE
    tasks = [task for task in tasks if is_positive or task.name not in labels]
    tasks = [task for task in tasks if all(_can_judge(task, scores) for scores in parts)]
    sizes = [len(set(scores.groups or ())) for scores in parts]
    documents, units, count = min(sizes[: len(sides[0])]), min(sizes), min(positive[: len(sides[0])])
    row: dict[str, Any] = {"documents": documents, "positive": count or None, "p": None, "conclusion": SMALL}
    row["tasks"] = len(tasks) if units >= FEWEST else 0
    if not row["tasks"]:
        return row
    labels, means = tasks_with_threshold(tasks), []
    for side in sides:
        pairs = zip(run.children, side, strict=True)
        drawn = [_main(child, scores, tasks, draws[child.run_id]) for child, scores in pairs]
        means.append(np.mean(drawn, axis=0))
    for key, values in {"score": means[0], "difference": means[0] - means[1]}.items():
        interval = expanded_interval(values[1:], units)
        row |= {key: float(values[0]), f"{key}_low": interval.low, f"{key}_high": interval.high}
        signs = "" if key == "score" else "+"
        row[f"{key}_interval"] = interval_text(interval.low, interval.high).replace("+", signs)
    row["judged"] = tasks
    if labels:
        known = zip(*(known_pairs(scores, labels) for scores in sides[0]), strict=True)
        row["error"] = calibration_error(reliability(*map(np.concatenate, known)))
    return row


def _main(child: ComparedFold, scores: Scores, tasks: Sequence[Task], weights: Weights) -> Floats:
    """Return the main score for each row of weights [R, N], at the thresholds of a child."""
    limits = {name: child.tasks[name]["threshold"] for name in tasks_with_threshold(tasks)}
    return resample_scores(scores, tasks, limits, weights).main


def _p_value(
    run: ComparedRun,
    ids: frozenset[str],
    everyone: frozenset[str],
    tasks: Sequence[Task],
    deals: dict[tuple[Sequence[str], ...], Weights],
) -> float:
    """Return the share of random groups of the same size with a difference as large (a permutation test).

    Resamples cannot tell: a group without an error has none in any resample. `deals` keeps what is dealt.
    """
    differences = []
    for child in run.children:
        if (test := child.test) is not None:
            key = test.ids, test.groups or test.ids
            if key not in deals:
                deals[key] = _deal(*key, ids, everyone)
            is_member = deals[key]
            has_value = np.isin(test.ids, list(everyone))
            sides = [_main(child, test, tasks, weights) for weights in (is_member, has_value - is_member)]
            differences.append(sides[0] - sides[1])
    sizes = np.abs(np.mean(differences, axis=0))
    return float(np.mean(sizes >= sizes[0] - ROUNDING))


def _deal(
    documents: Sequence[str], units: Sequence[str], ids: frozenset[str], everyone: frozenset[str]
) -> Weights:
    """Return whether documents are in a group [1 + R, N]: first as they are, then dealt anew R times.

    Documents of one unit, which are resampled together, are dealt together, as the first of them.
    """
    places = np.array([place for place, id_ in enumerate(documents) if id_ in everyone])
    is_member = np.array([documents[place] in ids for place in places])
    _, first, unit = np.unique(np.array(units)[places], return_index=True, return_inverse=True)
    rng = np.random.default_rng(seed_from("deal subgroups", content_key(list(documents))))
    weights = np.zeros((1 + DOCUMENT_RESAMPLES, len(documents)), np.float32)
    weights[0, places] = is_member
    for row in weights[1:]:
        row[places] = rng.permutation(is_member[first])[unit]
    return weights


def _differing(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return each group that scores differently, with its runs."""
    texts = []
    for group in dict.fromkeys(row["group"] for row in rows):
        members = [row for row in rows if row["group"] == group]
        for conclusion in (LOWER, HIGHER):
            names = [f"“{row['name']}”" for row in members if row["conclusion"] == conclusion]
            who = "all runs" if len(names) == len(members) > 1 else list_first(names, 3)
            texts += [f"“{group}” ({conclusion} for {who})"] if names else []
    return texts


def _spec(comparison: Comparison) -> dict[str, Any]:
    """Return differences by group, with a line for each run."""
    tips = [
        tip("name", "run"), tip("group"), tip("difference", "minus the others", "+.4f"),
        tip("difference_interval", "95% interval"), tip("score", "score", ".4f"),
        tip("documents", "documents", ",d"), tip("p", "p after Holm", ".4f"), tip("conclusion"),
    ]  # fmt: skip
    title = f"{plan_title(comparison)}: group minus the others"
    x = number("difference", title=title, axis={"format": "+.3~g", "tickCount": 6})
    ends = {"x": x | {"field": "difference_low"}, "x2": {"field": "difference_high"}}
    zero = {"x": {"datum": 0}, "y": None, "yOffset": None, "color": None, "tooltip": None}
    return {
        "width": "container",
        "height": {"step": 14, "for": "offset"},
        "encoding": {
            "y": label("group", sort={"field": "order", "op": "min"}, axis=run_axis(labelLimit=200)),
            "yOffset": label("name", sort=run_names(comparison)),
            "color": run_colour(comparison),
            "tooltip": tips,
        },
        "layer": [
            {"mark": {"type": "rule", "color": GREY}, "encoding": zero},
            {"mark": {"type": "rule", "strokeWidth": 2}, "encoding": ends},
            {"mark": dots(60, filled=False, fill="white"), "encoding": {"x": x}},
            of_rows(f"datum.conclusion !== '{OPEN}'", {"mark": dots(60), "encoding": {"x": x}}),
        ],
    }
