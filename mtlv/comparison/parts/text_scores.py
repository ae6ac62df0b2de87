"""Figure of the score over the tokens of texts that were read before or beside the labels."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.parts import capital, finite_mean_and_sd, of_run
from mtlv.comparison.parts.channels import dots, number, tip
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.evaluation.pairs import different_tasks
from mtlv.figures.palette import run_colour
from mtlv.reporting.metric_titles import plan_title

TOKENS = "train.texts.tokens/"
HOW = (
    "A dot is a run's mean over its folds and seeds on the test set, the line its standard deviation. Tokens "
    "are those of texts without labels, read in all stages without padding. Other differences between runs "
    "are not shown."
)


def text_scores(comparison: Comparison) -> list[FigureBlock]:
    """Build the figure; none if runs have different tasks, or all read the same number of tokens."""
    rows = []
    for run in [] if different_tasks(comparison) else comparison.runs:
        mean, sd = finite_mean_and_sd(run.mains)
        if mean is not None:
            row = {"tokens": tokens_read(run), "value": mean, "sd": sd, "n": len(run.mains)}
            rows.append(of_run(run) | row)
    if len({row["tokens"] for row in rows}) < 2:
        return []
    figure = plan_title(comparison)
    title = f"{capital(figure)} over tokens of texts"
    return [FigureBlock("curves_text_scores", title, HOW, _spec(comparison, figure), rows)]


def _spec(comparison: Comparison, figure: str) -> dict[str, Any]:
    axis = {"format": "~s", "grid": False, "tickCount": 5}
    y = number("value", scale={"zero": False}, title=f"test {figure}")
    tips = [
        tip("name", "run"), tip("tokens", "tokens", ",.0f"), tip("value", f"{figure}, mean", ".4f"),
        tip("sd", "standard deviation", ".4f"), tip("n", "n", "d"),
    ]  # fmt: skip
    bars = {
        "transform": [
            {"filter": "isValid(datum.sd)"},
            {"calculate": "datum.value - datum.sd", "as": "low"},
            {"calculate": "datum.value + datum.sd", "as": "high"},
        ],
        "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.8},
        "encoding": {"y": y | {"field": "low"}, "y2": {"field": "high"}},
    }
    x = number("tokens", title="tokens of texts read", axis=axis)
    return {
        "width": "container",
        "height": 260,
        "encoding": {"x": x, "color": run_colour(comparison)},
        "layer": [bars, {"mark": dots(90), "encoding": {"y": y, "tooltip": tips}}],
    }


def tokens_read(run: ComparedRun) -> float:
    """Return the tokens of texts that a run has read, the mean over its children; 0 without texts."""
    read = [
        sum(curve[-1][1] for key, curve in child.curves.items() if key.startswith(TOKENS) and curve)
        for child in run.children
    ]
    return fmean(read) if read else 0.0
