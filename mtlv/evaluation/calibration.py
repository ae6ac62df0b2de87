"""Calibration: whether labels are as frequent as their predicted probabilities say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.significance import Interval
from mtlv.plan.scores import Scores

BINS = 10
SMALLEST = 1e-7  # probabilities are at least this far from 0 and 1, so that their logits are finite
NORMAL = 1.96  # quantile of a standard normal for a 95% interval
RANGE = (0.05, 20.0)  # of temperatures

Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class Bin:
    """Predictions with probabilities of one tenth of 0 to 1."""

    probability: float  # mean
    share: float  # of those that are true
    count: int

    @property
    def interval(self) -> Interval:
        """The 95% interval of the share, for independent predictions.

        Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
        """
        squared = NORMAL**2 / self.count
        middle = (self.share + squared / 2) / (1 + squared)
        half = (
            NORMAL
            * sqrt(self.share * (1 - self.share) / self.count + squared / (4 * self.count))
            / (1 + squared)
        )
        return Interval(max(0.0, middle - half), min(1.0, middle + half))


def known_pairs(scores: Scores, tasks: Sequence[str]) -> tuple[Floats, Truth]:
    """Return M probabilities of yes/no tasks, of the documents with a target, and whether each is true."""
    held = [scores.tasks[name] for name in tasks]
    outputs = [np.asarray(each.outputs, np.float64)[each.mask] for each in held]
    return np.concatenate(outputs), np.concatenate([(each.targets == 1)[each.mask] for each in held])


def squared_errors(scores: Scores, tasks: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the sum of squared errors of each document's probabilities [N], and their number [N].

    The Brier score is the ratio of their sums over documents (Brier, "Verification of forecasts expressed in
    terms of probability", Monthly Weather Review 78, 1950): 0 is the best; a constant probability of one half
    has 0.25.
    """
    errors, count = np.zeros(len(scores.ids)), np.zeros(len(scores.ids))
    for held in (scores.tasks[name] for name in tasks):
        own = (np.asarray(held.outputs, np.float64) - (held.targets == 1)) ** 2
        errors += np.where(held.mask, own, 0.0)
        count += held.mask
    return errors, count


def reliability(probabilities: Floats, truth: Truth) -> list[Bin]:
    """Return the bins of equal width that are not empty, lowest first."""
    place = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    count = np.bincount(place, minlength=BINS)
    sums, hits = (np.bincount(place, values, BINS).tolist() for values in (probabilities, truth))
    return [Bin(sums[n] / held, hits[n] / held, held) for n, held in enumerate(count.tolist()) if held]


def calibration_error(bins: Sequence[Bin]) -> float:
    """Return the expected calibration error: the mean distance of probability and share, weighted by count.

    Naeini et al., "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.
    """
    return sum(each.count * abs(each.probability - each.share) for each in bins) / sum(b.count for b in bins)


def temperature(probabilities: Floats, truth: Truth) -> float | None:
    """Return the T for which sigmoid(logit(p) / T) has the lowest log loss: above 1 for over-confidence.

    Guo et al., "On calibration of modern neural networks", ICML 2017. None if the lowest is out of `RANGE`,
    as without errors or documents.
    """
    from scipy.optimize import minimize_scalar

    if not len(truth):
        return None
    clipped = np.clip(probabilities, SMALLEST, 1 - SMALLEST)
    logits = np.log(clipped) - np.log1p(-clipped)
    signed = np.where(truth, -logits, logits)

    def loss(inverse: float) -> float:
        return float(np.logaddexp(0.0, inverse * signed).mean())

    found = minimize_scalar(
        lambda power: loss(exp(-power)),
        bounds=tuple(map(log, RANGE)),
        method="bounded",
        options={"xatol": 1e-4},
    )
    inside = RANGE[0] * 1.01 < exp(found.x) < RANGE[1] / 1.01
    return exp(found.x) if inside else None
