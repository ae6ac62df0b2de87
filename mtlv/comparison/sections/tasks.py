"""Tasks: what each is judged by under every run, what it gains over the baseline, and which those are."""

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
from mtlv.comparison.same_documents import same_documents
from mtlv.comparison.sections.heatmap import HeatmapCells, heatmap, supported_by
from mtlv.comparison.sections.parts import enumerated, known, listed, of_run, tip
from mtlv.evaluation.comparison import ComparedRun, Comparison, TaskInfo, mean_and_sd
from mtlv.evaluation.pairs import tasks_of
from mtlv.figures.palette import DIVERGING, SEQUENTIAL, run_colour
from mtlv.reporting.metric_titles import SEVERAL, judged_words, main_title, titled

FIGURES = ("precision", "recall", "average_precision", "threshold")
LEAST = 4  # yes/no tasks beside others, the fewest of which rare and frequent ones are told apart
OF_LABELS = (
    TableColumn("precision", "precision"),
    TableColumn("recall", "recall"),
    TableColumn("average_precision", "average precision"),
    TableColumn("threshold", "threshold", digits=2),
)
BASELINE = Baseline("value", ("task",))
NAMED = 3  # tasks that the text names as gaining and losing most
FITTED = 8  # tasks, the fewest through which a line of trend is drawn


def build(comparison: Comparison) -> Section | None:
    """The section; nothing where no run has figures of tasks."""
    every = ((run, task) for run in comparison.runs for task in comparison.tasks)
    rows = [row for run, task in every for row in _rows(run, task, labels=_labels(comparison))]
    if not rows:
        return None
    blocks: list[Block] = [_main(comparison, rows)]
    if len(comparison.runs) > 1:
        blocks = [
            *_finding(comparison, rows),
            *_alike(comparison),
            *blocks,
            _gain(comparison, rows),
            *_scatter(comparison, rows),
        ]
    blocks.append(_table(comparison, rows))
    intro = "Which tasks a run does well on, and which it helps or hurts against another run."
    return Section("tasks", "Tasks", intro, blocks)


def _labels(comparison: Comparison) -> bool:
    """Whether all tasks are yes/no labels."""
    return all(task.yes_no for task in comparison.tasks)


def _rows(run: ComparedRun, task: TaskInfo, *, labels: bool) -> list[dict[str, Any]]:
    """Mean figures of a task over a run's children; nothing where it has none."""
    values = run.of_task(task.name, task.main_metric)
    mean, sd = mean_and_sd(values)
    if known(mean) is None:
        return []
    figures: dict[str, Any] = {"judged_by": titled(task.main_metric), "others": _others(run, task)}
    if labels:
        figures = {name: known(mean_and_sd(run.of_task(task.name, name))[0]) for name in FIGURES}
    fields = {"task": task.name, "value": mean, "sd": known(sd), "children": len(values)}
    fields |= {"support": known(task.support), "frequency": known(task.frequency)}
    return [of_run(run) | fields | figures]


def _others(run: ComparedRun, task: TaskInfo) -> str:
    """Further figures of a task, in words: each kind has others, too many for columns."""
    names = dict.fromkeys(name for child in run.children for name in child.tasks.get(task.name, {}))
    means = {
        name: known(mean_and_sd(run.of_task(task.name, name))[0])
        for name in names
        if name not in (task.main_metric, "support")
    }
    return ", ".join(f"{titled(name)} {mean:.3f}" for name, mean in means.items() if mean is not None)


def _only(rows: Sequence[Row], *fields: str) -> list[Row]:
    """Rows with nothing that a figure does not read."""
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
    title = f"{_capital(figure)} of each task"
    caption = f"{title} on the test set, mean over a run's folds and seeds{_how(comparison)}"
    spec = heatmap(comparison, cells)
    fields = (*(said["field"] for said in _judged_tip(comparison)), "sd", "children", "support")
    return FigureBlock("tasks_f1", title, caption, spec, _only(rows, *fields), wide=True)


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _judged_tip(comparison: Comparison) -> list[dict[str, str]]:
    return [tip("judged_by", "judged by")] if main_title(comparison.tasks) == SEVERAL else []


def _how(comparison: Comparison) -> str:
    """The rest of a caption: where the figures come from, and what the bars count."""
    yes_no = [task.yes_no for task in comparison.tasks]
    order = "Tasks stand in the order of their support"
    if all(yes_no):
        return (
            f", at thresholds fitted on validation documents. {order}: the number of test documents that "
            "have the label, drawn on the left. Brighter is better."
        )
    of_labels = ", of a yes/no task the positive ones" if any(yes_no) else ""
    words = judged_words(comparison.tasks)
    return (
        f". {words}{' ' if words else ''}{order}: the number of test documents with a target{of_labels}, "
        "drawn on the left. Brighter is better."
    )


def _gain(comparison: Comparison, rows: Sequence[Row]) -> FigureBlock:
    reach, figure = _reach(rows), main_title(comparison.tasks)
    cells = HeatmapCells(
        "delta",
        "+.2f",
        {"type": "linear", "range": list(DIVERGING), "domain": [-reach, 0, reach]},
        f"gain in {figure}",
        dark_text=f"abs(datum.delta) < {0.62 * reach:.4f}",
        tips=(
            *_judged_tip(comparison),
            tip("delta", f"gain in {figure}", "+.4f"),
            tip("value", f"{figure}, mean", ".4f"),
        ),
    )
    of = "label" if figure == "F1" else "task"
    caption = (
        f"{_capital(figure)} of each task minus that of the baseline run: blue cells gain, orange cells "
        "lose, pale ones stay the same. The scale is the same to both sides and for every baseline, whose "
        f"own column is 0. A gain on a {of} with little support rests on few documents."
        + (" A task that the baseline run was not tested on has no cells." if _gaps(comparison) else "")
    )
    spec = heatmap(comparison, cells)
    title = "Gain over the baseline, task by task"
    shown = _only(rows, *(said["field"] for said in _judged_tip(comparison)), "support")
    return FigureBlock("tasks_gain", title, caption, spec, shown, BASELINE, wide=True)


def _gaps(comparison: Comparison) -> bool:
    """Whether the baseline run lacks a task of another."""
    base = tasks_of(comparison.run(comparison.baseline))
    return any(tasks_of(run) - base for run in comparison.runs)


def _reach(rows: Sequence[Row]) -> float:
    """The largest difference of any two runs on a task: no baseline gives a larger one."""
    ends: dict[str, tuple[float, float]] = {}
    for row in rows:
        low, high = ends.get(row["task"], (row["value"], row["value"]))
        ends[row["task"]] = min(low, row["value"]), max(high, row["value"])
    return max(0.01, *(high - low for low, high in ends.values()))


def _scatter(comparison: Comparison, rows: Sequence[Row]) -> list[FigureBlock]:
    """Of the yes/no tasks, which alone are rare or frequent; nothing where there are none."""
    labels = {task.name for task in comparison.tasks if task.yes_no}
    rows = [row for row in rows if row["task"] in labels]
    if len(labels) < min(LEAST, len(comparison.tasks)):
        return []
    field, title = "support", "test documents with the label (log scale)"
    if any(row["frequency"] for row in rows):
        field, title = "frequency", f"share of {title}"
    caption = (
        "A dot is a task under a run: to the left the rare labels, above the line those that gain over the "
        "baseline. The thesis claims that learning in groups helps rare labels most: then dots rise to the "
        "left."
    )
    if len(comparison.tasks) >= FITTED:
        caption += " A thin line is a least-squares fit on the logarithm, a help for the eye and no test."
    spec = _scatter_spec(comparison, field, title)
    shown = [row for row in _only(rows, "support", field) if row[field]]
    heading = "Gain over the baseline against label frequency"
    return [FigureBlock("tasks_gain_by_frequency", heading, caption, spec, shown, BASELINE, wide=True)]


def _scatter_spec(comparison: Comparison, field: str, title: str) -> dict[str, Any]:
    percent = ".2~p" if field == "frequency" else "d"
    x = {
        "field": field, "type": "quantitative", "scale": {"type": "log", "nice": False, "padding": 12},
        "axis": {"title": title, "format": percent, "grid": False, "tickCount": 6},
    }  # fmt: skip
    y = {"field": "delta", "type": "quantitative", "title": "gain in F1", "axis": {"format": "+.2~f"}}
    tips = [
        tip("task"), tip("name", "run"), tip("delta", "gain in F1", "+.4f"), tip("value", "F1, mean", ".4f"),
        tip("support", "positive test documents", ".4~g"),
    ]  # fmt: skip
    dots: dict[str, Any] = {
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.75},
        "encoding": {"x": x, "y": y, "color": run_colour(comparison), "tooltip": tips},
    }
    zero = {"mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"y": {"datum": 0}}}
    layers = [zero, dots, *([_trend(x, y, comparison)] if len(comparison.tasks) >= FITTED else [])]
    return {"width": "container", "height": 340, "transform": without_baseline(), "layer": layers}


def without_baseline() -> list[dict[str, Any]]:
    """Leave out rows without a difference, and the run whose differences are all 0: the baseline."""
    return [
        {"filter": "isValid(datum.delta)"},
        {"calculate": "abs(datum.delta)", "as": "apart"},
        {"joinaggregate": [{"op": "max", "field": "apart", "as": "most"}], "groupby": ["run"]},
        {"filter": "datum.most > 0"},
    ]


def _trend(x: Mapping[str, Any], y: Mapping[str, Any], comparison: Comparison) -> dict[str, Any]:
    fit = {"regression": "delta", "on": x["field"], "method": "log", "groupby": ["name"]}
    colour = run_colour(comparison)
    return {
        "transform": [fit],
        "mark": {"type": "line", "strokeWidth": 1.2, "opacity": 0.7},
        "encoding": {"x": x, "y": y, "color": colour, "tooltip": [tip("name", "run, its trend")]},
    }


def _finding(comparison: Comparison, rows: Sequence[Row]) -> list[TextBlock]:
    """Which tasks gain and lose most against the first baseline, and in which run."""
    base = comparison.run(comparison.baseline)
    own = {row["task"]: row["value"] for row in rows if row["run"] == base.key}
    others = [row for row in rows if row["run"] != base.key and row["task"] in own]
    gains = sorted(((row["value"] - own[row["task"]], row) for row in others), key=lambda one: -one[0])
    if not gains:
        return []
    up = _first_of_each(one for one in gains if one[0] > 0)
    down = _first_of_each(one for one in reversed(gains) if one[0] < 0)
    said = f"Against “{base.name}”, {_share(gains)}."
    said += f" Most is gained on {_named(up)}." if up else ""
    said += f" Most is lost on {_named(down)}." if down else ""
    return [TextBlock(f"{said} These are means; with little support they move much by chance.", "finding")]


def _alike(comparison: Comparison) -> list[TextBlock]:
    """Which tasks of runs on different data may be compared all the same."""
    found = same_documents(comparison)
    parts = []
    if found.same:
        parts.append(f"Tested on the same documents by runs on different data: {enumerated(found.same)}.")
    if found.different:
        parts.append(
            f"Tested on other documents, so that figures may not be compared: {enumerated(found.different)}."
        )
    return [TextBlock(" ".join(parts))] if parts else []


def _share(gains: Sequence[tuple[float, Row]]) -> str:
    up = sum(gain > 0 for gain, _ in gains)
    down = sum(gain < 0 for gain, _ in gains)
    return f"{up} of {len(gains)} task figures of the other runs are higher and {down} are lower"


def _first_of_each(gains: Iterable[tuple[float, Row]]) -> list[tuple[float, Row]]:
    """The first gain of each task, as many as the text names."""
    firsts: dict[str, tuple[float, Row]] = {}
    for gain, row in gains:
        firsts.setdefault(row["task"], (gain, row))
    return list(firsts.values())[:NAMED]


def _named(gains: Sequence[tuple[float, Row]]) -> str:
    return listed(
        f"“{row['task']}” ({gain:+.3f} in “{row['name']}”, support {row['support']:g})" for gain, row in gains
    )


def _table(comparison: Comparison, rows: Sequence[Row]) -> TableBlock:
    figure = main_title(comparison.tasks)
    several = [TableColumn("judged_by", "judged by", kind="text")] if figure == SEVERAL else []
    gain = [TableColumn("delta", f"gain in {figure}", signed=True)] if len(comparison.runs) > 1 else []
    others = OF_LABELS if _labels(comparison) else (TableColumn("others", "other figures", kind="text"),)
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
        f"Means over a run's folds and seeds on the test set, {figure} with its standard deviation; support "
        f"is the number of {supported_by(comparison)} of one fold, the gain is over the baseline run."
    )
    order = {task.name: at for at, task in enumerate(comparison.tasks)}
    ordered = sorted(rows, key=lambda row: order[row["task"]])
    return TableBlock("tasks", "Every task under every run", caption, columns, ordered, BASELINE)
