"""Scores by task type, and the BLURB score, for runs on corpora of that benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mtlv.comparison.blocks import Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.parts import (
    finite_mean_and_sd,
    finite_or_none,
    join_with_and,
    learned_nothing,
    of_run,
)
from mtlv.evaluation.compared_runs import ComparedFold, ComparedRun, Comparison, TaskInfo
from mtlv.evaluation.kinds.benchmark import BLURB, blurb_score, type_means
from mtlv.evaluation.metrics import decide, f1_micro
from mtlv.reporting.learned_words import NOTHING

TYPES = tuple(dict.fromkeys(BLURB.values()))
SCORE, MEAN = "BLURB score", "mean of the types"
CAPTION = (
    "Mean over the corpora of a type that a run was tested on, ± standard deviation (ddof 1) over its folds "
    "and seeds. Each corpus counts with the main metric of its task, or, with several yes/no tasks, with the "
    "F1 of all their decisions together. The last number is the mean over the six types (Gu et al. 2021). "
    "Corpora are known by their names in the config: scores are comparable with published ones only if their "
    "texts, splits and classes are those of BLURB."
)


def build(comparison: Comparison) -> Section | None:
    """Build the section; None if no run was tested on a corpus of BLURB."""
    by_corpus = {corpus: [task for task in comparison.tasks if task.source == corpus] for corpus in BLURB}
    corpora = {corpus: tasks for corpus, tasks in by_corpus.items() if tasks}
    rows = [row for run in comparison.runs if (row := _row(run, corpora)) is not None]
    if not rows:
        return None
    there = {key for row in rows for key in row}
    alike = len({row["tested"] for row in rows}) == 1  # else the means cover different corpora
    columns = [TableColumn("name", "run", kind="text")]
    mean = SCORE if all(_is_complete(row) for row in rows if "score" in row) else MEAN
    for key, title in (*((name, name) for name in TYPES), ("score", mean)):
        if key in there:
            columns.append(TableColumn(key, title, best="high" if alike else "", spread=f"{key}_sd"))
    columns.append(TableColumn("tested", "corpora", kind="text"))
    table = TableBlock("benchmark", "Scores by task type", CAPTION, columns, rows)
    return Section(
        "benchmark",
        "Task types",
        "The corpora of BLURB by task type, so that the many corpora of one type do not outweigh the others.",
        [TextBlock(_in_words(comparison, rows, corpora), "finding"), table],
    )


def _row(run: ComparedRun, corpora: Mapping[str, Sequence[TaskInfo]]) -> dict[str, Any] | None:
    """Return means over the children that have all corpora of the run; None if there are none."""
    by_child = [
        {corpus: value for corpus, tasks in corpora.items() if (value := _score(child, tasks)) is not None}
        for child in run.children
    ]
    names = max(by_child, key=len, default={}).keys()
    if not names:
        return None
    types = {name: BLURB[name] for name in BLURB if name in names}
    children = [scores for scores in by_child if scores.keys() == names]
    figures = [type_means(scores, types) for scores in children]
    if set(types.values()) == set(TYPES):
        figures = [
            means | {"score": blurb_score(scores, types)}
            for means, scores in zip(figures, children, strict=True)
        ]
    row = of_run(run) | {"tested": ", ".join(types)}
    for key in figures[0]:
        mean, sd = finite_mean_and_sd([means[key] for means in figures])
        row |= {key: mean, f"{key}_sd": sd}
    return row


def _score(child: ComparedFold, tasks: Sequence[TaskInfo]) -> float | None:
    """Return a corpus's score: its task's main metric; for several yes/no tasks, F1 of all decisions."""
    if len(tasks) == 1:
        return finite_or_none(child.tasks.get(tasks[0].name, {}).get(tasks[0].main_metric))
    names = [task.name for task in tasks]
    if set(names) == set(child.tasks):
        return child.metrics.get("test/f1_micro")
    limits = {name: child.tasks.get(name, {}).get("threshold") for name in names}
    if child.test is None or None in limits.values() or not set(names) <= child.test.tasks.keys():
        return None
    return f1_micro(decide(child.test, names, limits))  # type: ignore[arg-type]


def _is_complete(row: Mapping[str, Any]) -> bool:
    """Whether all corpora of the benchmark were tested."""
    return len(row["tested"].split(", ")) == len(BLURB)


def _in_words(
    comparison: Comparison, rows: Sequence[Mapping[str, Any]], corpora: Mapping[str, Sequence[TaskInfo]]
) -> str:
    """Describe what is missing for the score, or else the run with the highest score."""
    unranked = {run.key for run in learned_nothing(comparison)}
    complete = [row for row in rows if "score" in row and _is_complete(row)]
    ranked = [row for row in complete if row["run"] not in unranked]
    if ranked:
        best = max(ranked, key=lambda row: row["score"])
        text = f"“{best['name']}” has the highest BLURB score: {100 * best['score']:.2f}."
    elif complete:
        text = NOTHING
    else:
        text = f"The runs were tested on corpora with the names of {len(corpora)} of BLURB's {len(BLURB)}"
        types = {BLURB[corpus] for corpus in corpora}
        missing = [name for name in TYPES if name not in types]
        text += (
            f"; without {join_with_and(missing)} there is no score."
            if missing
            else ", so there is no BLURB score."
        )
    others = dict.fromkeys(task.source for task in comparison.tasks if task.source not in BLURB)
    outside = [name for name in others if name]
    return f"{text} Left out, because not part of BLURB: {join_with_and(outside)}." if outside else text
