"""Selective classification: how many decisions are wrong if the least sure ones are left to people.

A decision is the answer of a task for one document with a target: yes or no of a label, or a class. The risk
is the share of wrong decisions among those that are accepted, the coverage the share that is accepted
(Geifman and El-Yaniv, "Selective classification for deep neural networks", NeurIPS 2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.significance import ALPHA
from mtlv.plan import Scores, Task
from mtlv.plan.temperature import confidence, least_confidence

COVERAGES = 20  # for which an error is bounded: 5%, 10%, ..., 100%

Limits = list[tuple[float, float]]
"""Bounds of the error and the confidences that they hold from, by falling coverage."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """M decisions."""

    confidence: NDArray[np.float64]  # [M] as of `mtlv.plan.temperature.confidence`
    wrong: NDArray[np.bool_]  # [M]

    @classmethod
    def joined(cls, parts: Iterable[Decisions]) -> Decisions:
        """Return the decisions of several tasks or models, or of none."""
        pairs = [(np.empty(0), np.empty(0, bool)), *((part.confidence, part.wrong) for part in parts)]
        return cls(*map(np.concatenate, zip(*pairs, strict=True)))

    def accepted(self, least: float) -> NDArray[np.bool_]:
        """Return whether each decision is wrong, of those with this confidence or more."""
        return self.wrong[self.confidence >= least]


def decisions_by_task(
    scores: Scores, tasks: Sequence[Task], thresholds: Mapping[str, float]
) -> dict[str, Decisions]:
    """Return the decisions of each task with classes or a threshold, for the documents with a target."""
    out = {}
    for name, classes in ((task.name, task.classes) for task in tasks if task.name in scores.tasks):
        task_scores = scores.tasks[name]
        if name in thresholds or (classes and task_scores.outputs.ndim == 2):
            outputs = np.asarray(task_scores.outputs, np.float64)[task_scores.mask]
            threshold = thresholds.get(name, 0.5)
            decided = outputs.argmax(axis=1) if outputs.ndim == 2 else outputs >= threshold
            wrong = decided != task_scores.targets[task_scores.mask]
            out[name] = Decisions(confidence(outputs, threshold), wrong)
    return out


def risk_over_coverage(decisions: Decisions) -> NDArray[np.float64]:
    """Return the share of wrong ones among the 1, 2, ..., M most confident decisions [M].

    Decisions of the same confidence are each as wrong as their mean, so that their order does not matter. The
    mean of the curve is the area under it (AURC; Geifman et al., "Bias-reduced uncertainty estimation for
    deep neural classifiers", ICLR 2019).
    """
    _, place, count = np.unique(-decisions.confidence, return_inverse=True, return_counts=True)
    share = np.bincount(place, decisions.wrong) / count
    return np.asarray(np.cumsum(np.repeat(share, count)) / np.arange(1, len(place) + 1))


def error_limits(validation: Decisions) -> Limits:
    """Return upper bounds of a task's error at falling coverages, each lower than those before.

    With a probability of 95% over independent validation documents, all bounds hold: each is the exact
    binomial one of Geifman and El-Yaniv's lemma 3.1, at `COVERAGES` coverages by Bonferroni. Their binary
    search tests fewer coverages, but serves one wanted error. Without any errors, 0.05 needs 117 documents.
    """
    from scipy.stats import beta

    limits: Limits = []
    order = np.sort(validation.confidence)[::-1]
    for step in range(COVERAGES, 0, -1) if order.size else ():
        least = float(order[ceil(order.size * step / COVERAGES) - 1]) if step < COVERAGES else 0.0
        wrong = validation.accepted(least)
        errors, right = int(wrong.sum()), int((~wrong).sum())
        bound = float(beta.ppf(1 - ALPHA / COVERAGES, errors + 1, right)) if right else 1.0
        if not limits or bound < limits[-1][0]:
            limits.append((bound, least))
    return limits


def made_on_test(
    limits: Mapping[str, Limits], test: Mapping[str, Decisions], error: float
) -> NDArray[np.bool_] | None:
    """Return whether each decision on test is wrong, of those that a wanted error leaves; None without any.

    Tasks without a limit for the error abstain from everything, as in `mtlv predict`. `limits` are those of
    the validation documents, by task.
    """
    least = {name: least_confidence(of_task, error) for name, of_task in limits.items()}
    parts = [test[name].accepted(value) for name, value in least.items() if value is not None]
    return np.concatenate(parts) if any(part.size for part in parts) else None
