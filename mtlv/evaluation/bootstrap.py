"""Bootstrap intervals of differences in figures over test documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.metrics import Decisions, decide, ratio
from mtlv.evaluation.mixed import by_source, yes_no_tasks
from mtlv.evaluation.scoring import SCORING
from mtlv.evaluation.significance import ALPHA, Interval
from mtlv.plan.scores import Scores
from mtlv.plan.task import Task
from mtlv.seeding import content_key, seed_from

DOCUMENT_RESAMPLES = 1_000
FEWEST_GROUPS = 5  # with fewer, draws repeat each other; at 3 one interval in ten of equal runs has no zero

Floats = NDArray[np.float64]
Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Resampled:
    """What one run came to on R resamples of its test documents, [R] each.

    Args:
        main: what its plan is judged by: macro F1 where all tasks are yes/no.
        micro: micro F1, where all tasks are yes/no.
    """

    main: Floats
    micro: Floats | None = None


def document_weights(
    ids: Sequence[str], groups: Sequence[str] | None = None, *, resamples: int = DOCUMENT_RESAMPLES
) -> Weights:
    """How often each of N documents came in each of R draws with replacement, [R, N].

    Groups are drawn whole, as many as there are: documents of one (sentences of an abstract) depend on each
    other, and drawn singly they make intervals too narrow (Davison and Hinkley, "Bootstrap methods and their
    application", 1997, section 3.8; Field and Welsh, "Bootstrapping clustered data", JRSS B 69, 2007).

    The seed comes from `ids` alone: runs with the same test documents get the same draws, so the difference
    of their results is a paired bootstrap (Koehn, "Statistical significance tests for machine translation
    evaluation", 2004).

    Args:
        ids: of the documents.
        groups: what each is part of [N]; None where each is drawn by itself.
        resamples: R.
    """
    first: dict[str, int] = {}
    place = np.array([first.setdefault(group, len(first)) for group in groups or ids], np.int64)
    count = len(first)
    rng = np.random.default_rng(seed_from("bootstrap documents", content_key(list(ids))))
    weights = np.empty((resamples, len(ids)), np.float32)
    for row in weights:
        row[:] = np.bincount(rng.integers(0, count, count), minlength=count)[place]
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
    return [t for t in tasks if t.kind in SCORING and t.main_metric in SCORING[t.kind].others]


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


def document_interval(
    first: Sequence[Resampled], second: Sequence[Resampled], figure: str, *, groups: int
) -> Interval | None:
    """95% interval of the difference first - second in a figure, from test documents drawn anew.

    It covers which documents happened to be in the test set, and nothing else: not the noise of training,
    and not which documents were trained on. Quantiles of resamples are too near to each other where few
    groups are drawn, so their levels are those of Hesterberg's expanded percentile interval ("What teachers
    should know about the bootstrap", The American Statistician 69, 2015): Phi(-sqrt(n / (n - 1)) t(n - 1)).

    Args:
        first, second: the same folds and seeds of two runs; their mean is compared.
        figure: `main` or `micro`, which all of them have.
        groups: n, how many were drawn each time. Nothing comes of fewer than 5.
    """
    if groups < FEWEST_GROUPS:
        return None
    from scipy.special import ndtr, stdtrit

    tail = float(ndtr(-((groups / (groups - 1)) ** 0.5) * stdtrit(groups - 1, 1 - ALPHA / 2)))
    pairs = zip(first, second, strict=True)
    differences = np.mean([getattr(a, figure) - getattr(b, figure) for a, b in pairs], axis=0)
    low, high = np.quantile(differences, [tail, 1 - tail])
    return Interval(float(low), float(high))
