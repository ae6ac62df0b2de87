"""Rules that say of a run, before it is compared, whether it was trained to the end and what it learned.

A run is not trained to the end if its main validation metric v still rises over the last third of its
epochs by more than 0.01: the mean over folds and seeds of v[E] - v[E - n], n = max(1, round(E / 3)), of E
epochs. Where the learning rate falls linearly to 0, this third has about a ninth of all learning, so such a
rise promises more. One epoch cannot show a rise. The training loss says less: a falling learning rate
flattens it while much could still be learned, and it falls by large shares where nothing is left to learn.

A task is not learned if its main test metric is no better than that of a constant answer on the same
documents: the mean over folds and seeds of metric - constant is 0 or less. The constant answer is chosen on
training documents, or needs no choice:

- yes/no: always yes, which has F1 = 2p / (1 + p) with a share p of positive documents; always no has F1 = 0
- classes: the class whose constant answer has the highest main metric on the training documents, such as the
  most frequent one for accuracy
- a number: the mean of the training documents; its correlations are 0
- tags: nothing is marked; its F1 is 0
- masked words: none is found; its accuracy is 0

If the average precision of such a yes/no task is at least halfway from the constant answer's F1 to 1, its
positive documents are ranked well, and the threshold is at fault.

A run is no better than a bag of words if its main test metric is not above that of TF-IDF with a linear
model per task (`mtlv.units.bag_of_words`), in the mean over folds and seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.mixed import evaluate_all
from mtlv.evaluation.reference import BesideWords, Gain, Lag
from mtlv.evaluation.scoring import SCORING
from mtlv.plan.scores import Scores, TaskScores
from mtlv.plan.task import Task

RISE = 0.01
"""Rise of the main validation metric over the last third of the epochs above which training has not ended."""
CONSTANT = "constant"
"""Name of the constant answer's main metric among the test metrics of a task."""
OF_WORDS = "bag_of_words"
"""Name of the main metric of a bag of words (`mtlv.units.bag_of_words`) among the test metrics of a task."""
BAG_OF_WORDS = f"test/{OF_WORDS}"
"""Main metric of a plan by a bag of words."""
GAIN_LOW, GAIN_HIGH = f"{BAG_OF_WORDS}_gain_low", f"{BAG_OF_WORDS}_gain_high"
"""Ends of the 95% interval, over resampled test documents, of a run's main metric minus `BAG_OF_WORDS`."""


NO_WORDS = BesideWords()
"""Nothing is known of a bag of words."""


@dataclass(frozen=True)
class TrainingEnd:
    """How the training of a run ended.

    Args:
        rise: mean rise of the main validation metric over the last third of the epochs; None for one epoch.
    """

    rise: float | None

    @property
    def reached(self) -> bool:
        """Whether the metric no longer rises."""
        return self.rise is not None and self.rise <= RISE


def training_end(curves: Iterable[Sequence[float]]) -> TrainingEnd | None:
    """Judge a run.

    Args:
        curves: main validation metric after each epoch, for each fold and seed.

    Returns:
        None if a fold has no curve, or if there are none.
    """
    fold_curves = list(curves)
    if not fold_curves or not all(fold_curves):
        return None
    if any(len(curve) == 1 for curve in fold_curves):
        return TrainingEnd(None)
    return TrainingEnd(fmean(curve[-1] - curve[-1 - max(1, round(len(curve) / 3))] for curve in fold_curves))


def constant_scores(test: Scores, tasks: Sequence[Task], training: Mapping[str, NDArray]) -> dict[str, float]:
    """Return the main test metric of each task's constant answer; test targets are used only to measure it.

    Args:
        test: test scores of at least these tasks; their outputs are ignored.
        tasks: the tasks.
        training: targets of the training documents by task.

    Returns:
        Metrics by task name, without tasks on which no test document counts.
    """
    answers = {t.name: CONSTANT_ANSWERS[t.kind](t, training[t.name], len(test.ids)) for t in tasks}
    scores = Scores(test.units, test.part, test.ids, {task.name: test.tasks[task.name] for task in tasks})
    always = dict.fromkeys(answers, 0.5)
    by_task = evaluate_all(scores.with_outputs(answers), tasks, always).tasks
    return {name: metrics.main for name, metrics in by_task.items() if metrics.support}


def _best_class(task: Task, training: NDArray, documents: int) -> NDArray:
    """Return probabilities [N, C] of the class that is best on the training documents, on ties the first."""
    one_hot = np.eye(len(task.classes))
    counts = np.bincount(training.astype(np.int64), minlength=len(one_hot)).astype(np.float32)
    scores = []
    for row in one_hot:  # a document of each class, counted as often as it is there
        alike = TaskScores(np.tile(row, (len(row), 1)), np.arange(len(row)), np.ones(len(row), bool))
        scores.append(SCORING[task.kind].sums(task, alike)[task.main_metric].of_draws(counts[None])[0])
    return np.tile(one_hot[int(np.argmax(scores))], (documents, 1))


CONSTANT_ANSWERS: Mapping[str, Callable[[Task, NDArray, int], NDArray]] = {
    "binary": lambda _, __, documents: np.ones(documents),  # always yes
    "multiclass": _best_class,
    "regression": lambda _, training, documents: np.full(documents, training.mean()),
    "tagging": lambda _, __, documents: np.fromiter(((),) * documents, object, documents),  # marks nothing
    "mlm": lambda _, __, documents: np.tile([0.0, 1.0], (documents, 3)),  # finds no masked word
}
"""By kind of task: (task, training targets, N) -> the same output for N documents, as in `TaskScores`."""


@dataclass(frozen=True)
class Unlearned:
    """A task that was not learned, with means over folds and seeds of both metrics."""

    task: Task
    score: float
    constant: float
    average_precision: float | None = None  # of a yes/no task, where it is known

    @property
    def ranked(self) -> bool:
        """Whether its documents are ranked well, so that another threshold would help."""
        return self.average_precision is not None and self.average_precision >= (1 + self.constant) / 2


@dataclass(frozen=True)
class Learning:
    """What is known of a run's training."""

    end: TrainingEnd | None = None  # how it ended; None if unknown
    tasks: int = 0  # number of tasks compared with their constant answer; 0 if unknown
    unlearned: tuple[Unlearned, ...] = ()  # those that were not learned
    # its main score and that of a bag of words, means over folds and seeds; None if unknown
    beside: tuple[float, float] | None = None
    gain: Gain | None = None  # difference of both; None if nothing can decide whether it is shown
    lags: tuple[Lag, ...] = ()  # tasks on which the bag of words is better

    @property
    def nothing(self) -> bool:
        """Whether no task was learned."""
        return 0 < self.tasks == len(self.unlearned)

    @property
    def behind(self) -> tuple[float, float] | None:
        """Both scores if a bag of words is as good."""
        return self.beside if self.beside is not None and self.beside[0] <= self.beside[1] else None

    @property
    def tied(self) -> bool:
        """Whether a run that learned something is as good as a bag of words, in three digits."""
        main, words = self.behind or (0.0, 1.0)
        return not self.nothing and f"{main:.3f}" == f"{words:.3f}"

    @property
    def ended(self) -> bool:
        """Whether nothing speaks against a training to the end."""
        return self.end is None or self.end.reached


def learning(
    end: TrainingEnd | None,
    tasks: Iterable[Task],
    scores: Callable[[Task], Sequence[tuple[float, float]]],
    beside: BesideWords = NO_WORDS,
    average_precision: Callable[[str], Sequence[float]] = lambda _: (),
) -> Learning:
    """Apply the rule of this module to the tasks of a run.

    Args:
        end: how its training ended.
        tasks: its tasks.
        scores: the main metric and that of the constant answer of a task, one pair per fold and seed that has
            both.
        beside: its scores and those of a bag of words.
        average_precision: the average precisions of a task, by its name, one per fold and seed; empty if it
            has none.
    """
    pairs = [(task, values) for task in tasks if (values := scores(task))]
    unlearned = (
        Unlearned(
            task,
            fmean(score for score, _ in values),
            fmean(constant for _, constant in values),
            fmean(precisions) if (precisions := average_precision(task.name)) else None,
        )
        for task, values in pairs
        if fmean(score - constant for score, constant in values) <= 0
    )
    return Learning(end, len(pairs), tuple(unlearned), beside.means, beside.gain, beside.lags)
