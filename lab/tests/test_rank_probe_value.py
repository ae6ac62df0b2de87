"""The rank probe: what linear probes gain on validation documents if those of a group share a direction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np
import pytest
from mtlv_lab.rank_probe import RankProbe
from sklearn.metrics import adjusted_rand_score

from mtlv.errors import GroupingError
from mtlv.grouping import GroupValue, best_partition

RNG = np.random.default_rng(0)
FITTED, OUTPUTS, TRUTH = RNG.normal(size=(40, 6)), RNG.normal(size=(15, 6)), RNG.normal(size=(15, 6))
ALL = (np.arange(1 << 6)[:, None] >> np.arange(6) & 1).astype(bool)


def naive(tasks: tuple[int, ...], rank: int) -> dict[int, float]:
    """Each task's mean squared error alone, minus that with the singular vectors of the group's outputs."""
    own = list(tasks)
    _, _, right = np.linalg.svd(FITTED[:, own])
    shared = OUTPUTS[:, own] @ right[:rank].T @ right[:rank]
    alone, together = (np.mean((TRUTH[:, own] - each) ** 2, axis=0) for each in (OUTPUTS[:, own], shared))
    return dict(zip(own, alone - together, strict=True))


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_each_subset_has_the_value_of_a_naive_computation(rank: int) -> None:
    probe = RankProbe(FITTED, OUTPUTS, TRUTH, rank)
    gains, values = probe.gains(ALL), probe.of(ALL)
    for group, own, value in zip(ALL, gains, values, strict=True):
        expected = naive(tuple(np.flatnonzero(group)), rank) if group.any() else {}
        wanted = np.array([expected.get(task, np.nan) for task in range(6)])
        np.testing.assert_allclose(own, wanted, atol=1e-12)
        assert value == pytest.approx(sum(expected.values()), abs=1e-12)


def test_a_task_alone_has_the_value_0_and_so_has_a_group_that_may_keep_all_directions() -> None:
    sizes = ALL.sum(axis=1)
    assert RankProbe(FITTED, OUTPUTS, TRUTH).of(ALL[sizes < 2]).tolist() == [0.0] * 7
    np.testing.assert_allclose(RankProbe(FITTED, OUTPUTS, TRUTH, rank=3).of(ALL[sizes <= 3]), 0, atol=1e-12)
    assert np.abs(RankProbe(FITTED, OUTPUTS, TRUTH, rank=3).of(ALL[sizes > 3])).min() > 1e-6


def test_the_order_of_the_tasks_does_not_matter() -> None:
    order = np.array([3, 0, 5, 1, 4, 2])
    mixed = RankProbe(FITTED[:, order], OUTPUTS[:, order], TRUTH[:, order])
    np.testing.assert_allclose(mixed.of(ALL[:, order]), RankProbe(FITTED, OUTPUTS, TRUTH).of(ALL), atol=1e-12)
    np.testing.assert_allclose(
        mixed.gains(ALL[:, order]), RankProbe(FITTED, OUTPUTS, TRUTH).gains(ALL)[:, order], atol=1e-12
    )


def test_of_each_number_of_groups_at_once_the_values_are_those_of_one_after_the_other() -> None:
    probe = RankProbe(FITTED, OUTPUTS, TRUTH)
    np.testing.assert_allclose(probe.of(ALL), [probe.of(group[None])[0] for group in ALL], atol=1e-12)


def planted(
    seed: int, tasks: int, *, train: int, held: int, noise: float, rates: tuple[float, float]
) -> list[np.ndarray]:
    """Least-squares outputs for labels of three topics, as many of each, and what they should be."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(3, size=train + held)
    labels = rng.random((len(topics), tasks)) < np.where(topics[:, None] == np.arange(tasks) % 3, *rates)
    vectors = np.hstack([np.eye(3)[topics], np.zeros((len(topics), 60))])
    vectors += np.where(np.arange(63) < 3, noise, 1.0) * rng.normal(size=vectors.shape)
    vectors, truth = (each - each[:train].mean(axis=0) for each in (vectors, labels.astype(float)))
    weights = np.linalg.solve(vectors[:train].T @ vectors[:train], vectors[:train].T @ truth[:train])
    return [vectors[:train] @ weights, vectors[train:] @ weights, truth[train:]]


@pytest.mark.parametrize("seed", range(5))
def test_three_planted_topics_are_found(seed: int) -> None:
    """Of 100 seeds with these numbers, all give the three topics."""
    found = best_partition(RankProbe(*planted(seed, 9, train=200, held=2000, noise=0.2, rates=(0.8, 0.05))))
    assert found.labels == (0, 1, 2) * 3
    assert found.value > 0


class OfRanks(GroupValue):
    """The largest value of a group over the ranks that are allowed for its size."""

    def __init__(self, made: list[np.ndarray], ranks: Callable[[int], Iterable[int]]) -> None:
        self.each, self.ranks = [RankProbe(*made, rank) for rank in range(1, 13)], ranks
        self.items = self.each[0].items

    def of(self, groups: np.ndarray) -> np.ndarray:
        sizes, found = groups.sum(axis=1), np.zeros(len(groups))
        for size in range(2, self.items + 1):
            own = groups[sizes == size]
            found[sizes == size] = np.max([self.each[rank - 1].of(own) for rank in self.ranks(size)], axis=0)
        return found


def test_planted_topics_are_not_found_if_larger_groups_may_keep_more() -> None:
    """The reason for a rank of 1, as docs/methods.md gives it."""
    rules = {"one": lambda _: [1], "half": lambda size: [size // 2], "best": lambda size: range(1, size + 1)}
    found: dict[str, list[float]] = {name: [] for name in rules}
    for seed in range(3):
        made = planted(seed, 12, train=300, held=1000, noise=0.3, rates=(0.7, 0.05))
        for name, ranks in rules.items():
            labels = best_partition(OfRanks(made, ranks)).labels
            found[name].append(adjusted_rand_score(np.arange(12) % 3, labels))
    means = {name: float(np.mean(values)) for name, values in found.items()}
    assert means["one"] == 1
    assert max(means["half"], means["best"]) < 0.5


def test_tasks_that_need_directions_of_their_own_stay_alone() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(500, 5))
    outputs = truth + 0.1 * rng.normal(size=truth.shape)
    value = RankProbe(outputs[:250], outputs[250:], truth[250:])
    assert best_partition(value).labels == (0, 1, 2, 3, 4)
    pairs = [value.of(np.isin(np.arange(5), pair)[None])[0] for pair in combinations(range(5), 2)]
    assert max(pairs) < -0.5


def test_a_probe_without_outputs_gains_nothing() -> None:
    """As the one of a label that no training document has."""
    nothing = np.zeros_like(FITTED), np.zeros_like(OUTPUTS)
    assert not RankProbe(*nothing, TRUTH).of(ALL).any()


def test_it_says_on_how_many_documents_it_stands() -> None:
    note = RankProbe(FITTED, OUTPUTS, TRUTH).note
    assert note == "by probes of 40 training documents, judged by 15 for validation"


def test_numbers_must_be_finite() -> None:
    with pytest.raises(GroupingError, match="outputs of probes and labels must be finite numbers"):
        RankProbe(FITTED, OUTPUTS, np.where(TRUTH > 2, np.nan, TRUTH))
