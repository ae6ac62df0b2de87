"""Plans of tasks of any kinds on documents drawn anew: figures are those of the drawn documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtlv.data.targets import spans_column
from mtlv.evaluation.bootstrap import document_weights, not_of_sums, resample_scores
from mtlv.evaluation.mixed import evaluate_all
from mtlv.evaluation.scoring import SCORING, task_figures
from mtlv.plan import Scores, Task, TaskScores
from mtlv.plan.spans import Span

CLASSES = ("none", "one", "two")
TASKS = (
    Task("heart", source="notes"),
    Task("lung", source="notes"),
    Task("r", "multiclass", "pairs", CLASSES, ("none",), main_metric="f1_micro_positive"),
    Task("s", "regression", "sts", main_metric="pearson"),
    Task("e", "tagging", "ner", ("X", "Y"), main_metric="entity_f1"),
)
EACH, LIMITS = 30, {"heart": 0.5, "lung": 0.4}  # documents of a source


@pytest.fixture(scope="module")
def scores() -> Scores:
    """Each source's documents after those of the one before; targets of others do not count."""
    rng = np.random.default_rng(0)
    documents = 4 * EACH
    values = {
        "heart": (rng.random(documents), rng.integers(0, 2, documents)),
        "lung": (rng.random(documents), rng.integers(0, 2, documents)),
        "r": (rng.random((documents, 3)), rng.integers(0, 3, documents)),
        "s": (rng.normal(size=documents), 100 + rng.normal(size=documents)),
        "e": (spans(rng, documents), spans(rng, documents)),
    }
    sources = {"notes": 0, "pairs": 1, "sts": 2, "ner": 3}
    place = np.arange(documents) // EACH
    tasks = {task.name: TaskScores(*values[task.name], place == sources[task.source]) for task in TASKS}
    return Scores(("u",), "test", tuple(f"d{n}" for n in range(documents)), tasks)


def spans(rng: np.random.Generator, count: int) -> np.ndarray:
    return spans_column(
        [
            [
                Span(at, at + 1 + int(rng.integers(2)), str(rng.choice(["X", "Y"])))
                for at in (0, 4)[rng.integers(2) :]
            ]
            for _ in range(count)
        ]
    )


def drawn(scores: Scores, often: np.ndarray) -> Scores:
    """The documents as often as they were drawn."""
    rows = np.repeat(np.arange(often.size), often.astype(int))
    tasks = {
        name: TaskScores(task.outputs[rows], task.targets[rows], task.mask[rows])
        for name, task in scores.tasks.items()
    }
    return replace(scores, ids=tuple(map(str, rows)), tasks=tasks)


@pytest.mark.parametrize("tasks", [TASKS, TASKS[:2], TASKS[2:], TASKS[3:4]], ids=len)
def test_a_draw_is_worth_what_its_documents_are(scores: Scores, tasks: tuple[Task, ...]) -> None:
    weights = document_weights(scores.ids, resamples=20)
    found = resample_scores(scores, tasks, LIMITS, weights)
    for often, main in zip(weights, found.main, strict=True):
        assert main == pytest.approx(evaluate_all(drawn(scores, often), tasks, LIMITS).plan.main, abs=1e-9)
    assert (found.micro is None) == (tasks != TASKS[:2])


@pytest.mark.parametrize("task", TASKS[2:], ids=lambda task: task.kind)
def test_every_figure_that_is_a_sum(scores: Scores, task: Task) -> None:
    own = scores.tasks[task.name]
    weights = document_weights(scores.ids, resamples=5)
    for name, sums in SCORING[task.kind].sums(task, own).items():
        for often, value in zip(weights, sums.of_draws(weights[:, own.mask]), strict=True):
            known = task_figures(task, drawn(scores, often).tasks[task.name])[name]
            assert value == pytest.approx(known, abs=1e-9), name


def test_predictions_that_do_not_vary_correlate_with_nothing(scores: Scores) -> None:
    own = replace(scores.tasks["s"], outputs=np.full(4 * EACH, 0.1))
    flat = replace(scores, tasks={"s": own})
    assert not resample_scores(flat, TASKS[3:4], {}, document_weights(flat.ids, resamples=5)).main.any()


@pytest.mark.parametrize("often", [3, 7, 30])
def test_one_document_drawn_again_and_again_correlates_with_nothing(scores: Scores, often: int) -> None:
    """Neither side varies then, but for rounding."""
    alone = often * np.eye(4 * EACH, dtype=np.float32)
    assert not resample_scores(scores, TASKS[3:4], {}, alone).main.any()


def test_ranks_are_no_sums() -> None:
    by_rank = replace(TASKS[3], main_metric="spearman")
    assert not_of_sums([*TASKS, by_rank]) == [by_rank]
