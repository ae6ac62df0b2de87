"""A made-up comparison of runs on four corpora, a kind of task each; figures are those of its own scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mtlv.data.targets import spans_column
from mtlv.evaluation.compared_runs import ComparedFold, ComparedRun, Comparison, TaskInfo
from mtlv.evaluation.mixed import evaluate_all
from mtlv.plan import Scores, TaskScores
from mtlv.plan.spans import Span

CLASSES = ("none", "<b>activator</b>", "inhibitor")
EACH = 30  # test documents of a corpus
OF = {"support": EACH, "documents": 4 * EACH}
TASKS = (
    TaskInfo("heart", source="notes", **OF | {"support": 14}),
    TaskInfo("relation", "multiclass", "pairs", CLASSES, ("none",), main_metric="f1_micro_positive", **OF),
    TaskInfo("similarity", "regression", "sts", main_metric="pearson", **OF),
    TaskInfo("drugs", "tagging", "ner", ("Drug",), main_metric="entity_f1", **OF),
)
SOURCES = tuple(task.source for task in TASKS)
WORDS = "the dose of aspirin was larger than that of heparin"


def a_mixed_comparison(runs: int = 3, children: int = 2, **changes: Any) -> Comparison:
    """Runs of all tasks, each with its own skill; where there are three, the last has the last two only."""
    made = [_run(number, children, TASKS[2:] if number == 2 else TASKS) for number in range(runs)]
    texts = dict.fromkeys(_ids(), WORDS)
    comparison = Comparison("Four kinds", tuple(made), TASKS, "r0", texts, created="2026-07-01 12:00")
    return replace(comparison, **changes)


def _ids() -> tuple[str, ...]:
    return tuple(f"{source}/{n}" for source in SOURCES for n in range(EACH))


def _run(number: int, children: int, tasks: tuple[TaskInfo, ...]) -> ComparedRun:
    names = tuple(task.name for task in tasks)
    alone = tuple(((name,),) for name in names)
    return ComparedRun(
        key=f"r{number}",
        run_id=f"{number:032x}",
        name=("stl · minilm", "mtl · minilm", "stl · two corpora")[number],
        architecture=("stl", "mtl", "stl")[number],
        encoder="minilm",
        dataset=" + ".join(task.source for task in tasks),
        grouping="none",
        status="FINISHED",
        data_digest="0123456789ab" if number < 2 else "fedcba987654",
        params={"training.epochs": "3"},
        children=tuple(_child(number, seed, tasks) for seed in range(children)),
        plan=(tuple((name,) for name in names),) if number == 1 else alone,
    )


def _child(number: int, seed: int, tasks: tuple[TaskInfo, ...]) -> ComparedFold:
    limits = {task.name: 0.5 for task in tasks if task.kind == "binary"}
    test = _scores("test", number, seed, tasks)
    found = evaluate_all(test, tasks, limits)
    metrics = {f"test/{key}": value for key, value in found.plan.as_dict().items()}
    metrics |= {"time/train_seconds": 60.0 + 30 * number, "cost/parameters": 22_713_216.0}
    curves = {"train/loss": [(0, 0.7), (1, 0.4)], "val/score": [(0, 0.3), (1, found.plan.main)]}
    for task in tasks:
        final = found.tasks[task.name].main
        curves[f"val.tasks.{task.main_metric}/{task.name}"] = [(0, final / 2), (1, final)]
        curves[f"train.heads.loss/{task.name}"] = [(0, 0.7), (1, 0.4)]
    return ComparedFold(
        run_id=f"{number:016x}{seed:016x}",
        fold=0,
        seed=seed,
        metrics=metrics,
        tasks={name: each.as_dict() for name, each in found.tasks.items()},
        curves=curves,
        validation=_scores("validation", number, seed, tasks),
        test=test,
    )


def _scores(split: str, number: int, seed: int, infos: tuple[TaskInfo, ...]) -> Scores:
    truth, own = np.random.default_rng(0), np.random.default_rng([1, number, seed, len(split)])
    documents = len(SOURCES) * EACH
    place = np.arange(documents) // EACH
    skill = 0.5 + 0.2 * number
    flags, kinds, numbers = (
        truth.integers(0, 2, documents),
        truth.integers(0, 3, documents),
        truth.random(documents),
    )
    gold = [[Span(3, 4, "Drug"), Span(9, 10, "Drug")][: 1 + n % 2] for n in range(documents)]
    guessed = [[span for span in spans if own.random() < skill] for spans in gold]
    values = {
        "heart": (np.clip(skill * (flags - 0.5) + own.random(documents), 0, 1), flags),
        "relation": (skill * np.eye(3)[kinds] + own.random((documents, 3)), kinds),
        "similarity": (skill * numbers + own.random(documents), numbers),
        "drugs": (spans_column(guessed), spans_column(gold)),
    }
    tasks = {task.name: TaskScores(*values[task.name], place == SOURCES.index(task.source)) for task in infos}
    ids = _ids() if split == "test" else tuple(f"V{name}" for name in _ids())
    return Scores((f"unit-{split}",), split, ids, tasks)
