"""Scores for the tests of this folder, made from plain arrays."""

from __future__ import annotations

import numpy as np
import pytest

from mtlv.plan import Scores, TaskScores


def _scores_of(outputs, targets, *, split="test", mask=None):
    outputs, targets = np.asarray(outputs, float), np.asarray(targets)
    mask = np.ones(targets.shape, bool) if mask is None else np.asarray(mask, bool)
    names = [f"task {t}" for t in range(targets.shape[1])]
    tasks = {name: TaskScores(outputs[:, t], targets[:, t], mask[:, t]) for t, name in enumerate(names)}
    return Scores(("u",), split, tuple(str(i) for i in range(len(outputs))), tasks), names


def _random_arrays(seed, *, documents=200, tasks=7, levels=None):
    rng = np.random.default_rng(seed)
    targets = (rng.random((documents, tasks)) < rng.uniform(0.02, 0.6, tasks)).astype(np.int8)
    outputs = np.clip(0.4 * targets + rng.normal(0.3, 0.2, targets.shape), 0, 1)
    return (outputs if levels is None else np.round(outputs * levels) / levels), targets


EDGES = {
    "nothing true": (np.random.default_rng(0).random((20, 3)), np.zeros((20, 3), int)),
    "all true": (np.random.default_rng(1).random((20, 3)), np.ones((20, 3), int)),
    "nothing predicted": (np.zeros((20, 3)), np.eye(20, 3, dtype=int)),
    "all predicted": (np.ones((20, 3)), np.eye(20, 3, dtype=int)),
    "one document": (np.array([[0.2, 0.9]]), np.array([[0, 1]])),
    "perfect": (np.eye(9, 4), np.eye(9, 4, dtype=int)),
    "exactly at the threshold": (np.full((6, 2), 0.5), np.array([[0, 1]] * 6)),
    "all outputs equal": (np.full((8, 2), 0.7), np.array([[0, 1]] * 3 + [[1, 0]] * 5)),
}
RANDOM = {f"random {s} {levels}": _random_arrays(s, levels=levels) for s in range(4) for levels in (None, 10)}
CASES = {**EDGES, **RANDOM}


@pytest.fixture(params=CASES)
def arrays(request):
    """Outputs and targets [N, T]: edge cases and random ones, with and without ties."""
    return CASES[request.param]


@pytest.fixture
def scores_of():
    """(outputs, targets, split, mask) -> Scores and names."""
    return _scores_of


@pytest.fixture
def random_arrays():
    """(seed, documents, tasks, levels) -> outputs and targets."""
    return _random_arrays
