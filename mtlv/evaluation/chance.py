"""A grouping beside random groupings with groups of the same sizes: could chance have done as well?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mtlv.evaluation.comparison import ComparedRun, Comparison, is_random, mean_and_sd
from mtlv.evaluation.pairs import comparable

LEVEL = 0.05
ENOUGH = 19
"""Random groupings without which no grouping can be shown to be better: 1 / (19 + 1) is the level."""
NOT_COMPARED = ("grouping.", "store.", "tracking.", "execution.")  # settings that controls may differ in


@dataclass(frozen=True)
class AgainstRandom:
    """A run and its controls: runs that differ from it only in that their groups are random.

    Args:
        run: a run with groups.
        score: its main score, the mean over its folds and seeds.
        controls: at least one.
        scores: main score of each control.
    """

    run: ComparedRun
    score: float
    controls: tuple[ComparedRun, ...]
    scores: tuple[float, ...]

    @property
    def as_good(self) -> int:
        """Number of controls whose score is at least as high."""
        return sum(score >= self.score for score in self.scores)

    @property
    def p(self) -> float:
        """Probability of a place as high among random groupings: (1 + as good) / (1 + controls).

        Source: Phipson and Smyth, "Permutation P-values should never be zero" (2010).
        """
        return (1 + self.as_good) / (1 + len(self.scores))

    @property
    def better(self) -> bool:
        """Whether the groups are shown to be better than random ones."""
        return self.p <= LEVEL


def against_random(comparison: Comparison, run: ComparedRun) -> AgainstRandom | None:
    """Compare a run with its controls; None if its own groups are random, or if there is no control.

    Controls have the same data, folds, seeds, sizes of groups and settings of training.
    """
    score = _score(run)
    if run.groups is None or is_random(run) or score is None:
        return None
    found = [
        (other, reached)
        for other in comparison.runs
        if is_random(other) and _like(run, other) and (reached := _score(other)) is not None
    ]
    if not found:
        return None
    return AgainstRandom(run, score, tuple(other for other, _ in found), tuple(each for _, each in found))


def _score(run: ComparedRun) -> float | None:
    mean, _ = mean_and_sd(run.mains)
    return mean if run.status == "FINISHED" and mean is not None and math.isfinite(mean) else None


def _like(run: ComparedRun, other: ComparedRun) -> bool:
    return _sizes(run) == _sizes(other) and trained_alike(run, other)


def trained_alike(run: ComparedRun, other: ComparedRun) -> bool:
    """Whether two runs differ in their groups only: with the same data, folds, seeds and training."""
    return (
        comparable(run, other)
        and _settings(run) == _settings(other)
        and [child.pair for child in run.children] == [child.pair for child in other.children]
    )


def _sizes(run: ComparedRun) -> list[int]:
    return sorted(len(group) for group in run.groups.groups) if run.groups else []


def _settings(run: ComparedRun) -> dict[str, object]:
    """Return the settings of training; `k` is the number of groups that was found."""
    return {
        key: value for key, value in run.params.items() if key != "k" and not key.startswith(NOT_COMPARED)
    }
