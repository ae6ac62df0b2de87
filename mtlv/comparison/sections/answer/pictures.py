"""The pictures beside the answer: what each task gains under each run, and what each run costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtlv.comparison.blocks import FigureBlock, Row
from mtlv.comparison.pairwise_tests import gain_intervals
from mtlv.comparison.parts import finite_mean, of_run
from mtlv.comparison.parts.channels import count_runs, label, number, of_rows, run_names, task_axis, tip
from mtlv.comparison.parts.heatmap import CELL, ink, slanted_axis
from mtlv.comparison.sections.cost import SMALL_HEIGHT, named_costs
from mtlv.evaluation.compared_runs import Comparison
from mtlv.figures.palette import DIVERGING
from mtlv.reporting.metric_titles import main_title

NAMED_TASKS = 26  # with more, rows are thinner, and as many names are shown as there is room for
NUMBERED_RUNS = 6  # with more, clear gains are marked by a dot instead of numbers
LONGEST_TASK, LONGEST_RUN = 150, 90  # pixels of a name; that of a run is slanted


def key_figures(comparison: Comparison) -> list[FigureBlock]:
    """Return the figures that stand beside the answer; [] where nothing is known."""
    return [*_gains(comparison), *named_costs(comparison)]


def _gains(comparison: Comparison) -> list[FigureBlock]:
    """Build a heat map of the gains over the first baseline: its title names it, so that it stays true."""
    rows = _rows(comparison)
    if not rows:
        return []
    base, metric = comparison.run(comparison.baseline).name, main_title(comparison.tasks)
    caption = (
        f"Blue cells gain over “{base}”, orange cells lose. Bold numbers, or dots where there are many runs, "
        "mark gains and losses whose 95% interval over resampled test documents does not contain 0; it is "
        "not corrected for the number of tasks and runs. The section Tasks has the same for any baseline."
    )
    title = f"Gain in {metric} over “{base}”"
    return [FigureBlock("answer_gain", title, caption, _spec(comparison, rows, metric), rows, is_key=True)]


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    base = comparison.run(comparison.baseline)
    intervals = gain_intervals(comparison)
    rows = []
    for run in comparison.runs:
        for task in comparison.tasks:
            ends = [finite_mean(one.of_task(task.name, task.main_metric)) for one in (run, base)]
            if run is base or ends[0] is None or ends[1] is None:
                continue
            interval = intervals.get((run.key, task.name))
            row = {"task": task.name, "gain": ends[0] - ends[1], "support": task.support}
            row |= {"clear": interval is not None and interval.without_zero}
            row |= {"low": interval.low, "high": interval.high} if interval else {}
            rows.append(of_run(run) | row)
    return rows


def _spec(comparison: Comparison, rows: Sequence[Row], metric: str) -> dict[str, Any]:
    reach = max(0.01, *(abs(row["gain"]) for row in rows))
    tasks = [task.name for task in comparison.tasks]
    axis = task_axis(labelLimit=LONGEST_TASK, labelOverlap=len(tasks) > NAMED_TASKS)
    scale = {"type": "linear", "range": list(DIVERGING), "domain": [-reach, 0, reach]}
    tips = [tip("task"), tip("name", "run"), tip("gain", f"gain in {metric}", "+.4f")]
    tips += [tip("low", "95% interval, from", "+.4f"), tip("high", "to", "+.4f")]
    text = {"color": ink(f"abs(datum.gain) < {0.62 * reach:.4f}")}
    few, many = (f"datum.runs {than} {NUMBERED_RUNS}" for than in ("<=", ">"))
    numbers = text | {"text": label("shown")}
    shown = "abs(datum.gain) < 0.005 ? '0' : format(datum.gain, '+.2f')"
    return {
        "width": "container",
        "height": {"step": CELL} if len(tasks) <= NAMED_TASKS else SMALL_HEIGHT,
        "transform": [
            count_runs(),
            {"calculate": shown, "as": "shown"},
        ],
        "encoding": {
            "x": label("name", sort=run_names(comparison), axis=slanted_axis(None, LONGEST_RUN)),
            "y": label("task", sort=tasks, axis=axis),
            "tooltip": tips,
        },
        "layer": [
            {"mark": "rect", "encoding": {"color": number("gain", scale=scale, legend=None)}},
            of_rows(f"{few} && !datum.clear", {"mark": _text(), "encoding": numbers}),
            of_rows(f"{few} && datum.clear", {"mark": _text(fontWeight="bold"), "encoding": numbers}),
            of_rows(f"{many} && datum.clear", {"mark": _text(), "encoding": text | {"text": {"value": "•"}}}),
        ],
    }


def _text(**more: str) -> dict[str, Any]:
    return {"type": "text", "fontSize": 11} | more
