"""Scores by task type, and the BLURB score: for runs on corpora of that benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mtlv.comparison.blocks import Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.sections.parts import known, listed, of_run
from mtlv.evaluation.comparison import ComparedFold, ComparedRun, Comparison, TaskInfo, mean_and_sd
from mtlv.evaluation.kinds.benchmark import BLURB, average_f1_micro, blurb_score, type_means
from mtlv.evaluation.metrics import decide

TYPES = tuple(dict.fromkeys(BLURB.values()))
SCORE, MEAN = "BLURB score", "mean of the types"
CAPTION = (
    "The mean over those of a type's corpora that a run was tested on, ± standard deviation (ddof 1) over "
    "its folds and seeds; a corpus counts by the figure that its task is judged by, one with several yes/no "
    "tasks by the F1 of all their decisions together. The last number is the mean over the six types (Gu et "
    "al. 2021). It may be laid beside published ones only where splits and classes are BLURB's own."
)


def build(comparison: Comparison) -> Section | None:
    """The section; nothing where no run was tested on a corpus of BLURB."""
    corpora = _corpora(comparison.tasks)
    rows = [row for run in comparison.runs if (row := _row(run, corpora)) is not None]
    if not rows:
        return None
    there = {key for row in rows for key in row}
    alike = len({row["tested"] for row in rows}) == 1  # else the best of a column is best of another mean
    columns = [TableColumn("name", "run", kind="text")]
    for key, title in (*((name, name) for name in TYPES), ("score", _title(rows))):
        if key in there:
            columns.append(TableColumn(key, title, best="high" if alike else "", spread=f"{key}_sd"))
    columns.append(TableColumn("tested", "corpora", kind="text"))
    return Section(
        "benchmark",
        "Task types",
        "The corpora of BLURB by task type, so that the many corpora of one type do not outweigh the others.",
        [TextBlock(_in_words(comparison, rows, corpora), "finding"), _table(columns, rows)],
    )


def _table(columns: Sequence[TableColumn], rows: Sequence[Mapping[str, Any]]) -> TableBlock:
    return TableBlock("benchmark", "Scores by task type", CAPTION, columns, rows)


def _corpora(tasks: Sequence[TaskInfo]) -> dict[str, list[TaskInfo]]:
    """The tasks of each corpus of the benchmark, in its order."""
    found = {corpus: [task for task in tasks if task.source == corpus] for corpus in BLURB}
    return {corpus: of_corpus for corpus, of_corpus in found.items() if of_corpus}


def _row(run: ComparedRun, corpora: Mapping[str, Sequence[TaskInfo]]) -> dict[str, Any] | None:
    """Means over the children that have all of the run's corpora; nothing where none has one."""
    found = [_scores(child, corpora) for child in run.children]
    names = max(found, key=len, default={}).keys()
    if not names:
        return None
    types = {name: BLURB[name] for name in BLURB if name in names}
    children = [scores for scores in found if scores.keys() == names]
    figures = [type_means(scores, types) for scores in children]
    if set(types.values()) == set(TYPES):
        figures = [
            means | {"score": blurb_score(scores, types)}
            for means, scores in zip(figures, children, strict=True)
        ]
    row = of_run(run) | {"tested": ", ".join(types)}
    for key in figures[0]:
        mean, sd = mean_and_sd([each[key] for each in figures])
        row |= {key: known(mean), f"{key}_sd": known(sd)}
    return row


def _scores(child: ComparedFold, corpora: Mapping[str, Sequence[TaskInfo]]) -> dict[str, float]:
    found = {corpus: _score(child, tasks) for corpus, tasks in corpora.items()}
    return {corpus: value for corpus, value in found.items() if value is not None}


def _score(child: ComparedFold, tasks: Sequence[TaskInfo]) -> float | None:
    """A corpus by its task's figure; several yes/no tasks by all their decisions, where these are known."""
    if len(tasks) == 1:
        return known(child.tasks.get(tasks[0].name, {}).get(tasks[0].main_metric))
    names = [task.name for task in tasks]
    if set(names) == set(child.tasks):
        return child.metrics.get("test/f1_micro")
    limits = {name: child.tasks.get(name, {}).get("threshold") for name in names}
    if child.test is None or None in limits.values() or not set(names) <= child.test.tasks.keys():
        return None
    return average_f1_micro(decide(child.test, names, limits))  # type: ignore[arg-type]


def _title(rows: Sequence[Mapping[str, Any]]) -> str:
    """The benchmark's name only for all of its corpora."""
    return SCORE if all(_whole(row) for row in rows if "score" in row) else MEAN


def _whole(row: Mapping[str, Any]) -> bool:
    return len(row["tested"].split(", ")) == len(BLURB)


def _in_words(
    comparison: Comparison, rows: Sequence[Mapping[str, Any]], corpora: Mapping[str, Sequence[TaskInfo]]
) -> str:
    """What is missing for the score; else who has the highest."""
    whole = [row for row in rows if "score" in row and _whole(row)]
    if whole:
        best = max(whole, key=lambda row: row["score"])
        said = f"“{best['name']}” has the highest BLURB score: {100 * best['score']:.2f}."
    else:
        said = f"The runs were tested on {len(corpora)} of BLURB's {len(BLURB)} corpora"
        types = {BLURB[corpus] for corpus in corpora}
        missing = [name for name in TYPES if name not in types]
        said += (
            f"; without {listed(missing)} there is no score." if missing else ", so there is no BLURB score."
        )
    others = dict.fromkeys(task.source for task in comparison.tasks if task.source not in BLURB)
    outside = [name for name in others if name]
    return f"{said} Not of BLURB, and left out: {listed(outside)}." if outside else said
