"""One row per run: figures, spread and cost; and in words which run is ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtlv.compare.blocks import Block, Column, Figure, Section, Table, Text
from mtlv.compare.comparison import ComparedRun, Comparison, mean_and_sd
from mtlv.compare.palette import run_colour
from mtlv.compare.sections.parts import known, listed, of_run, run_axis, run_names, tip

FIGURES = (
    Column("f1_macro", "F1 macro", best="high"),
    Column("f1_micro", "F1 micro", best="high"),
    Column("subset_accuracy", "subset accuracy", best="high"),
    Column("hamming_score", "Hamming score", best="high"),
    Column("average_precision_macro", "average precision", best="high"),
)
COSTS = (
    ("time/train_seconds", Column("train_seconds", "training, min", digits=1, best="low", scale=1 / 60)),
    ("cost/documents_per_second", Column("documents_per_second", "documents/s", digits=0, best="high")),
    ("cost/parameters", Column("parameters", "parameters, M", digits=1, best="low", scale=1e-6)),
    ("cost/peak_memory_mb", Column("peak_memory_mb", "peak memory, MB", digits=0, best="low")),
)
DOTS = (("f1_macro", "macro F1"), ("f1_micro", "micro F1"))
RANKED = "test/f1_macro"


def build(comparison: Comparison) -> Section | None:
    """The section; nothing where there is no run."""
    if not comparison.runs:
        return None
    finding = Text(in_words(comparison), "finding")
    blocks: list[Block] = [finding, _table(comparison), *_dots(comparison)]
    intro = "Every run on the test set, averaged over its folds and seeds, and what it cost."
    return Section("overview", "Overview", intro, blocks)


def in_words(comparison: Comparison) -> str:
    """Which run is ahead by macro F1 and by how much, as far as the numbers carry."""
    ranked = [(*_figures(run, RANKED), run) for run in comparison.runs if run.values(RANKED)]
    ranked.sort(key=lambda one: -one[0])
    if not ranked:
        return "No run has a macro F1 on the test set yet, so nothing can be said about which is best."
    best, sd, children, run = ranked[0]
    said = f"“{run.name}” has the highest macro F1: {_number(best, sd)}{_over(children)}."
    if len(ranked) == 1:
        said = f"“{run.name}” has a macro F1 of {_number(best, sd)}{_over(children)}; there is no other run."
    tied = [one[-1].name for one in ranked if one[0] == best]
    if len(tied) > 1:
        said = f"{listed(f'“{name}”' for name in tied)} share the highest macro F1: {best:.3f}."
    elif len(ranked) > 1:
        said += _distance(ranked[0], ranked[1])
    return said + _caveats(comparison, len(ranked))


def _distance(first: tuple[Any, ...], second: tuple[Any, ...]) -> str:
    (best, sd, children, _), (next_best, next_sd, next_children, run) = first, second
    gap = best - next_best
    behind = f"{_number(next_best, next_sd)}{_over(next_children)}"
    said = f" The next, “{run.name}”, is {_points(gap)} behind ({behind})."
    if sd is None or next_sd is None:
        once = "both were" if children == next_children == 1 else "one of them was"
        return said + f" As {once} measured once only, it is not known how much a fold or seed changes them."
    if gap <= sd + next_sd:
        return said + " Their spreads overlap, so the order may be chance."
    return said + " Their spreads do not overlap."


def _caveats(comparison: Comparison, ranked: int) -> str:
    said = ""
    if len({run.data_digest for run in comparison.runs}) > 1:
        said += " The runs were measured on different data, so their order says little."
    unfinished = sum(run.status != "FINISHED" for run in comparison.runs)
    if unfinished:
        said += f" {unfinished} of {len(comparison.runs)} runs have not finished; their numbers are so far."
    if ranked > 1:
        said += " Whether a difference is significant is not judged here: see the section on significance."
    return said


def _number(mean: float, sd: float | None) -> str:
    return f"{mean:.3f}" if sd is None else f"{mean:.3f} ± {sd:.3f}"


def _points(gap: float) -> str:
    return f"{gap:.3f}" if gap >= 0.0005 else "less than 0.001"


def _over(children: int) -> str:
    return "" if children == 1 else f" over {children} folds and seeds"


def _figures(run: ComparedRun, key: str) -> tuple[float, float | None, int]:
    values = run.values(key)
    mean, sd = mean_and_sd(values)
    return (0.0 if mean is None else mean), sd, len(values)


def _table(comparison: Comparison) -> Table:
    rows = [_row(run) for run in comparison.runs]
    there = {key for row in rows for key, value in row.items() if value is not None}
    figures = [
        Column(**(vars(column) | {"spread": f"{column.key}_sd"})) for column in FIGURES if column.key in there
    ]
    costs = [column for _, column in COSTS if column.key in there]
    words = [
        ("name", "run"),
        ("architecture", "architecture"),
        ("encoder", "encoder"),
        ("grouping", "grouping"),
    ]
    if any(run.status != "FINISHED" for run in comparison.runs):
        words.append(("status", "status"))
    columns = [
        *(Column(key, title, kind="text") for key, title in words),
        Column("models", "models", digits=0),
        Column("children", "n", digits=0),
        *figures,
        *costs,
    ]
    caption = (
        "Mean ± standard deviation (ddof 1) on the test set over the n folds and seeds of a run; the best of "
        "a column is bold. Thresholds were fitted on validation documents only. Costs are means per fold and "
        "seed, for all models of a run together; memory is the peak of its largest model."
    )
    return Table("overview", "All runs", caption, columns, rows)


def _row(run: ComparedRun) -> dict[str, Any]:
    row = of_run(run) | {
        "architecture": run.architecture,
        "encoder": run.encoder,
        "grouping": run.grouping,
        "status": run.status.lower(),
        "models": len(run.plan) or None,
        "children": len(run.children),
    }
    for column in FIGURES:
        mean, sd = mean_and_sd(run.values(f"test/{column.key}"))
        row |= {column.key: known(mean), f"{column.key}_sd": known(sd)}
    for key, column in COSTS:
        row[column.key] = known(mean_and_sd(run.values(key))[0])
    return row


def _dots(comparison: Comparison) -> list[Figure]:
    """Macro and micro F1 of each run with error bars; nothing where no run has them."""
    rows = [row for run in comparison.runs for row in _dot_rows(run)]
    if not rows:
        return []
    caption = (
        "Macro F1 (each label counts the same) and micro F1 (each decision counts the same) on the test set. "
        "A dot is the mean over a run's folds and seeds, a bar reaches one standard deviation to both sides; "
        "a dot without a bar was measured once. The axis does not begin at 0."
    )
    figure = Figure("overview_f1", "Macro and micro F1", caption, _dot_spec(comparison), rows, wide=True)
    return [figure]


def _dot_rows(run: ComparedRun) -> list[dict[str, Any]]:
    rows = []
    for key, title in DOTS:
        values = run.values(f"test/{key}")
        mean, sd = mean_and_sd(values)
        if known(mean) is None or mean is None:
            continue
        ends = {"low": None, "high": None} if sd is None else {"low": mean - sd, "high": mean + sd}
        rows.append(of_run(run) | {"figure": title, "value": mean, "sd": sd, "children": len(values)} | ends)
    return rows


def _dot_spec(comparison: Comparison) -> dict[str, Any]:
    titles: Sequence[str] = [title for _, title in DOTS]
    tips = [
        tip("name", "run"),
        tip("figure"),
        tip("value", "mean", ".4f"),
        tip("sd", "standard deviation", ".4f"),
    ]
    colour = run_colour(comparison) | {"legend": None}
    bars = {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.8},
        "encoding": {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}, "color": colour},
    }
    shape = {
        "field": "figure",
        "type": "nominal",
        "scale": {"domain": titles, "range": ["circle", "diamond"]},
        "legend": {
            "title": None,
            "orient": "top",
            "symbolFillColor": "#7F7F7F",
            "symbolStrokeColor": "#7F7F7F",
        },
    }
    dots = {
        "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
        "encoding": {
            "x": {
                "field": "value",
                "type": "quantitative",
                "scale": {"zero": False},
                "axis": {"title": "F1 on the test set", "tickCount": 8},
            },
            "shape": shape,
            "color": colour,
        },
    }
    return {
        "width": "container",
        "height": {"step": 17},
        "encoding": {
            "y": {"field": "name", "type": "nominal", "sort": run_names(comparison), "axis": run_axis()},
            "yOffset": {"field": "figure", "type": "nominal", "sort": titles},
            "tooltip": [*tips, tip("children", "folds and seeds", "d")],
        },
        "layer": [bars, dots],
    }  # fmt: skip
