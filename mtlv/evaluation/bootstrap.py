"""Bootstrap intervals: of a mean over pairs, and of a difference in figures over test documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.metrics import Decisions, decide, ratio
from mtlv.evaluation.mixed import by_source, yes_no_tasks
from mtlv.evaluation.scoring import SCORING
from mtlv.plan.scores import Scores
from mtlv.plan.task import Task
from mtlv.seeding import content_key, seed_from

RESAMPLES = 10_000  # of pairs
DOCUMENT_RESAMPLES = 1_000  # of documents

Floats = NDArray[np.float64]
Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Interval:
    """A percentile bootstrap interval.

    Args:
        low, high: its ends.
        level: share of the resamples inside, such as 0.95.
        resamples: drawn.
    """

    low: float
    high: float
    level: float
    resamples: int

    @property
    def without_zero(self) -> bool:
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Resampled:
    """What one run came to on R resamples of its test documents, [R] each.

    Args:
        main: what its plan is judged by: macro F1 where all tasks are yes/no.
        micro: micro F1, where all tasks are yes/no.
    """

    main: Floats
    micro: Floats | None = None


def percentile_interval(values: Floats, level: float = 0.95) -> Interval:
    """The interval that holds the middle `level` of resampled values [R]."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, values.size)


def bootstrap_mean(
    values: Sequence[float] | Floats, *, level: float = 0.95, resamples: int = RESAMPLES
) -> Interval:
    """Percentile bootstrap interval of the mean of `values` [n]; the seed comes from the values.

    With few values it is too narrow (n = 4: it covers about 0.8 where 0.95 is asked), which a reader has to
    be told.

    Raises:
        ValueError: there is no value.
    """
    data = np.asarray(values, np.float64)
    if not data.size:
        raise ValueError("an interval needs at least one value")
    rng = np.random.default_rng(seed_from("bootstrap mean", *data.tolist()))
    drawn = rng.integers(0, data.size, (resamples, data.size))
    return percentile_interval(data[drawn].mean(axis=1), level)


def document_weights(ids: Sequence[str], resamples: int = DOCUMENT_RESAMPLES) -> Weights:
    """How often each of N documents came in each of R draws of N with replacement, [R, N].

    The seed comes from `ids` alone: runs with the same test documents get the same draws, so the difference
    of their results is a paired bootstrap (Koehn, "Statistical significance tests for machine translation
    evaluation", 2004).
    """
    count = len(ids)
    rng = np.random.default_rng(seed_from("bootstrap documents", content_key(list(ids))))
    weights = np.empty((resamples, count), np.float32)
    for row in weights:
        row[:] = np.bincount(rng.integers(0, count, count), minlength=count)
    return weights


def resampled_f1(decisions: Decisions, weights: Weights) -> Resampled:
    """Macro and micro F1 of each draw of documents.

    The counts that F1 needs are sums over documents, so all draws are one matrix product of weights and
    cells [N, 2T].

    Args:
        decisions: of N documents and T tasks.
        weights: [R, N], see `document_weights`.
    """
    above, below = _counted(decisions, weights)
    return Resampled(ratio(above, below).mean(axis=1), ratio(above.sum(axis=1), below.sum(axis=1)))


def _counted(decisions: Decisions, weights: Weights) -> tuple[Floats, Floats]:
    """2 TP, and predicted + positive documents, of each draw and task, [R, T] each."""
    hits = (decisions.truth & decisions.predicted).astype(np.float32)
    either = decisions.truth.astype(np.float32) + decisions.predicted
    cells = np.concatenate([2 * hits, either], axis=1)  # whole numbers, so float32 is exact
    above, below = np.split((weights @ cells).astype(np.float64), 2, axis=1)
    return above, below


def not_of_sums(tasks: Sequence[Task]) -> list[Task]:
    """Tasks that are judged by a figure that sums over documents do not give, such as a rank correlation.

    Nothing can be resampled of a plan that has one: see `resampled`.
    """
    return [t for t in tasks if t.kind in SCORING and t.main_metric in SCORING[t.kind].no_sums]


def resampled(
    scores: Scores, tasks: Sequence[Task], thresholds: Mapping[str, float], weights: Weights
) -> Resampled:
    """What a plan of tasks of any kinds is judged by on each draw of documents, as `evaluate_all` has it.

    Args:
        scores: of N documents and at least these tasks.
        tasks: none of `not_of_sums`.
        thresholds: the least probability that predicts, by yes/no task.
        weights: [R, N], see `document_weights`.

    Raises:
        PlanError, TrainingError: see `evaluate_all`.
    """
    names = yes_no_tasks(tasks)
    decisions = decide(scores, names, thresholds) if names else None
    if decisions is not None and len(names) == len(tasks):
        return resampled_f1(decisions, weights)
    found: dict[str, Floats] = {}
    if decisions is not None:
        found |= dict(zip(names, ratio(*_counted(decisions, weights)).T, strict=True))
    for task in tasks:
        if task.kind in SCORING:
            own = scores.tasks[task.name]
            sums = SCORING[task.kind].sums(task, own)[task.main_metric]
            found[task.name] = sums.of_draws(weights[:, np.asarray(own.mask, bool)])
    sources = [np.mean([found[name] for name in each], axis=0) for each in by_source(tasks).values()]
    return Resampled(np.mean(sources, axis=0))


def document_interval(first: Sequence[Resampled], second: Sequence[Resampled], figure: str) -> Interval:
    """Interval of the difference first - second in a figure, from test documents drawn anew.

    It covers which documents happened to be in the test set, and nothing else: not the noise of training,
    and not which documents were trained on.

    Args:
        first, second: the same folds and seeds of two runs; their mean is compared.
        figure: `main` or `micro`, which all of them have.
    """
    pairs = zip(first, second, strict=True)
    return percentile_interval(np.mean([getattr(a, figure) - getattr(b, figure) for a, b in pairs], axis=0))
