"""Bootstrap intervals of differences in metrics over test documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.metrics import Decisions, decide, ratio
from mtlv.evaluation.mixed import by_source
from mtlv.evaluation.scoring import SCORING, tasks_with_threshold
from mtlv.evaluation.significance import ALPHA, Interval
from mtlv.plan.scores import Scores
from mtlv.plan.task import Task
from mtlv.seeding import content_key, seed_from

DOCUMENT_RESAMPLES = 1_000
FEWEST_GROUPS = 5  # with fewer, resamples repeat; with 3, one interval in ten of equal runs excludes zero

Floats = NDArray[np.float64]
Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Resampled:
    """Metrics of one run on R resamples of its test documents, [R] each."""

    main: Floats  # main score of the plan: macro F1 if all tasks are yes/no
    micro: Floats | None = None  # micro F1, if all tasks are yes/no
    tasks: Mapping[str, Floats] = field(default_factory=dict)  # main metric of each task


def document_weights(
    ids: Sequence[str], groups: Sequence[str] | None = None, *, resamples: int = DOCUMENT_RESAMPLES
) -> Weights:
    """Return how often each of N documents occurs in each of R resamples with replacement, [R, N].

    Whole groups are drawn, as many as there are: documents of one group (sentences of an abstract) are
    dependent, and drawing them separately makes intervals too narrow (Davison and Hinkley, "Bootstrap methods
    and their application", 1997, section 3.8; Field and Welsh, "Bootstrapping clustered data", JRSS B 69,
    2007).

    The seed depends only on `ids`: runs with the same test documents get the same resamples, so the
    difference of their results is a paired bootstrap (Koehn, "Statistical significance tests for machine
    translation evaluation", 2004).

    Args:
        ids: ids of the documents.
        groups: group of each document [N]; None draws each separately.
        resamples: number of resamples R.
    """
    first: dict[str, int] = {}
    place = np.array([first.setdefault(group, len(first)) for group in groups or ids], np.int64)
    count = len(first)
    rng = np.random.default_rng(seed_from("bootstrap documents", content_key(list(ids))))
    weights = np.empty((resamples, len(ids)), np.float32)
    for row in weights:
        row[:] = np.bincount(rng.integers(0, count, count), minlength=count)[place]
    return weights


def resample_f1(decisions: Decisions, weights: Weights, names: Sequence[str] = ()) -> Resampled:
    """Return macro and micro F1, and the F1 of each named task, on each resample of documents.

    The counts of F1 are sums over documents, so all resamples are one matrix product of weights and
    cells [N, 2T].

    Args:
        decisions: decisions for N documents and T tasks.
        weights: [R, N], see `document_weights`.
        names: names of the T tasks.
    """
    hits = (decisions.truth & decisions.predicted).astype(np.float32)
    either = decisions.truth.astype(np.float32) + decisions.predicted
    cells = np.concatenate([2 * hits, either], axis=1)  # integers, so float32 is exact
    above, below = np.split((weights @ cells).astype(np.float64), 2, axis=1)  # [R, T] each
    task_f1 = ratio(above, below)
    of_tasks = dict(zip(names, task_f1.T, strict=False))
    return Resampled(task_f1.mean(axis=1), ratio(above.sum(axis=1), below.sum(axis=1)), of_tasks)


def not_of_sums(tasks: Sequence[Task]) -> list[Task]:
    """Return tasks whose main metric is not a function of sums over documents, such as a rank correlation.

    A plan with one of these tasks cannot be resampled: see `resample_scores`.
    """
    return [t for t in tasks if t.main_metric in SCORING[t.kind].others]


def resample_scores(
    scores: Scores, tasks: Sequence[Task], thresholds: Mapping[str, float], weights: Weights
) -> Resampled:
    """Return the main score of a plan, as in `evaluate_all`, and of its tasks on each resample of documents.

    Args:
        scores: scores of N documents for at least these tasks.
        tasks: tasks of any kinds, but none of `not_of_sums`.
        thresholds: decision threshold of each task that needs one.
        weights: [R, N], see `document_weights`.

    Raises:
        PlanError, TrainingError: see `evaluate_all`.
    """
    names = tasks_with_threshold(tasks)
    joint = resample_f1(decide(scores, names, thresholds), weights, names) if names else None
    if joint is not None and len(names) == len(tasks):
        return joint
    by_task: dict[str, Floats] = {} if joint is None else dict(joint.tasks)
    for task in tasks:
        if task.name not in by_task:
            task_scores = scores.tasks[task.name]
            sums = SCORING[task.kind].sums(task, task_scores)[task.main_metric]
            by_task[task.name] = sums.of_draws(weights[:, np.asarray(task_scores.mask, bool)])
    sources = [np.mean([by_task[name] for name in names], axis=0) for names in by_source(tasks).values()]
    return Resampled(np.mean(sources, axis=0), tasks=by_task)


def document_interval(first: Sequence[Floats], second: Sequence[Floats], *, groups: int) -> Interval | None:
    """Return the 95% interval of the difference first - second in a metric over resampled test documents.

    It covers only the choice of documents in the test set, not the noise of training or the choice of
    training documents. Quantiles of resamples are too close to each other if few
    groups are drawn, so their levels are those of Hesterberg's expanded percentile interval ("What teachers
    should know about the bootstrap", The American Statistician 69, 2015): Phi(-sqrt(n / (n - 1)) t(n - 1)).

    Args:
        first, second: the metric of two runs on R resamples [R], for each of the same folds and seeds; their
            means are compared.
        groups: n, number of groups drawn each time; below 5, None is returned.
    """
    if groups < FEWEST_GROUPS:
        return None
    return expanded_interval(np.mean(first, axis=0) - np.mean(second, axis=0), groups)


def task_intervals(
    first: Sequence[Resampled], second: Sequence[Resampled], *, groups: int
) -> dict[str, Interval]:
    """Return `document_interval` for the main metric of each task that all results have."""
    names = [name for name in first[0].tasks if all(name in result.tasks for result in (*first, *second))]
    intervals = {}
    for name in names:
        pair = ([result.tasks[name] for result in runs] for runs in (first, second))
        intervals[name] = document_interval(*pair, groups=groups)
    return {name: interval for name, interval in intervals.items() if interval is not None}


def expanded_interval(resampled: Floats, n: int) -> Interval:
    """Return the expanded percentile interval of a figure on R resamples [R] of n independent parts."""
    from scipy.special import ndtr, stdtrit

    tail = float(ndtr(-((n / (n - 1)) ** 0.5) * stdtrit(n - 1, 1 - ALPHA / 2)))
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Interval(float(low), float(high))
