"""Gradients of the tasks of a model, compared in training (`training.probe`): a row per run with a probe."""

from __future__ import annotations

from statistics import fmean

from mtlv.comparison.blocks import Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.sections.parts import NAMED, of_run
from mtlv.evaluation.comparison import ComparedRun, Comparison

INTRO = "How the gradients of the tasks that a model learns together agree (training.probe)."
CAPTION = (
    "Means over pairs of tasks in the last epoch with a probe, over a run's models, folds and seeds. A "
    "conflict is a negative cosine. The null is the same between two halves of the documents of one task: "
    "what no conflict looks like. Agreement: the share of pairs on whose affinity odd and even probes have "
    "the same sign; one half by chance. Little of this says which tasks gain from each other: groups need "
    "random groups beside them."
)
COLUMNS = (
    TableColumn("name", "run", kind="text"),
    TableColumn("cosine", "cosine", signed=True),
    TableColumn("cosine_null", "its null", signed=True),
    TableColumn("conflicts", "share of conflicts"),
    TableColumn("conflicts_null", "their null"),
    TableColumn("sign_agreement", "agreement"),
)


def build(comparison: Comparison) -> Section | None:
    """Build the section; None without a probe."""
    probed = [run for run in comparison.runs if run.values("probe/conflicts")]
    if not probed:
        return None
    findings = [TextBlock(_in_words(run), "finding") for run in probed[:NAMED]]
    names = [column.key for column in COLUMNS[1:]]
    rows = [of_run(run) | {name: _mean(run, name) for name in names} for run in probed]
    table = TableBlock("probe", "Cosines and conflicts", CAPTION, list(COLUMNS), rows)
    return Section("probe", "Gradients of the tasks", INTRO, [*findings, table])


def _mean(run: ComparedRun, name: str) -> float | None:
    values = run.values(f"probe/{name}")
    return fmean(values) if values else None


def _in_words(run: ComparedRun) -> str:
    share, null = _mean(run, "conflicts") or 0.0, _mean(run, "conflicts_null") or 0.0
    return (
        f"{share:.0%} of the pairs of tasks of “{run.name}” have gradients in conflict, and {null:.0%} of "
        "the tasks with themselves on other documents: only what is above that is between tasks."
    )
