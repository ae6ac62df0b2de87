"""Quality against cost: macro F1 or the score over training and size, and the Pareto fronts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mtlv.comparison.blocks import FigureBlock, Section, TextBlock
from mtlv.comparison.parts import (
    capital,
    finite_mean,
    finite_mean_and_sd,
    join_with_and,
    learned_nothing,
    of_run,
)
from mtlv.comparison.parts.channels import GREY, count_runs, dots, label, number, of_rows, tip, with_value
from mtlv.comparison.parts.costs import DOCUMENTS, CostUnit, cost_unit, describe_unit
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.evaluation.pairs import different_tasks
from mtlv.figures.palette import run_colour
from mtlv.reporting.learned_words import NOTHING
from mtlv.reporting.metric_titles import DIFFERENT_TASKS, plan_title


@dataclass(frozen=True)
class Cost:
    """A cost on the horizontal axis of a figure."""

    key: str  # key of the figure
    field: str  # of a row
    title: str  # title of the axis
    over: str  # the cost, in the figure's title
    about: str  # what it is, in the caption


SIZE = Cost(
    "size",
    "millions",
    "parameters, millions",
    "parameters",
    "Parameters are those that were trained, of all models with which a run predicts.",
)
LINEAR = (
    30  # maximum of the highest cost over the lowest for an axis that starts at 0; else it is logarithmic
)
SAME = 1.01  # sizes that differ by less are not drawn: groups differ by their heads only
TITLE = "Cost against quality"
INTRO = "How much more training improves the results, and which runs cost more and are no better."
HEIGHT, EDGE = 320, 24  # pixels of the figure, and between the outermost dots and the frame
SMALL_HEIGHT, LONGEST_NAME = 300, 110  # pixels of the figure with names, and of a name
MOST_NAMED = 6  # maximum number of runs named in the finding and in the figure with names


def build(comparison: Comparison) -> Section | None:
    """Build the section; None for a single run, and if none has both a main score and a known cost."""
    if len(comparison.runs) < 2:
        return None
    rows = _rows(comparison)
    if not rows:
        return None
    intro = f"{INTRO} {describe_unit(comparison)}"
    if comparison.scored and different_tasks(comparison):
        text = (
            f"{DIFFERENT_TASKS}, so their scores cannot be compared. The overview has the cost of each run."
        )
        return Section("cost", TITLE, intro, [TextBlock(text)])
    figure = plan_title(comparison)
    sizes = [row["millions"] for row in rows if row["millions"] is not None]
    sized = len(sizes) == len(rows) and max(sizes) > SAME * min(sizes)
    costs = [_training(comparison), *([SIZE] if sized else [])]
    drawings = [_drawing(comparison, cost, rows) for cost in costs]
    text = _finding(comparison, rows, figure)
    return Section("cost", TITLE, intro, [TextBlock(text, "finding"), *drawings])


def named_costs(comparison: Comparison) -> list[FigureBlock]:
    """Build a smaller figure of the cost of training, with names of a few runs in place of a legend."""
    rows = _rows(comparison)
    if not rows:
        return []
    cost = _training(comparison)
    spec = _spec(comparison, cost, rows, has_names=True) | {"height": SMALL_HEIGHT}
    return [replace(_drawing(comparison, cost, rows), id="answer_cost", spec=spec, is_key=True)]


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    unit = cost_unit(comparison)
    return [row for run in comparison.runs if (row := _row(run, unit)) is not None]


def _training(comparison: Comparison) -> Cost:
    unit = cost_unit(comparison)
    title = unit.what if unit is DOCUMENTS else f"{unit.what}, {unit.name}"
    about = (
        f"{describe_unit(comparison)} It is the total of all models of a run and of its earlier stages, such "
        "as teachers or pretraining."
    )
    return Cost("cost", unit.name, title, unit.what, about)


def _drawing(comparison: Comparison, cost: Cost, rows: Sequence[Mapping[str, Any]]) -> FigureBlock:
    figure = plan_title(comparison)
    return FigureBlock(
        cost.key,
        f"{capital(figure)} over {cost.over}",
        "Each dot is a run: higher is better, further left is cheaper. It is the mean over folds and seeds, "
        f"with a bar of one standard deviation of the {figure} if there are several. {cost.about} The steps "
        f"are the Pareto front of the runs that are switched on: the best {figure} for a given cost. Runs on "
        "the front have filled dots; for a hollow dot, another run costs no more and is at least as good.",
        _spec(comparison, cost, rows),
        rows,
    )


def _finding(comparison: Comparison, rows: Sequence[Mapping[str, Any]], figure: str) -> str:
    """Describe the front of the runs that learned something."""
    unranked = {run.key for run in learned_nothing(comparison)}
    ranked = [row for row in rows if row["run"] not in unranked]
    if not ranked:
        return NOTHING
    left = f" Left out, because nothing was learned: {len(unranked)} of {len(comparison.runs)} runs."
    on_front = describe_front(ranked, cost_unit(comparison), figure)
    return f"{on_front}{left if unranked else ''}"


def _row(run: ComparedRun, unit: CostUnit) -> dict[str, Any] | None:
    costs = [value / unit.size for value in unit.values(run)]
    (score, score_sd), (cost, cost_sd) = map(finite_mean_and_sd, (run.mains, costs))
    if score is None or cost is None or cost <= 0:
        return None
    row = of_run(run) | {"score": score, unit.name: cost, "children": len(run.mains)}
    row |= {"score_sd": score_sd, f"{unit.name}_sd": cost_sd}
    if score_sd is not None:
        row |= {"low": score - score_sd, "high": score + score_sd}
    parameters = finite_mean(run.values("cost/parameters"))
    return row | {"millions": parameters and parameters / 1e6}


def front(rows: Sequence[Mapping[str, Any]], field: str) -> list[Mapping[str, Any]]:
    """Return the rows that are better than every cheaper one, by the cost in a field, cheapest first."""
    out: list[Mapping[str, Any]] = []
    for row in sorted(rows, key=lambda row: (row[field], -row["score"])):
        if not out or row["score"] > out[-1]["score"]:
            out.append(row)
    return out


def describe_front(rows: Sequence[Mapping[str, Any]], unit: CostUnit, figure: str = "macro F1") -> str:
    """Describe the runs on the front."""
    best = front(rows, unit.name)
    named = [f"“{row['name']}” ({unit.describe(row[unit.name])}, {row['score']:.3f})" for row in best]
    if len(rows) == 1:
        return f"There is only one run to judge: {named[0]}."
    if len(named) > MOST_NAMED:
        named = [*named[: MOST_NAMED - 1], f"{len(named) - MOST_NAMED} more", named[-1]]
    if len(best) == 1:
        return f"{named[0]} is both the cheapest and the best of {len(rows)} runs."
    return (
        f"{len(best)} of {len(rows)} runs have a higher {figure} than every cheaper run (the Pareto front). "
        f"From cheap to expensive: {join_with_and(named)}."
    )


def _spec(
    comparison: Comparison, cost: Cost, rows: Sequence[Mapping[str, Any]], *, has_names: bool = False
) -> dict[str, Any]:
    figure, costs = plan_title(comparison), [row[cost.field] for row in rows]
    is_log = max(costs) > LINEAR * min(costs)
    x = number(
        cost.field,
        title=f"{cost.title}{', logarithmic' if is_log else ''}",
        scale={"type": "log", "nice": False, "padding": EDGE} if is_log else {"zero": True},
        axis={"format": ",.6~r", "tickCount": 6, "labelOverlap": True, "labelSeparation": 4},
    )
    y = number(
        "score",
        title=f"{figure} on the test set",
        scale={"zero": False, "nice": False, "padding": EDGE},
        axis={"format": ".6~f"},
    )
    colour = run_colour(comparison) | ({"legend": None} if has_names else {})
    # Names of neighbours are above and below by turns, so that they do not overlap.
    names = [
        of_rows(
            f"datum.runs <= {MOST_NAMED} && datum.place % 2 == {turn}",
            {
                "mark": {"type": "text", "dy": dy, "limit": LONGEST_NAME},
                "encoding": {"x": x, "y": y, "text": label("name")},
            },
        )
        for turn, dy in ((1, -13), (0, 15))
    ]
    at = {"x": x, "y": y, "tooltip": _tips(figure, cost_unit(comparison))}
    bar = {"type": "rule", "strokeWidth": 1.5, "opacity": 0.6}
    spread = {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"}, "color": colour}
    on_front = {"condition": {"test": "datum.on_front", "value": 1}, "value": 0}
    filled = {"type": "point", "filled": True, "size": 110}
    return {
        "width": "container",
        "height": HEIGHT,
        "transform": [*_front_transforms(cost.field), count_runs()],
        "layer": [
            _front_steps(cost, figure, x, y),
            with_value("low", {"mark": bar, "encoding": spread}),
            {"mark": dots(110, filled=False, strokeWidth=2.5), "encoding": at | {"color": colour}},
            {"mark": filled, "encoding": at | {"color": colour, "opacity": on_front}},
            *(names if has_names else []),
        ],
    }


def _front_steps(cost: Cost, figure: str, x: Mapping[str, Any], y: Mapping[str, Any]) -> dict[str, Any]:
    """Return the steps of the Pareto front, with the best score up to each cost."""
    best = [tip("best", f"best {figure} so far", ".4f"), tip(cost.field, f"at most, {cost.title}", ",.2f")]
    mark = {"type": "line", "interpolate": "step-after", "strokeDash": [5, 3], "color": GREY, "opacity": 0.6}
    return {"mark": mark, "encoding": {"x": x, "y": {**y, "field": "best"}, "tooltip": best}}


def _front_transforms(cost: str) -> list[dict[str, Any]]:
    """Compute the front of the visible rows in Vega, so that it follows the switches; as `front`."""
    order = [{"field": cost}, {"field": "score", "order": "descending"}]
    return [
        {"window": [{"op": "max", "field": "score", "as": "best"}], "sort": order, "frame": [None, 0]},
        {
            "window": [{"op": "lag", "field": "best", "as": "before"}, {"op": "row_number", "as": "place"}],
            "sort": order,
        },
        {"calculate": "!isValid(datum.before) || datum.score > datum.before", "as": "on_front"},
    ]


def _tips(figure: str, unit: CostUnit) -> list[dict[str, str]]:
    return [
        tip("name", "run"),
        tip("score", figure, ".4f"),
        tip("score_sd", "standard deviation", ".4f"),
        tip(unit.name, unit.title, f",.{unit.digits + 1}f"),
        tip(f"{unit.name}_sd", f"standard deviation, {unit.name}", f",.{unit.digits + 1}f"),
        tip("millions", SIZE.title, ",.2f"),
        tip("children", "folds and seeds", "d"),
    ]
