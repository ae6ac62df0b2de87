"""Choice among the values that are tried for a run, such as its learning rate, by validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

Child = tuple[int, int]
"""Fold and seed."""


@dataclass(frozen=True)
class Candidate:
    """A run with one of the values that are tried for it.

    Args:
        of: identifies the run that it is tried for; candidates of the same run are compared.
        name: its own name.
        scores: validation score of the kept weights, by fold and seed: the mean over its tasks of the metric
            that is logged per epoch, such as average precision.
    """

    of: object
    name: str
    scores: Mapping[Child, float]


@dataclass(frozen=True)
class Tried:
    """A candidate with its mean validation score, and whether it was chosen."""

    of: object
    name: str
    score: float
    chosen: bool


def choose(candidates: Sequence[Candidate]) -> list[Tried]:
    """Return the candidates with the best of each run chosen; of equal ones the first.

    The score is the mean over the folds and seeds that all candidates of a run have. Test scores choose
    nothing.

    Example:
        >>> tried = choose([Candidate(0, "1e-4", {(0, 0): 0.8}), Candidate(0, "2e-4", {(0, 0): 0.7})])
        >>> [each.name for each in tried if each.chosen]
        ['1e-4']
    """
    means: dict[object, list[float]] = {}
    for each in candidates:
        same = [other for other in candidates if other.of == each.of]
        common = set.intersection(*(set(other.scores) for other in same))
        values = [each.scores[child] for child in sorted(common or each.scores)]
        means.setdefault(each.of, []).append(fmean(values) if values else float("-inf"))
    places: dict[object, int] = {}
    out = []
    for each in candidates:
        place, scores = places.get(each.of, 0), means[each.of]
        out.append(Tried(each.of, each.name, scores[place], place == scores.index(max(scores))))
        places[each.of] = place + 1
    return out
