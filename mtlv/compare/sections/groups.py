"""Groups: which tasks were learned together, why so many groups, and how far groupings agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mtlv.compare.blocks import Block, Column, Figure, Section, Table, Text
from mtlv.compare.comparison import ComparedRun, Comparison
from mtlv.compare.palette import SEQUENTIAL, run_colour
from mtlv.compare.sections.heatmap import CELL, cell_width, few_enough, run_columns
from mtlv.compare.sections.parts import (
    first_panels,
    known,
    listed,
    of_run,
    run_axis,
    run_header,
    run_names,
    shown_first,
    tip,
)
from mtlv.compare.sections.task_maps import task_maps
from mtlv.compare.sections.together import Numbering, numbering, together

WIDTH, HEIGHT, COLUMNS = 210, 130, 4  # of an elbow, in pixels, and how many stand in a line
MOST = 40  # groupings of which every pair is compared: 1,600 cells
RECOMMENDED, CHOSEN, BOTH = "recommended by the elbow", "used by the run", "recommended and used"
MEASURES = (
    ("inertia", "Elbow: inertia by the number of groups", "inertia",
     "Inertia is the sum of distances of the tasks to the centre of their group: it always falls, and the "
     "elbow is where it stops falling fast. Each panel has its own scale, for distances in different vectors "
     "cannot be compared."),
    ("silhouette", "Silhouette by the number of groups", "silhouette",
     "The silhouette says how much nearer the tasks are to their own group than to the next one, from -1 to "
     "1; higher is better."),
)  # fmt: skip
MARKS = "A ring marks the number that the elbow recommends, a square the one used, a diamond both in one."


def build(comparison: Comparison) -> Section | None:
    """The section; nothing where no run has a plan."""
    given = numbering(comparison)
    runs = [run for run in comparison.runs if run.groups]
    blocks: list[Block] = [*_elsewhere(comparison), *together(comparison, given), *_table(runs, given)]
    blocks += [figure for measure in MEASURES for figure in _elbows(comparison, *measure)]
    blocks += [*task_maps(comparison, given), *_agreement(comparison, runs), *_stability(runs)]
    intro = (
        "Which tasks share a head or a model, how the number of groups was chosen, and how stable groups are."
    )
    return Section("groups", "Groups", intro, blocks) if together(comparison, given) else None


def _elsewhere(comparison: Comparison) -> list[Text]:
    """A word on runs whose folds have different groups."""
    names = [f"“{run.name}”" for run in comparison.runs if run.elsewhere]
    if not names:
        return []
    said = f"In {listed(names)} other folds came to other groups; those of the first fold are shown."
    return [Text(said, "warning")]


def _table(runs: Sequence[ComparedRun], given: Numbering) -> list[Table]:
    """Groups as text, with the reason for their number."""
    rows = [row for run in runs for row in _group_rows(run, given)]
    if not rows:
        return []
    columns = [
        Column("name", "run", kind="text"),
        Column("group", "group", kind="text"),
        Column("tasks", "tasks", digits=0),
        Column("names", "names", kind="text"),
        Column("medoid", "most central", kind="text"),
        Column("reason", "why so many groups", kind="text"),
    ]
    if not any(row["medoid"] for row in rows):
        del columns[4]
    caption = "The groups of each run, numbered as in the figure above, and why there are so many of them."
    return [Table("groups", "Groups", caption, columns, rows)]


def _group_rows(run: ComparedRun, given: Numbering) -> list[dict[str, Any]]:
    groups = run.groups
    if groups is None:
        return []
    numbers = {frozenset(head): str(n) for head, n in given.numbers.get(run.key, {}).items()}
    rows = []
    for at, members in enumerate(groups.groups):
        row = {"group": numbers.get(frozenset(members), str(at + 1)), "tasks": len(members)}
        row |= {"names": ", ".join(members), "reason": groups.reason}
        row["medoid"] = next((task for task in groups.medoids if task in members), "")
        rows.append(of_run(run) | row)
    return sorted(rows, key=lambda row: int(row["group"]))


def _elbows(comparison: Comparison, field: str, title: str, axis: str, meaning: str) -> list[Figure]:
    """A panel per run that has a curve."""
    rows = [row for at, run in enumerate(comparison.runs) for row in _elbow_rows(run, at, field)]
    if not rows:
        return []
    caption = f"{meaning} {MARKS}"
    spec = _elbow_spec(comparison, axis)
    return [Figure(f"groups_{field}", title, caption, spec, rows, wide=True)]


def _elbow_rows(run: ComparedRun, at: int, field: str) -> list[dict[str, Any]]:
    groups = run.groups
    if groups is None:
        return []
    values = {k: pair[field == "silhouette"] for k, pair in sorted(groups.elbow.items())}
    chosen = len(groups.groups)
    return [
        of_run(run) | {"order": at, "k": k, "value": value, "mark": _mark(k, chosen, groups.recommended)}
        for k, value in values.items()
        if known(value) is not None
    ]


def _mark(k: int, chosen: int, recommended: int | None) -> str:
    if k == recommended:
        return BOTH if k == chosen else RECOMMENDED
    return CHOSEN if k == chosen else ""


def _elbow_spec(comparison: Comparison, axis: str) -> dict[str, Any]:
    colour = run_colour(comparison) | {"legend": None}
    x: dict[str, Any] = {"field": "k", "type": "quantitative", "title": "number of groups k"}
    x |= {
        "axis": {"tickMinStep": 1, "format": "d", "grid": False, "tickCount": 8},
        "scale": {"nice": False, "padding": 8},
    }
    y = {
        "field": "value",
        "type": "quantitative",
        "title": axis,
        "scale": {"zero": False},
        "axis": {"tickCount": 4},
    }
    tips = [
        tip("name", "run"),
        tip("k", "groups", "d"),
        tip("value", axis, ".4f"),
        tip("mark", "this number is"),
    ]
    shape = {
        "field": "mark", "type": "nominal",
        "scale": {"domain": [RECOMMENDED, CHOSEN, BOTH], "range": ["circle", "square", "diamond"]},
        "legend": {"title": None, "orient": "top", "symbolStrokeColor": "#7F7F7F", "labelLimit": 300},
    }  # fmt: skip
    return {
        "columns": COLUMNS,
        "transform": first_panels("order"),
        "facet": {
            "field": "name", "type": "nominal", "sort": {"field": "order", "op": "min"},
            "header": run_header(WIDTH + 40),
        },
        "spacing": {"row": 16, "column": 14},
        "resolve": {"scale": {"y": "independent"}},
        "spec": {
            "width": WIDTH,
            "height": HEIGHT,
            "encoding": {"x": x, "y": y, "color": colour, "tooltip": tips},
            "layer": [
                {"mark": {"type": "line", "strokeWidth": 2}},
                {"mark": {"type": "point", "filled": True, "size": 25, "opacity": 1}},
                {
                    "transform": [{"filter": "datum.mark"}],
                    "mark": {"type": "point", "filled": False, "size": 170, "strokeWidth": 2.2, "opacity": 1},
                    "encoding": {"shape": shape},
                },
            ],
        },
    }  # fmt: skip


def agreement(left: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> float | None:
    """Adjusted Rand index of two groupings on the tasks that both have: 1 the same, 0 as by chance.

    Nothing where they have fewer than two tasks in common.
    """
    from sklearn.metrics import adjusted_rand_score

    one, two = _places(left), _places(right)
    common = sorted(one.keys() & two.keys())
    if len(common) < 2:
        return None
    return float(adjusted_rand_score([one[task] for task in common], [two[task] for task in common]))


def _places(groups: Sequence[Sequence[str]]) -> Mapping[str, int]:
    return {task: at for at, members in enumerate(groups) for task in members}


def _agreement(comparison: Comparison, runs: Sequence[ComparedRun]) -> list[Figure]:
    """Every pair of runs with groups; nothing where there is no pair."""
    chosen = {run.key for run in [run for run in shown_first(comparison) if run.groups][:MOST]}
    kept = [run for run in runs if run.key in chosen]
    if len(kept) < 2:
        return []
    found: dict[tuple[Any, Any], float | None] = {}
    rows = []
    for run in kept:
        for other in kept:
            pair = (run.groups.groups if run.groups else (), other.groups.groups if other.groups else ())
            if pair not in found:
                found[pair] = agreement(*pair)
            if found[pair] is not None:
                rows.append(
                    of_run(run) | {"other": other.key, "other_name": other.name, "value": found[pair]}
                )
    caption = (
        "Adjusted Rand index between the groups of two runs: 1 where they are the same, about 0 where they "
        "agree no more than chance would, below 0 where less. Runs that learn all tasks together, or each "
        "alone, have no groups and are left out."
    )
    if len(runs) > MOST:
        caption += f" {len(runs) - MOST} of {len(runs)} runs with groups are left out: too many pairs."
    spec = _agreement_spec(comparison)
    return [Figure("groups_agreement", "Agreement between groupings", caption, spec, rows)]


def _agreement_spec(comparison: Comparison) -> dict[str, Any]:
    colour = {
        "field": "value", "type": "quantitative",
        "scale": {"scheme": SEQUENTIAL, "domain": [0, 1], "clamp": True},
        "legend": {"title": "adjusted Rand index", "orient": "bottom", "gradientLength": 200},
    }  # fmt: skip
    ink = {"condition": {"test": "datum.value > 0.62", "value": "#111111"}, "value": "#ffffff"}
    tips = [tip("name", "run"), tip("other_name", "and"), tip("value", "adjusted Rand index", ".4f")]
    names = run_names(comparison)
    return {
        "width": {"step": min(64, cell_width(comparison))},
        "height": {"step": CELL + 10},
        "encoding": {
            "x": run_columns(comparison) | {"field": "other_name"},
            "y": {"field": "name", "type": "nominal", "sort": names, "axis": run_axis()},
            "tooltip": tips,
        },
        "layer": [
            {"mark": "rect", "encoding": {"color": colour}},
            {
                "transform": few_enough(),
                "mark": {"type": "text", "fontSize": 11},
                "encoding": {
                    "text": {"field": "value", "type": "quantitative", "format": ".2f"},
                    "color": ink,
                },
            },
        ],
    }


def _stability(runs: Sequence[ComparedRun]) -> list[Table]:
    """How much each grouping changes when a detail of its recipe does."""
    rows = [
        of_run(run) | {"change": change, "value": known(value)}
        for run in runs
        if run.groups
        for change, value in run.groups.stability.items()
    ]
    if not rows:
        return []
    columns = [
        Column("name", "run", kind="text"),
        Column("change", "with one thing changed", kind="text"),
        Column("value", "adjusted Rand index", digits=2),
    ]
    caption = (
        "Adjusted Rand index between a run's groups and those that the same method finds when one detail of "
        "its recipe is changed: 1 is the same grouping, 0 is chance. Groups that change with a detail say "
        "little about the tasks."
    )
    return [Table("groups_stability", "How stable the groups are", caption, columns, rows)]
