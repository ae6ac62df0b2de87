"""A grouping beside random groupings with groups of the same sizes: could chance have done as well?"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass

from mtlv.evaluation.compared_runs import ComparedFold, ComparedRun, Comparison, is_random, mean_and_sd
from mtlv.evaluation.pairs import alike

Pairs = frozenset[tuple[int, int]]  # folds and seeds
Partition = frozenset[frozenset[str]]
Draw = tuple[str, Partition]  # seed and groups
LEVEL = 0.05
ENOUGH = 19
"""Random groupings without which no grouping can be shown to be better: 1 / (19 + 1) is the level."""
# Settings that controls may differ in; only seeds that all have are compared, and `k` is what was found.
MAY_DIFFER = ("grouping.", "store.", "tracking.", "execution.", "seed", "k")


@dataclass(frozen=True)
class AgainstRandom:
    """A run and its controls: runs that differ from it only in that their groups are random.

    Args:
        run: a run with groups.
        score: its main score, the mean over the folds and seeds of the controls.
        controls: at least one.
        scores: main score of each control.
        selected: whether models of the run were measured to choose its groups, so that luck of training
            counts for them, and not for the controls.
    """

    run: ComparedRun
    score: float
    controls: tuple[ComparedRun, ...]
    scores: tuple[float, ...]
    selected: bool = False

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
    def possible(self) -> int:
        """Number of different groupings of the run's tasks with groups of the same sizes, with its own."""
        sizes = self.run.sizes
        orders = [math.factorial(count) for count in (*sizes, *Counter(sizes).values())]
        return math.factorial(sum(sizes)) // math.prod(orders)

    @property
    def same(self) -> int:
        """Number of controls whose random groups are those of the run."""
        partition = _partition(self.run)
        return sum(_partition(control) == partition for control in self.controls)

    @property
    def better(self) -> bool:
        """Whether the groups are shown to be better than random ones."""
        return self.p <= LEVEL and not self.selected


def against_random(comparison: Comparison, run: ComparedRun) -> AgainstRandom | None:
    """Compare a run with its controls; None if its own groups are random, or if there is no control.

    Controls have the same data, sizes of groups and settings of training, and folds and seeds that the run
    has too. If they have different ones, those that most of them have are compared. Random groups that were
    drawn twice from one seed count once.
    """
    if run.groups is None or is_random(run):
        return None
    controls_by_pairs: dict[Pairs, dict[Draw, tuple[ComparedRun, float]]] = defaultdict(dict)
    for other in comparison.runs:
        pairs = _pairs(other)
        score = _score(other, pairs)
        is_control = is_random(other) and run.sizes == other.sizes and alike(run, other, MAY_DIFFER)
        if is_control and score is not None and pairs <= _pairs(run):
            controls_by_pairs[pairs].setdefault(
                (other.params.get("grouping.seed", other.key), _partition(other)), (other, score)
            )
    if not controls_by_pairs:
        return None
    pairs, controls = max(controls_by_pairs.items(), key=lambda item: (len(item[1]), len(item[0])))
    run_score = _score(run, pairs)
    if run_score is None:
        return None
    others, scores = zip(*controls.values(), strict=True)
    selected = any(child.measured for child in _children(run, pairs))
    return AgainstRandom(run, run_score, others, scores, selected)


def _pairs(run: ComparedRun) -> Pairs:
    return frozenset(child.pair for child in run.children)


def _children(run: ComparedRun, pairs: Pairs) -> list[ComparedFold]:
    return [child for child in run.children if child.pair in pairs]


def _score(run: ComparedRun, pairs: Pairs) -> float | None:
    scores = [child.main for child in _children(run, pairs) if child.main is not None]
    mean, _ = mean_and_sd(scores)
    return mean if run.status == "FINISHED" and mean is not None and math.isfinite(mean) else None


def _partition(run: ComparedRun) -> Partition:
    return frozenset(map(frozenset, run.groups.groups)) if run.groups else frozenset()
