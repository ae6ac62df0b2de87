"""One row per run with metrics, spread and cost."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from mtlv.comparison.blocks import Block, FigureBlock, Row, Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.parts import (
    capital,
    finite_mean,
    finite_mean_and_sd,
    learned_nothing,
    of_run,
    open_ends,
)
from mtlv.comparison.parts.channels import GREY, dots, label, number, run_axis, run_names, tip, with_value
from mtlv.comparison.parts.costs import CostUnit, cost_unit
from mtlv.comparison.ranking import score_runs
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.evaluation.learned import BAG_OF_WORDS
from mtlv.evaluation.metrics import SHOWN_OF_PLANS
from mtlv.evaluation.pairs import different_tasks
from mtlv.evaluation.scoring import tasks_with_threshold
from mtlv.figures.palette import run_colour
from mtlv.formatting import with_spread
from mtlv.reporting.learned_words import NOTHING, note
from mtlv.reporting.metric_titles import DIFFERENT_TASKS, HOW_SCORE, metric_title, plan_title
from mtlv.reporting.plan_result import describe_ensemble

NAME = TableColumn("name", "run", kind="text")
FIGURES = (
    *(TableColumn(name, metric_title(name), best="high") for name in SHOWN_OF_PLANS),
    TableColumn("average_precision_macro", "average precision", best="high"),
)
BESIDE = (
    ("test/roc_auc_macro", TableColumn("roc_auc_macro", "AUROC", best="high")),
    (BAG_OF_WORDS, TableColumn("bag_of_words", "bag of words", digits=3)),
    ("cost/documents_per_second", TableColumn("documents_per_second", "documents/s", digits=0)),
    ("cost/parameters", TableColumn("parameters", "parameters, M", digits=1, best="low", scale=1e-6)),
    ("cost/peak_memory_mb", TableColumn("peak_memory_mb", "peak memory, MB", digits=0)),
)
DOTS = (("f1_macro", "macro F1"), ("f1_micro", "micro F1"))
HOW_F1 = "Macro F1 (equal weight per label) and micro F1 (equal weight per decision) on the test set."
HOW_BAG_OF_WORDS = " Bag of words: the score of TF-IDF and a linear model per task on the same documents."
THRESHOLDS = " Thresholds were fitted only on validation documents."


def build(comparison: Comparison) -> Section | None:
    """Build the section; None if there is no run."""
    if not comparison.runs:
        return None
    text = describe_score(comparison)
    blocks: list[Block] = [*([TextBlock(text, "finding")] if text else []), *_tables(comparison)]
    ensembles = [
        TextBlock(f"“{run.name}”: {describe_ensemble(run.ensemble, plan_title(comparison), run.mains)}")
        for run in comparison.runs
        if run.ensemble and run.mains
    ]
    intro = "The run on the test set, averaged over its folds and seeds, and its cost."
    if len(comparison.runs) > 1:
        blocks += _dots(comparison)
        intro = "Every run on the test set, averaged over its folds and seeds, and its cost."
    return Section("overview", "Overview", intro, [*blocks, *ensembles])


def describe_score(comparison: Comparison) -> str:
    """Return the main score of the only run, or why several have none in common; empty if the answer ranks
    them.
    """
    if different_tasks(comparison):
        return f"{DIFFERENT_TASKS}, so they cannot be ranked by one score: compare them task by task."
    runs, figure = score_runs(comparison), plan_title(comparison)
    if not runs:
        return f"No run has a {figure} on the test set yet, so the best run is not known."
    if len(comparison.runs) > 1:
        return ""
    if learned_nothing(comparison):
        return NOTHING
    count = len(runs[0].run.mains)
    over = f" over {count} folds and seeds" if count > 1 else ""
    score = with_spread(runs[0].mean, runs[0].sd, 3)
    return f"“{runs[0].run.name}” has a {figure} of {score}{over}.{open_ends(comparison)}"


def _tables(comparison: Comparison) -> list[TableBlock]:
    """Build a table of metrics that fits a small screen, and one of costs and the rest."""
    unit = cost_unit(comparison)
    rows = [
        _row(run, unit, scored=comparison.scored) | {"note": note(comparison.learning(run)) or None}
        for run in comparison.runs
    ]
    there = {key for row in rows for key, value in row.items() if value is not None}
    return [_scores_table(comparison, unit, rows, there), _costs_table(rows, there)]


def _scores_table(
    comparison: Comparison, unit: CostUnit, rows: Sequence[Row], there: Collection[str]
) -> TableBlock:
    tasks_differ = different_tasks(comparison)  # then scores cannot be compared
    figures = [
        replace(
            column,
            spread=f"{column.key}_sd",
            best="" if tasks_differ and column.key == "score" else column.best,
        )
        for column in FIGURES
        if column.key in there
    ]
    unfinished = any(run.status != "FINISHED" for run in comparison.runs)
    columns = [
        NAME,
        *([TableColumn("status", "status", kind="text")] if unfinished else []),
        *figures,
        *([unit.column] if unit.key in there else []),
        TableColumn("children", "n", digits=0),
    ]
    thresholds = THRESHOLDS if tasks_with_threshold(comparison.tasks) or not comparison.tasks else ""
    score = f" {HOW_SCORE}" if comparison.scored else ""
    several = len(comparison.runs) > 1
    best = "; the best value of each column is bold" if several else ""
    caption = (
        "Mean ± standard deviation (ddof 1) on the test set over the n folds and seeds of a run"
        f"{best}.{score}{thresholds} {capital(unit.what)}: the mean per fold and seed, for "
        "all models of a run and of its earlier stages together."
    )
    return TableBlock("overview", "All runs" if several else "Scores", caption, columns, rows)


def _costs_table(rows: Sequence[Row], there: Collection[str]) -> TableBlock:
    columns = [
        NAME,
        *([TableColumn("note", "note", kind="text")] if "note" in there else []),
        TableColumn("models", "models", digits=0),
        *(column for _, column in BESIDE if column.key in there),
        *(TableColumn(key, key, kind="text") for key in ("architecture", "encoder", "grouping")),
    ]
    caption = (
        "Means per fold and seed, for all models of a run together; memory is the peak of its largest model."
        f"{HOW_BAG_OF_WORDS if 'bag_of_words' in there else ''}"
    )
    shown = [{k: row.get(k) for k in ("run", *(column.key for column in columns))} for row in rows]
    return TableBlock("overview_costs", "Models and costs", caption, columns, shown)


def _row(run: ComparedRun, unit: CostUnit, *, scored: bool) -> dict[str, Any]:
    row = of_run(run) | {
        "architecture": run.architecture,
        "encoder": run.encoder,
        "grouping": run.grouping,
        "status": run.status.lower(),
        "models": len(run.plan) or None,
        "children": len(run.children),
    }
    for column in FIGURES:
        of_score = scored and column.key == "score"
        mean, sd = finite_mean_and_sd(run.mains if of_score else run.values(f"test/{column.key}"))
        row |= {column.key: mean, f"{column.key}_sd": sd}
    row[unit.key] = finite_mean(unit.values(run))
    return row | {column.key: finite_mean(run.values(key)) for key, column in BESIDE}


def _dots(comparison: Comparison) -> list[FigureBlock]:
    """Build a figure of each run's macro and micro F1 or its score, with error bars; [] without any."""
    scored = comparison.scored
    if scored:
        rows = [row for run in comparison.runs for row in _dot(run, "score", run.mains)]
    else:
        values = ((run, title, run.values(f"test/{key}")) for run in comparison.runs for key, title in DOTS)
        rows = [row for arguments in values for row in _dot(*arguments)]
    if not rows:
        return []
    note = (
        f" {DIFFERENT_TASKS}: their scores are means over different tasks."
        if different_tasks(comparison)
        else ""
    )
    what = f"{HOW_SCORE}{note}" if scored else HOW_F1
    caption = (
        f"{what} A dot is the mean over a run's folds and seeds, with a bar of one standard deviation to "
        "both sides; a dot without a bar was measured once. The axis does not start at 0."
    )
    id, title = ("overview_score", "Score") if scored else ("overview_f1", "Macro and micro F1")
    return [FigureBlock(id, title, caption, _dot_spec(comparison), rows, wide=True)]


def _dot(run: ComparedRun, title: str, values: Sequence[float]) -> list[dict[str, Any]]:
    mean, sd = finite_mean_and_sd(values)
    if mean is None:
        return []
    ends = {"low": None, "high": None} if sd is None else {"low": mean - sd, "high": mean + sd}
    return [of_run(run) | {"figure": title, "value": mean, "sd": sd, "children": len(values)} | ends]


def _dot_spec(comparison: Comparison) -> dict[str, Any]:
    titles: Sequence[str] = ["score"] if comparison.scored else [title for _, title in DOTS]
    tips = [tip("name", "run"), tip("figure"), tip("value", "mean", ".4f")]
    tips += [tip("sd", "standard deviation", ".4f"), tip("children", "folds and seeds", "d")]
    colour = run_colour(comparison) | {"legend": None}
    ends = {"x": number("low"), "x2": {"field": "high"}, "color": colour}
    bars = with_value("low", {"mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.8}, "encoding": ends})
    legend = {"title": None, "orient": "top", "symbolFillColor": GREY, "symbolStrokeColor": GREY}
    scale = {"domain": titles, "range": ["circle", "diamond"]}
    axis = {"title": f"{'score' if comparison.scored else 'F1'} on the test set", "tickCount": 8}
    means = {
        "mark": dots(90),
        "encoding": {
            "x": number("value", scale={"zero": False}, axis=axis),
            "shape": label("figure", scale=scale, legend=None if comparison.scored else legend),
            "color": colour,
        },
    }
    return {
        "width": "container",
        "height": {"step": 17},
        "encoding": {
            "y": label("name", sort=run_names(comparison), axis=run_axis()),
            "yOffset": label("figure", sort=titles),
            "tooltip": tips,
        },
        "layer": [bars, means],
    }
