"""Agreement between the groupings of runs: the adjusted Rand index of every pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.parts import of_run, order_shown_first
from mtlv.comparison.parts.channels import label, number, run_axis, run_names, tip
from mtlv.comparison.parts.heatmap import CELL, cell_width, run_columns, text_layer
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.figures.palette import SEQUENTIAL

MOST = 40  # maximum number of groupings compared in pairs: 1,600 cells


def agreement(left: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> float | None:
    """Adjusted Rand index of two groupings on their common tasks: 1 if equal, 0 as by chance.

    None if they have fewer than two tasks in common. Counted over pairs of tasks (Hubert and Arabie
    1985), like `sklearn.metrics.adjusted_rand_score`, whose import would add 2 s to every comparison.
    """
    one, two = _places(left), _places(right)
    common = sorted(one.keys() & two.keys())
    if len(common) < 2:
        return None
    pairs = Counter((one[a] == one[b], two[a] == two[b]) for a, b in combinations(common, 2))
    both, neither = pairs[True, True], pairs[False, False]
    mine, theirs = pairs[True, False], pairs[False, True]
    if mine == theirs == 0:
        return 1.0
    chance = (both + mine) * (mine + neither) + (both + theirs) * (theirs + neither)
    return 2 * (both * neither - mine * theirs) / chance


def _places(groups: Sequence[Sequence[str]]) -> Mapping[str, int]:
    return {task: at for at, members in enumerate(groups) for task in members}


def agreements(comparison: Comparison, runs: Sequence[ComparedRun]) -> list[FigureBlock]:
    """Build a figure of every pair of runs with groups; [] if there is no pair."""
    chosen = {run.key for run in [run for run in order_shown_first(comparison) if run.groups][:MOST]}
    kept = [run for run in runs if run.key in chosen]
    if len(kept) < 2:
        return []
    agreement_of = cache(agreement)  # runs often share their groups
    rows = [
        of_run(run) | {"other": other.key, "other_name": other.name, "value": value}
        for run, other in product(kept, repeat=2)
        if run.groups and other.groups
        if (value := agreement_of(run.groups.groups, other.groups.groups)) is not None
    ]
    caption = (
        "Adjusted Rand index between the groups of two runs: 1 if they are the same, about 0 if they "
        "agree no more than by chance, negative if less. Runs that learn all tasks together, or each "
        "alone, have no groups and are left out."
    )
    if len(runs) > MOST:
        caption += f" {len(runs) - MOST} of {len(runs)} runs with groups are left out: too many pairs."
    spec = _agreement_spec(comparison)
    return [FigureBlock("groups_agreement", "Agreement between groupings", caption, spec, rows)]


def _agreement_spec(comparison: Comparison) -> dict[str, Any]:
    scale = {"scheme": SEQUENTIAL, "domain": [0, 1], "clamp": True}
    legend = {"title": "adjusted Rand index", "orient": "bottom", "gradientLength": 200}
    colour = number("value", scale=scale, legend=legend)
    tips = [tip("name", "run"), tip("other_name", "and"), tip("value", "adjusted Rand index", ".4f")]
    names = run_names(comparison)
    return {
        "width": {"step": min(64, cell_width(comparison))},
        "height": {"step": CELL + 10},
        "encoding": {
            "x": run_columns(comparison) | {"field": "other_name"},
            "y": label("name", sort=names, axis=run_axis()),
            "tooltip": tips,
        },
        "layer": [
            {"mark": "rect", "encoding": {"color": colour}},
            text_layer(number("value", format=".2f"), "datum.value > 0.62"),
        ],
    }
