"""The pictures beside the answer: what each task gains under each run, and what each run costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtlv.comparison.blocks import FigureBlock, Row
from mtlv.comparison.pairwise_tests import gain_intervals
from mtlv.comparison.parts import finite_mean, of_run
from mtlv.comparison.parts.channels import count_runs, label, number, of_rows, run_names, task_axis, tip
from mtlv.comparison.parts.heatmap import CELL, gain_scale, ink, is_pale, slanted_axis
from mtlv.comparison.sections.cost import SMALL_HEIGHT, named_costs
from mtlv.evaluation.compared_runs import Comparison
from mtlv.evaluation.pairs import comparable
from mtlv.reporting.metric_titles import main_title

NAMED_TASKS = 26  # with more, rows are thinner, and as many names are shown as there is room for
NUMBER_WIDTH = 38  # pixels; in narrower cells, clear gains are marked by a dot instead of numbers
TEXT = {"type": "text", "fontSize": 11}
LONGEST_TASK, LONGEST_RUN = 150, 90  # pixels of a name; that of a run is slanted


def key_figures(comparison: Comparison, first: Sequence[str] = ()) -> list[FigureBlock]:
    """Return the figures that stand beside the answer; [] where nothing is known.

    Args:
        comparison: the runs.
        first: names of the tasks that come first, such as those of each group side by side.
    """
    rows = _rows(comparison)
    if not rows:
        return named_costs(comparison)
    base, metric = comparison.run(comparison.baseline).name, main_title(comparison.tasks)
    caption = (
        f"Blue cells gain over “{base}”, orange cells lose. Bold numbers, or dots where there are many runs, "
        "mark gains and losses whose 95% interval over resampled test documents does not contain 0; it is "
        "not corrected for the number of tasks and runs. The section Tasks has the same for any baseline."
    )
    title = f"Gain in {metric} over “{base}”"  # so that it stays true if another baseline is chosen
    gains = FigureBlock(
        "answer_gain", title, caption, _spec(comparison, rows, metric, first), rows, is_key=True
    )
    return [gains, *named_costs(comparison)]


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    base = comparison.run(comparison.baseline)
    intervals = gain_intervals(comparison)
    rows = []
    for run in comparison.runs:
        if run is base or not comparable(run, base):
            continue
        for task in comparison.tasks:
            mean, of_base = (finite_mean(one.of_task(task.name, task.main_metric)) for one in (run, base))
            if mean is None or of_base is None:
                continue
            interval = intervals.get((run.key, task.name))
            row: dict[str, Any] = {"task": task.name, "gain": mean - of_base}
            row |= {"clear": interval is not None and interval.without_zero}
            row |= {"low": interval.low, "high": interval.high} if interval else {}
            rows.append(of_run(run) | row)
    return rows


def _spec(comparison: Comparison, rows: Sequence[Row], metric: str, first: Sequence[str]) -> dict[str, Any]:
    reach = max(0.01, *(abs(row["gain"]) for row in rows))
    tasks = list(dict.fromkeys([*first, *(task.name for task in comparison.tasks)]))
    axis = task_axis(labelLimit=LONGEST_TASK, labelOverlap=len(tasks) > NAMED_TASKS)
    tips = [tip("task"), tip("name", "run"), tip("gain", f"gain in {metric}", "+.4f")]
    tips += [tip("low", "95% interval, from", "+.4f"), tip("high", "to", "+.4f")]
    bold = TEXT | {"fontWeight": "bold"}
    text = {"color": ink(is_pale("gain", reach))}
    few, many = (f"width {than} {NUMBER_WIDTH} * datum.runs" for than in (">=", "<"))
    numbers = text | {"text": label("shown")}
    shown = "abs(datum.gain) < 0.005 ? '0' : format(datum.gain, '+.2f')"
    return {
        "width": "container",
        "padding": {"left": 0, "top": 0, "right": 24, "bottom": 0},  # for the end of the last slanted name
        "height": {"step": CELL} if len(tasks) <= NAMED_TASKS else SMALL_HEIGHT,
        "transform": [count_runs(), {"calculate": shown, "as": "shown"}],
        "encoding": {
            "x": label("name", sort=run_names(comparison), axis=slanted_axis(None, LONGEST_RUN)),
            "y": label("task", sort=tasks, axis=axis),
            "tooltip": tips,
        },
        "layer": [
            {"mark": "rect", "encoding": {"color": number("gain", scale=gain_scale(reach), legend=None)}},
            of_rows(f"{few} && !datum.clear", {"mark": TEXT, "encoding": numbers}),
            of_rows(f"{few} && datum.clear", {"mark": bold, "encoding": numbers}),
            of_rows(f"{many} && datum.clear", {"mark": TEXT, "encoding": text | {"text": {"value": "•"}}}),
        ],
    }
