"""Tasks: their main metric under every run, and the gain over the baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import floor
from typing import Any

from mtlv.comparison.blocks import (
    Baseline,
    Block,
    FigureBlock,
    Row,
    Section,
    TableBlock,
    TableColumn,
    TextBlock,
)
from mtlv.comparison.pairwise_tests import gain_intervals
from mtlv.comparison.parts import (
    capital,
    finite_mean,
    finite_mean_and_sd,
    finite_or_none,
    join_with_and,
    learned_nothing,
    of_run,
)
from mtlv.comparison.parts.channels import dots, number, tip
from mtlv.comparison.parts.heatmap import HeatmapCells, gain_scale, heatmap, is_pale
from mtlv.comparison.same_documents import same_documents
from mtlv.comparison.verdict_words import format_signed, interval_text
from mtlv.evaluation.compared_runs import ComparedRun, Comparison, TaskInfo
from mtlv.evaluation.metrics import SHOWN_OF_TASKS
from mtlv.evaluation.pairs import tasks_of
from mtlv.evaluation.scoring import SCORING, all_need_thresholds
from mtlv.evaluation.significance import ALPHA, Interval
from mtlv.figures.palette import SEQUENTIAL, run_colour
from mtlv.formatting import list_first
from mtlv.reporting.metric_titles import (
    SEVERAL,
    describe_main_metrics,
    describe_support,
    main_title,
    metric_title,
)

LEAST = 4  # minimum number of yes/no tasks, if there are others, for the figure of rare and frequent ones
OF_LABELS = (
    *(TableColumn(name, metric_title(name)) for name in SHOWN_OF_TASKS),
    TableColumn("threshold", "threshold", digits=2),
)
OF_OTHERS = (TableColumn("others", "other metrics", kind="text"),)
BASELINE = Baseline("value", ("task",))
NAMED = 3  # maximum tasks named for the largest gains and losses


def build(comparison: Comparison) -> Section | None:
    """Build the section; None if no run has metrics of tasks."""
    every = ((run, task) for run in comparison.runs for task in comparison.tasks)
    rows = [
        row for run, task in every for row in _rows(run, task, joint=all_need_thresholds(comparison.tasks))
    ]
    if not rows:
        return None
    intervals = gain_intervals(comparison)
    for row in rows:
        if interval := intervals.get((row["run"], row["task"])):
            row["interval"] = interval_text(interval.low, interval.high)
    blocks: list[Block] = [_main(comparison, rows)]
    intro = "How well the run predicts each task."
    if len(comparison.runs) > 1:
        intro = "How well each run predicts each task, and which tasks gain or lose relative to another run."
        blocks = [
            *_finding(comparison, rows, intervals),
            *_alike(comparison),
            *blocks,
            _gain(comparison, rows),
            *_scatter(comparison, rows),
        ]
    blocks.append(_table(comparison, rows))
    return Section("tasks", "Tasks", intro, blocks)


def _rows(run: ComparedRun, task: TaskInfo, *, joint: bool) -> list[dict[str, Any]]:
    """Return mean metrics of a task over a run's children; [] if it has none."""
    values = run.of_task(task.name, task.main_metric)
    mean, sd = finite_mean_and_sd(values)
    if mean is None:
        return []
    figures: dict[str, Any] = {"judged_by": metric_title(task.main_metric), "others": _others(run, task)}
    if joint:
        figures = {column.key: finite_mean(run.of_task(task.name, column.key)) for column in OF_LABELS}
    fields = {"task": task.name, "value": mean, "sd": sd, "children": len(values)}
    fields |= {"support": finite_or_none(task.support), "frequency": finite_or_none(task.frequency)}
    return [of_run(run) | fields | figures]


def _others(run: ComparedRun, task: TaskInfo) -> str:
    """Return further metrics of a task as text: each kind has others, too many for columns."""
    names = dict.fromkeys(name for child in run.children for name in child.tasks.get(task.name, {}))
    others = [name for name in names if name not in (task.main_metric, "support")]
    means = {name: finite_mean(run.of_task(task.name, name)) for name in others}
    return ", ".join(f"{metric_title(name)} {mean:.3f}" for name, mean in means.items() if mean is not None)


def _only(rows: Sequence[Row], *fields: str) -> list[Row]:
    """Reduce rows to the fields that a figure reads."""
    return [{name: row[name] for name in ("run", "name", "task", "value", *fields)} for row in rows]


def _main(comparison: Comparison, rows: Sequence[Row]) -> FigureBlock:
    figure = main_title(comparison.tasks)
    lowest = min(0.9, floor(10 * min(row["value"] for row in rows)) / 10)
    cells = HeatmapCells(
        "value",
        ".2f",
        {"type": "linear", "scheme": SEQUENTIAL, "domain": [lowest, 1]},
        figure,
        dark_text=f"datum.value > {lowest + 0.62 * (1 - lowest):.4f}",
        tips=(
            *_judged_tip(comparison),
            tip("value", f"{figure}, mean", ".4f"),
            tip("sd", "standard deviation", ".4f"),
            tip("children", "n", "d"),
        ),
    )
    title = f"{capital(figure)} of each task"
    caption = f"{title} on the test set, mean over a run's folds and seeds{_how(comparison)}"
    spec = heatmap(comparison, cells)
    fields = (*(line["field"] for line in _judged_tip(comparison)), "sd", "children", "support")
    return FigureBlock("tasks_f1", title, caption, spec, _only(rows, *fields), wide=True)


def _judged_tip(comparison: Comparison) -> list[dict[str, str]]:
    return [tip("judged_by", "main metric")] if main_title(comparison.tasks) == SEVERAL else []


def _how(comparison: Comparison) -> str:
    """Return the rest of a caption: the source of the metrics and the meaning of the bars."""
    order = "Tasks are sorted by support"
    if all_need_thresholds(comparison.tasks):
        return (
            f", at thresholds fitted on validation documents. {order}: the number of test documents that "
            "have the label, shown on the left. Brighter is better."
        )
    of_labels = ", of a yes/no task the positive ones" if _with_positive(comparison) else ""
    words = describe_main_metrics(comparison.tasks)
    return (
        f". {words}{' ' if words else ''}{order}: the number of test documents with a target{of_labels}, "
        "shown on the left. Brighter is better."
    )


def _gain(comparison: Comparison, rows: Sequence[Row]) -> FigureBlock:
    reach, figure = _reach(rows), main_title(comparison.tasks)
    of_base = tasks_of(comparison.run(comparison.baseline))
    has_gaps = any(tasks_of(run) - of_base for run in comparison.runs)
    cells = HeatmapCells(
        "delta",
        "+.2f",
        gain_scale(reach),
        f"gain in {figure}",
        dark_text=is_pale("delta", reach),
        tips=(
            *_judged_tip(comparison),
            tip("delta", f"gain in {figure}", "+.4f"),
            tip("value", f"{figure}, mean", ".4f"),
        ),
    )
    of = "label" if figure == "F1" else "task"
    caption = (
        f"{capital(figure)} of each task minus that of the baseline run: blue cells gain, orange cells "
        "lose, pale cells hardly change. The scale is symmetric and the same for every baseline; the "
        f"baseline's own column is 0. A gain on a {of} with little support is based on few documents."
        + (" Tasks on which the baseline run was not tested have no cells." if has_gaps else "")
    )
    spec = heatmap(comparison, cells)
    title = "Gain over the baseline, task by task"
    shown = _only(rows, *(line["field"] for line in _judged_tip(comparison)), "support")
    return FigureBlock("tasks_gain", title, caption, spec, shown, BASELINE, wide=True, is_key=True)


def _reach(rows: Sequence[Row]) -> float:
    """Return the largest difference between any two runs on a task, i.e. the largest for any baseline."""
    ends: dict[str, tuple[float, float]] = {}
    for row in rows:
        low, high = ends.get(row["task"], (row["value"], row["value"]))
        ends[row["task"]] = min(low, row["value"]), max(high, row["value"])
    return max(0.01, *(high - low for low, high in ends.values()))


def _with_positive(comparison: Comparison) -> set[str]:
    """Return the names of the tasks whose support is the number of positive documents."""
    return {task.name for task in comparison.tasks if SCORING[task.kind].counts_positive}


def _scatter(comparison: Comparison, rows: Sequence[Row]) -> list[FigureBlock]:
    """Build the scatter plot of the yes/no tasks; [] if there are too few."""
    labels = _with_positive(comparison)
    rows = [row for row in rows if row["task"] in labels]
    if len(labels) < min(LEAST, len(comparison.tasks)):
        return []
    field, title = "support", "test documents with the label"
    if any(row["frequency"] for row in rows):
        field, title = "frequency", f"share of {title}"
    caption = (
        "A dot is a task under a run: rare labels are on the left of a logarithmic axis; those above "
        "the line gain over the baseline. If a run helps rare labels most, its dots rise to the left."
    )
    spec = _scatter_spec(comparison, field, title)
    shown = [row for row in _only(rows, "support", field) if row[field]]
    heading = "Gain over the baseline by label frequency"
    return [FigureBlock("tasks_gain_by_frequency", heading, caption, spec, shown, BASELINE, wide=True)]


def _scatter_spec(comparison: Comparison, field: str, title: str) -> dict[str, Any]:
    percent = ".2~p" if field == "frequency" else "d"
    axis = {"title": title, "format": percent, "grid": False, "tickCount": 6}
    x = number(field, scale={"type": "log", "nice": False, "padding": 12}, axis=axis)
    y = number("delta", title="gain in F1", axis={"format": "+.2~f"})
    tips = [
        tip("task"), tip("name", "run"), tip("delta", "gain in F1", "+.4f"), tip("value", "F1, mean", ".4f"),
        tip("support", "positive test documents", ".4~g"),
    ]  # fmt: skip
    gains: dict[str, Any] = {
        "mark": dots(60, opacity=0.75),
        "encoding": {"x": x, "y": y, "color": run_colour(comparison), "tooltip": tips},
    }
    zero = {"mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"y": {"datum": 0}}}
    transform = [  # no rows without a difference, and no baseline, whose differences are all 0
        {"filter": "isValid(datum.delta)"},
        {"calculate": "abs(datum.delta)", "as": "apart"},
        {"joinaggregate": [{"op": "max", "field": "apart", "as": "most"}], "groupby": ["run"]},
        {"filter": "datum.most > 0"},
    ]
    return {"width": "container", "height": 340, "transform": transform, "layer": [zero, gains]}


def _finding(
    comparison: Comparison, rows: Sequence[Row], intervals: Mapping[tuple[str, str], Interval]
) -> list[TextBlock]:
    """Describe the tasks with the largest gains and losses against the first baseline, and their runs."""
    base = comparison.run(comparison.baseline)
    base_values = {row["task"]: row["value"] for row in rows if row["run"] == base.key}
    left = {base.key, *(run.key for run in learned_nothing(comparison))}
    others = [row for row in rows if row["run"] not in left and row["task"] in base_values]
    gains = sorted(
        ((row["value"] - base_values[row["task"]], row) for row in others), key=lambda one: -one[0]
    )
    if not gains:
        return []
    up = _first_of_each(one for one in gains if one[0] > 0)
    down = _first_of_each(one for one in reversed(gains) if one[0] < 0)
    higher, lower = sum(gain > 0 for gain, _ in gains), sum(gain < 0 for gain, _ in gains)
    share = f"{higher} of {len(gains)} task scores of the other runs are higher and {lower} are lower"
    text = f"Against “{base.name}”, {share}."
    text += f" Largest gains: {_named(up)}." if up else ""
    text += f" Largest losses: {_named(down)}." if down else ""
    drawn = [interval for _, row in gains if (interval := intervals.get((row["run"], row["task"])))]
    if drawn:
        clear_count = sum(interval.without_zero for interval in drawn)
        text += (
            f" For {clear_count} of {len(drawn)} scores, the 95% interval over resampled test documents does "
            f"not contain 0; about {ALPHA * len(drawn):.1f} are expected by chance."
        )
    else:
        text += " These are means; with little support they vary a lot by chance."
    return [TextBlock(text, "finding")]


def _alike(comparison: Comparison) -> list[TextBlock]:
    """Name the tasks of runs on different data that are nevertheless comparable."""
    same, different = same_documents(comparison)
    parts = []
    if same:
        parts.append(f"Tested on the same documents by runs on different data: {list_first(same)}.")
    if different:
        parts.append(f"Tested on different documents, so not comparable: {list_first(different)}.")
    return [TextBlock(" ".join(parts))] if parts else []


def _first_of_each(gains: Iterable[tuple[float, Row]]) -> list[tuple[float, Row]]:
    """Return the first gain of each task, at most as many as the text names."""
    firsts: dict[str, tuple[float, Row]] = {}
    for gain, row in gains:
        firsts.setdefault(row["task"], (gain, row))
    return list(firsts.values())[:NAMED]


def _named(gains: Sequence[tuple[float, Row]]) -> str:
    return join_with_and(
        f"“{row['task']}” in “{row['name']}” "
        f"({', '.join((format_signed(gain), *filter(None, [row.get('interval')])))})"
        for gain, row in gains
    )


def _table(comparison: Comparison, rows: Sequence[Row]) -> TableBlock:
    figure = main_title(comparison.tasks)
    several = [TableColumn("judged_by", "main metric", kind="text")] if figure == SEVERAL else []
    gain = [TableColumn("delta", f"gain in {figure}", signed=True)] if len(comparison.runs) > 1 else []
    if any("interval" in row for row in rows):
        base = comparison.run(comparison.baseline)
        gain.append(TableColumn("interval", f"95% interval of the gain over “{base.name}”", kind="text"))
    others = OF_LABELS if all_need_thresholds(comparison.tasks) else OF_OTHERS
    columns = [
        TableColumn("task", "task", kind="text"),
        TableColumn("name", "run", kind="text"),
        TableColumn("support", "support", digits=0),
        *several,
        TableColumn("value", figure, spread="sd"),
        *gain,
        *others,
    ]
    caption = (
        f"Means over a run's folds and seeds on the test set, {figure} with its standard deviation. Support "
        f"is the number of {describe_support(comparison.tasks, 'test documents')} of one fold."
    )
    if gain:
        caption += (
            " Gains are relative to the baseline run. Intervals are over resampled test documents, not "
            "corrected for the number of tasks and runs."
        )
    order = {task.name: at for at, task in enumerate(comparison.tasks)}
    ordered = sorted(rows, key=lambda row: order[row["task"]])
    title = "Every task under every run" if gain else "Every task"
    return TableBlock("tasks", title, caption, columns, ordered, BASELINE)
