"""Published numbers compared with the measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtlv.comparison.blocks import FigureBlock, Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.parts import of_run
from mtlv.comparison.parts.channels import GREY, dots, label, number, tip
from mtlv.comparison.published_numbers import is_fraction, metric_values
from mtlv.comparison.verdict_words import format_signed
from mtlv.evaluation.compared_runs import Comparison, Published, mean_and_sd

PUBLISHED, MEASURED = "published", "measured"
COLOURS = {PUBLISHED: "#D55E00", MEASURED: "#0072B2"}  # Okabe and Ito


def build(comparison: Comparison) -> Section | None:
    """Build the section; None if no published numbers were given."""
    if not comparison.published:
        return None
    rows = [_row(comparison, number) for number in comparison.published]
    return Section(
        "published",
        "Published numbers",
        "The numbers of a paper, compared with those measured here.",
        [TextBlock(_in_words(rows), "finding"), *_figures(rows), *_tables(rows)],
    )


def _row(comparison: Comparison, number: Published) -> dict[str, Any]:
    run = comparison.run(number.measured) if number.measured is not None else None
    values = metric_values(run, number.metric) if run is not None else []
    mean, sd = mean_and_sd(values)
    note = number.note
    if run is not None and mean is None:
        note = "; ".join(part for part in (note, f"the run has no `{number.metric}`") if part)
    tasks = {task.name for task in comparison.tasks}
    task = number.metric.partition("/")[2]
    return (of_run(run) if run is not None else {"name": None}) | {
        **({"task": task} if task in tasks else {}),
        "row": number.row,
        "metric": number.metric,
        "published": number.value,
        "published_sd": number.spread,
        "measured": mean,
        "measured_sd": sd,
        "difference": None if mean is None else mean - number.value,
        "children": len(values) or None,
        "note": note,
    }


def _in_words(rows: Sequence[dict[str, Any]]) -> str:
    known = [row for row in rows if row["difference"] is not None and row["metric"] == "f1_macro"]
    measured = sum(row["difference"] is not None for row in rows)
    text = f"{measured} of {len(rows)} published numbers have a measured counterpart."
    if not known:
        return text
    gaps = [row["difference"] for row in known]
    low, high = (format_signed(end(gaps)) for end in (min, max))
    if len(gaps) == 1:
        return f"{text} For macro F1, measured minus published is {low}."
    return f"{text} For macro F1, measured minus published ranges from {low} to {high} over {len(gaps)} rows."


def _tables(rows: Sequence[dict[str, Any]]) -> list[TableBlock]:
    """Build the tables of fractions, and of counts and times, which need fewer decimals."""
    scores = [row for row in rows if is_fraction(row["metric"])]
    others = [row for row in rows if not is_fraction(row["metric"])]
    tables = [
        ("published", "Published and measured scores", 4, scores),
        ("published_other", "Published and measured counts and times", 1, others),
    ]
    caption = (
        "Each row is a number of the paper, with its published spread. Measured: mean over the "
        "run's folds and seeds ± standard deviation (ddof 1). Empty cells were not measured; see the note."
    )
    return [
        TableBlock(id, title, caption, _columns(digits), of_table)
        for id, title, digits, of_table in tables
        if of_table
    ]


def _columns(digits: int) -> list[TableColumn]:
    return [
        TableColumn("row", "row", "text"),
        TableColumn("metric", "metric", "text"),
        TableColumn("published", "published", digits=digits, spread="published_sd"),
        TableColumn("measured", "measured", digits=digits, spread="measured_sd"),
        TableColumn("difference", "measured − published", digits=digits, signed=True),
        TableColumn("children", "n", digits=0),
        TableColumn("name", "run", "text"),
        TableColumn("note", "note", "text"),
    ]


def _figures(rows: Sequence[dict[str, Any]]) -> list[FigureBlock]:
    """Build figures with pairs of dots, for all tasks together and for single tasks; [] without scores."""
    shown = [row | _labels(row) for row in rows if row["measured"] is not None and is_fraction(row["metric"])]
    caption = (
        "Each score of the paper with a measured counterpart: both numbers and the distance between them."
    )
    figures = []
    for id, title, of_tasks in (
        ("published_dots", "Published and measured", False),
        ("published_tasks", "Published and measured, task by task", True),
    ):
        points = [
            row | {"which": which, "value": row[which]}
            for row in shown
            if ("/" in row["metric"]) == of_tasks
            for which in (PUBLISHED, MEASURED)
        ]
        if points:
            figures.append(FigureBlock(id, title, caption, _spec(points), points, wide=True))
    return figures


def _labels(row: dict[str, Any]) -> dict[str, str]:
    """Return the panel and the axis label: the row's name, and the task if the name does not contain it."""
    figure, of_task, task = row["metric"].partition("/")
    is_named = not of_task or task in row["row"]
    return {"panel": figure, "label": row["row"] if is_named else f"{row['row']} · {task}"}


def _spec(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = list(dict.fromkeys(row["label"] for row in rows))
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    y = label("label", sort=names, axis={"title": None, "labelLimit": 300})
    x = number("value", title=None, scale={"zero": False, "padding": 12})
    scale = {"domain": list(COLOURS), "range": list(COLOURS.values())}
    colour = label("which", scale=scale, legend={"title": None, "orient": "top"})
    tips = [tip("row"), tip("metric"), tip("name", "run"), tip("published", "published", ".4f")]
    tips += [tip("measured", "measured", ".4f"), tip("difference", "difference", "+.4f")]
    encoding = {"y": y, "x": x, "tooltip": tips}
    line = {"type": "line", "strokeWidth": 2, "color": GREY}
    layers = [
        {"mark": line, "encoding": encoding | {"detail": {"field": "label"}}},
        {"mark": dots(80), "encoding": encoding | {"color": colour}},
    ]
    return {
        "facet": label("panel", sort=panels, header={"title": None, "labelAnchor": "start"}),
        "columns": 2,
        "spec": {"width": 320, "height": {"step": 18}, "layer": layers},
    }
