"""Choice among the values that are tried for a run, such as its learning rate, by validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
        finished: whether it has all folds and seeds.
    """

    of: object
    name: str
    scores: Mapping[Child, float]
    finished: bool = True


@dataclass(frozen=True)
class Tried:
    """A candidate with its mean validation score (None if unknown), and whether it was chosen."""

    of: object
    name: str
    score: float | None
    chosen: bool
    finished: bool = True


def choose(candidates: Sequence[Candidate]) -> list[Tried]:
    """Return the candidates with the best of each run chosen; of equal ones the first.

    The score is the mean over the folds and seeds that all finished candidates of the run have. One that is
    not finished is chosen only if none is; if no score is known, all are chosen. Test scores choose nothing.

    Example:
        >>> tried = choose([Candidate(0, "1e-4", {(0, 0): 0.8}), Candidate(0, "2e-4", {(0, 0): 0.7})])
        >>> [each.name for each in tried if each.chosen]
        ['1e-4']
    """
    runs: dict[object, list[Candidate]] = {}
    for candidate in candidates:
        runs.setdefault(candidate.of, []).append(candidate)
    judged = {of: _judge(same) for of, same in runs.items()}
    return [next(judged[candidate.of]) for candidate in candidates]


def _judge(same: Sequence[Candidate]) -> Iterator[Tried]:
    """Yield the candidates of one run in order."""
    known = [candidate for candidate in same if candidate.scores]
    able = [candidate for candidate in known if candidate.finished] or known
    common = set.intersection(*(set(candidate.scores) for candidate in able)) if able else set()
    scores = [[x.scores[child] for child in sorted(x.scores.keys() & common or x.scores)] for x in same]
    means = [fmean(values) if values else None for values in scores]
    values = [
        float("-inf") if mean is None or candidate not in able else mean
        for candidate, mean in zip(same, means, strict=True)
    ]
    for number, (candidate, mean) in enumerate(zip(same, means, strict=True)):
        chosen = number == values.index(max(values)) or not able
        yield Tried(candidate.of, candidate.name, mean, chosen, candidate.finished)
