"""All measured groups: predicted and measured gains, and the scores of random partitions."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.parts import ROWS, of_run
from mtlv.comparison.parts.channels import GREY, ZERO, dots, number, of_rows, tip
from mtlv.figures.palette import RUNS
from mtlv.formatting import list_first, many
from mtlv_lab.predicted import Validated
from mtlv_lab.predictors import FEWEST, gains_of_others, of_partitions

CHOSEN = RUNS[1]


def scatter(found: Validated, id: str) -> list[FigureBlock]:
    """Build a scatter of the measured groups, each predicted from the others; [] without predictions."""
    rows = _groups(found)
    if len(rows) < FEWEST:
        return []
    own = _chosen(found)
    caption = (
        "A grey dot is a measured group: the mean over its tasks of their gain on validation, over their "
        "mean in the other measured groups. Predictions are from fits without the group. On the line, the "
        "prediction is right; if nothing can be predicted, the dots have no slope."
    )
    if own:
        caption += f" Coloured: the groups of “{found.run.name}”."
    elif not found.alike:
        caption += f" {apart(found)}, so its groups are not drawn here."
    title = "Measured groups, predicted from the others"
    return [FigureBlock(f"{id}_measured", title, caption, _scatter_spec(), [*rows, *own][:ROWS])]


def histogram(found: Validated, id: str) -> list[FigureBlock]:
    """Build a histogram of the random partitions, with the groups that follow if they were trained alike."""
    first = found.first
    scores = dict(zip(first.partitions, of_partitions(first, first.scores).tolist(), strict=True))
    if len(scores) < FEWEST:
        return []
    fold = next(iter(found.predictions))
    own = [each.validation for each in found.tasks if each.fold == fold and each.validation is not None]
    marked = first.alike and len(own) == len(first.tasks)
    rows = [of_run(found.run) | {"partition": name, "score": score} for name, score in scores.items()]
    count = many(len(scores), "random partition")
    said = [f"Mean validation score over tasks of {count}, by the metric that is logged per epoch."]
    if marked:
        mean = float(np.mean(own))
        better = sum(score >= mean for score in scores.values())
        rows.append(of_run(found.run) | {"partition": found.run.name, "score": mean, "chosen": True})
        said += [
            f"The line is “{found.run.name}”; {better} of them as good or better.",
            "It was chosen by scores on the same documents, so its place is no test: “Groups and random "
            "groups” compares test scores.",
        ]
    else:
        said.append(f"{apart(found)}, so it is not marked here.")
    caption = " ".join(said)
    return [FigureBlock(f"{id}_random", "Random partitions", caption, _histogram_spec(), rows)]


def _epochs(found: Validated) -> str:
    """Return the epochs of the measured groups in words."""
    low, high = found.first.epochs
    return many(low, "epoch") if low == high else f"{low} to {high} epochs"


def apart(found: Validated) -> str:
    """Say that the measured groups were trained otherwise than the run."""
    trained = found.run.params.get("training.epochs", "?")
    own = f"({_epochs(found)}) than “{found.run.name}” ({trained})"
    return f"The measured groups were trained with other settings {own}"


def _groups(found: Validated) -> list[dict[str, Any]]:
    rows = []
    for fold, prediction in found.predictions.items():
        for member, predicted, measured in zip(prediction.member, *gains_of_others(prediction), strict=True):
            known = np.isfinite(predicted) & np.isfinite(measured)
            if known.any():
                names = [name for name, own in zip(prediction.tasks, member, strict=True) if own]
                rows.append(_row(found, fold, names, predicted[known].mean(), measured[known].mean()))
    return rows


def _chosen(found: Validated) -> list[dict[str, Any]]:
    """Return the groups that follow, if they were trained as the measured ones."""
    rows = []
    for fold, prediction in found.predictions.items() if found.alike else ():
        for at, names in enumerate(prediction.groups):
            own = [each for each in found.both if (each.fold, each.group) == (fold, at)]
            if own:
                said = fmean(each.predicted_gain or 0.0 for each in own)
                came = fmean(each.validation_gain or 0.0 for each in own)
                rows.append(_row(found, fold, names, said, came) | {"chosen": True})
    return rows


def _row(found: Validated, fold: int, names: Any, predicted: float, measured: float) -> dict[str, Any]:
    return of_run(found.run) | {
        "fold": fold,
        "tasks": list_first(list(names), 6),
        "size": len(names),
        "predicted": float(predicted),
        "measured": float(measured),
    }


def gain_axes() -> dict[str, Any]:
    """Return axes of predicted and measured gain."""
    axis = {"format": "+.3~f", "tickCount": 6, "labelExpr": ZERO}
    scale = {"zero": False, "padding": 14}
    return {
        name: number(field, title=f"{field} gain", scale=scale, axis=axis)
        for name, field in (("x", "predicted"), ("y", "measured"))
    }


def diagonal() -> dict[str, Any]:
    """Return a layer with the line on which predictions are right, over the range of the predictions."""
    ends = [
        {"op": "min", "field": "predicted", "as": "from"},
        {"op": "max", "field": "predicted", "as": "to"},
    ]
    axes = gain_axes()
    return {
        "transform": [{"aggregate": ends}],
        "mark": {"type": "rule", "strokeDash": [5, 3], "color": GREY},
        "encoding": {
            "x": axes["x"] | {"field": "from"},
            "y": axes["y"] | {"field": "from"},
            "x2": {"field": "to"},
            "y2": {"field": "to"},
        },
    }


def _scatter_spec() -> dict[str, Any]:
    tips = [
        tip("tasks"), tip("size", "tasks in the group", "d"), tip("predicted", "predicted gain", "+.4f"),
        tip("measured", "measured gain", "+.4f"), tip("fold", "fold", "d"),
    ]  # fmt: skip
    axes = gain_axes() | {"tooltip": tips}
    return {
        "width": "container",
        "height": 320,
        "layer": [
            diagonal(),
            of_rows("!datum.chosen", {"mark": dots(55, color=GREY, opacity=0.6), "encoding": axes}),
            of_rows("datum.chosen", {"mark": dots(90, color=CHOSEN), "encoding": axes}),
        ],
    }


def _histogram_spec() -> dict[str, Any]:
    x = number(
        "score",
        title="validation score, mean over tasks",
        scale={"zero": False, "padding": 12},
        axis={"format": ".3~f", "tickCount": 8},
    )
    y = number("count", title="partitions", axis={"tickMinStep": 1})
    tips = [tip("partition"), tip("score", "validation score", ".4f")]
    of_bar = [tip("low", "from", ".4f"), tip("high", "to", ".4f"), tip("count", "partitions", "d")]
    name = {"type": "text", "align": "left", "dx": 6, "dy": 8, "baseline": "top"}
    named = {"x": x, "y": {"value": 0}, "text": {"field": "partition"}, "tooltip": tips}
    line = {"type": "rule", "strokeWidth": 3, "color": CHOSEN}
    return {
        "width": "container",
        "height": 200,
        "layer": [
            {
                "transform": [
                    {"filter": "!datum.chosen"},
                    {"bin": {"maxbins": 14}, "field": "score", "as": ["low", "high"]},
                    {"aggregate": [{"op": "count", "as": "count"}], "groupby": ["low", "high"]},
                ],
                "mark": {"type": "bar", "color": GREY, "opacity": 0.55},
                "encoding": {
                    "x": x | {"field": "low", "bin": "binned"},
                    "x2": {"field": "high"},
                    "y": y,
                    "tooltip": of_bar,
                },
            },
            of_rows("datum.chosen", {"mark": line, "encoding": {"x": x, "tooltip": tips}}),
            of_rows("datum.chosen", {"mark": name, "encoding": named}),
        ],
    }
