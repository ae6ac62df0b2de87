"""Two rules that say of a run, before it is compared, whether it was trained to the end and what it learned.

A model is not trained to the end if its training loss still falls by more than a tenth in the last epoch:
(l[E-1] - l[E]) / l[E-1] > 0.1 for the mean losses l[1], ..., l[E] of its E epochs. One epoch cannot show that
the loss is flat. A model that its own criterion stopped before (`training.patience`) is trained to the end.

A task is not learned if its main test metric is no better than that of a constant answer on the same
documents: the mean over folds and seeds of metric - constant is 0 or less. The constant answer is chosen on
training documents, or needs no choice:

- yes/no: always yes, which has F1 = 2p / (1 + p) with a share p of positive documents; always no has F1 = 0
- classes: the class whose constant answer has the highest main metric on the training documents, such as the
  most frequent one for accuracy
- a number: the mean of the training documents; its correlations are 0
- tags: nothing is marked; its F1 is 0
- hidden words: none is found; its accuracy is 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.mixed import evaluate_all
from mtlv.evaluation.scoring import SCORING
from mtlv.plan.scores import Scores, TaskScores
from mtlv.plan.task import Task

FALL = 0.1  # relative fall of the training loss in the last epoch above which training has not ended
CONSTANT = "constant"
"""Name of the constant answer's main metric among the test metrics of a task."""
MODELS, FALLING, LAST_FALL = "train.end/models", "train.end/falling", "train.end/loss_fall"


@dataclass(frozen=True)
class TrainingEnd:
    """How the training of some models ended.

    Args:
        models: number of models; a model of each fold and seed counts.
        falling: how many of them were not trained to the end.
        fall: mean relative fall of the training loss of those in their last epoch; None if they had one
            epoch only, or if there are none.
    """

    models: int
    falling: int = 0
    fall: float | None = None

    @property
    def metrics(self) -> dict[str, float]:
        """Values by tracked name."""
        known = {} if self.fall is None else {LAST_FALL: self.fall}
        return {MODELS: self.models, FALLING: self.falling, **known}


def training_end(losses: Iterable[Sequence[float]], epochs: int) -> TrainingEnd:
    """Judge models by their training losses.

    Args:
        losses: losses of each model, one per epoch.
        epochs: number of epochs in the settings; a model with fewer was stopped by its own criterion.
    """
    models = list(losses)
    if epochs == 1:
        return TrainingEnd(len(models), len(models))
    falls = [_last_fall(model) for model in models if len(model) >= epochs]
    falling = [fall for fall in falls if fall > FALL]
    return TrainingEnd(len(models), len(falling), fmean(falling) if falling else None)


def _last_fall(losses: Sequence[float]) -> float:
    before, last = losses[-2:]
    return (before - last) / before if before > 0 else 0.0


def training_end_of(metrics: Mapping[str, float]) -> TrainingEnd | None:
    """Read from tracked metrics; None if an earlier release made the run."""
    if MODELS not in metrics or FALLING not in metrics:
        return None
    return TrainingEnd(int(metrics[MODELS]), int(metrics[FALLING]), metrics.get(LAST_FALL))


def together(ends: Iterable[TrainingEnd | None]) -> TrainingEnd | None:
    """Join several folds and seeds; None if one is unknown."""
    known = list(ends)
    held = [end for end in known if end is not None]
    if not held or len(held) < len(known):
        return None
    falls = [(end.falling, end.fall) for end in held if end.fall is not None]
    falling = sum(count for count, _ in falls)
    fall = sum(count * fall for count, fall in falls) / falling if falling else None
    return TrainingEnd(sum(end.models for end in held), sum(end.falling for end in held), fall)


def constant_scores(test: Scores, tasks: Sequence[Task], training: Mapping[str, NDArray]) -> dict[str, float]:
    """Return the main test metric of each task's constant answer; test targets are used only to measure it.

    Args:
        test: test scores of at least these tasks; their outputs are ignored.
        tasks: the tasks.
        training: targets of the training documents by task.

    Returns:
        Metrics by task name, without tasks on which no test document counts.
    """
    answers = {t.name: CONSTANT_ANSWERS[t.kind].outputs(t, training[t.name], len(test.ids)) for t in tasks}
    own = Scores(test.units, test.split, test.ids, {task.name: test.tasks[task.name] for task in tasks})
    always = dict.fromkeys(answers, 0.5)
    found = evaluate_all(own.with_outputs(answers), tasks, always).tasks
    return {name: metrics.main for name, metrics in found.items() if metrics.support}


@dataclass(frozen=True)
class ConstantAnswer:
    """The constant answer to tasks of one kind.

    Args:
        outputs: (task, training targets, N) -> the same output for N documents, as in `TaskScores`.
        doing: what it does, to end a sentence.
    """

    outputs: Callable[[Task, NDArray, int], NDArray]
    doing: str


def _yes(task: Task, training: NDArray, documents: int) -> NDArray:  # noqa: ARG001
    return np.ones(documents)


def _best_class(task: Task, training: NDArray, documents: int) -> NDArray:
    """Return probabilities [N, C] of the class that is best on the training documents, on ties the first."""
    each = np.eye(len(task.classes))
    counts = np.bincount(training.astype(np.int64), minlength=len(each)).astype(np.float32)
    found = [_of_class(task, row, counts) for row in each]
    return np.tile(each[int(np.argmax(found))], (documents, 1))


def _of_class(task: Task, row: NDArray, counts: NDArray[np.float32]) -> float:
    """Return the main metric of always answering one class, on so many documents of each class [C]."""
    alike = TaskScores(np.tile(row, (len(row), 1)), np.arange(len(row)), np.ones(len(row), bool))
    return float(SCORING[task.kind].sums(task, alike)[task.main_metric].of_draws(counts[None])[0])


def _mean(task: Task, training: NDArray, documents: int) -> NDArray:  # noqa: ARG001
    return np.full(documents, training.mean())


def _nothing(task: Task, training: NDArray, documents: int) -> NDArray:  # noqa: ARG001
    found = np.empty(documents, object)
    found[:] = [()] * documents
    return found


def _no_piece(task: Task, training: NDArray, documents: int) -> NDArray:  # noqa: ARG001
    return np.tile([0.0, 1.0, 0.0, 1.0, 0.0, 1.0], (documents, 1))


CONSTANT_ANSWERS: Mapping[str, ConstantAnswer] = {
    "binary": ConstantAnswer(_yes, "always answering yes"),
    "multiclass": ConstantAnswer(_best_class, "always answering the same class"),
    "regression": ConstantAnswer(_mean, "always answering the mean"),
    "tagging": ConstantAnswer(_nothing, "marking nothing"),
    "mlm": ConstantAnswer(_no_piece, "finding no hidden word"),
}
"""Constant answers by kind of task."""


@dataclass(frozen=True)
class Unlearned:
    """A task that was not learned, with means over folds and seeds of both metrics."""

    task: Task
    score: float
    constant: float


@dataclass(frozen=True)
class Learning:
    """What is known of a run's training.

    Args:
        end: how it ended; None if unknown.
        tasks: number of tasks compared with their constant answer; 0 if unknown.
        unlearned: those that were not learned.
    """

    end: TrainingEnd | None = None
    tasks: int = 0
    unlearned: tuple[Unlearned, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether no task was learned."""
        return 0 < self.tasks == len(self.unlearned)

    @property
    def ended(self) -> bool:
        """Whether nothing speaks against a training to the end."""
        return self.end is None or not self.end.falling


def learning(
    end: TrainingEnd | None, tasks: Iterable[Task], scores: Callable[[Task], Sequence[tuple[float, float]]]
) -> Learning:
    """Apply the rule of this module to the tasks of a run.

    Args:
        end: how its training ended.
        tasks: its tasks.
        scores: the main metric and that of the constant answer of a task, one pair per fold and seed that has
            both.
    """
    pairs = [(task, found) for task in tasks if (found := scores(task))]
    unlearned = (
        Unlearned(task, fmean(score for score, _ in found), fmean(constant for _, constant in found))
        for task, found in pairs
        if fmean(score - constant for score, constant in found) <= 0
    )
    return Learning(end, len(pairs), tuple(unlearned))
