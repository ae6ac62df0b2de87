"""In what order sources give their batches, and which documents are in them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from mtlv.data.batches import PartDocuments
from mtlv.data.mixing import DRAWS, IN_PROPORTION, ROUNDS, UNIFORM, Draw, Mixture, by_temperature
from mtlv.data.tokens import Tokens

COUNTS = (40, 12, 9)
SIZES = (4, 4, 2)
BATCHES = (10, 3, 5)
SOURCES = (0, 1, 2)


def mixture(draw: Draw, counts: tuple[int, ...] = COUNTS, sizes: tuple[int, ...] = SIZES) -> Mixture:
    total = sum(counts)
    tokens = Tokens(np.ones(3 * total, np.int32), np.arange(total + 1) * 3, pad=0, truncated=0)
    starts = np.cumsum([0, *counts])
    parts = [PartDocuments(tokens, {}, np.arange(a, b)) for a, b in pairwise(starts)]
    return Mixture(tuple(parts), sizes, draw)


def epoch_of(mix: Mixture, *, seed: int = 1, epoch: int = 0) -> list[tuple[int, list[int]]]:
    """The source and the documents of each batch."""
    starts = np.cumsum([0, *map(len, mix.parts)])
    return [
        (int(np.searchsorted(starts, batch.index[0], side="right")) - 1, batch.index.tolist())
        for batch in mix.training(seed=seed, epoch=epoch)
    ]


def shares(draw: Draw, batches: tuple[int, ...]) -> list[float]:
    order = draw.order(batches, np.random.default_rng(0), 0)
    assert len(order) == sum(batches)
    return (np.bincount(order, minlength=len(batches)) / len(order)).tolist()


def test_in_proportion_every_document_comes_once() -> None:
    found = epoch_of(mixture(IN_PROPORTION))
    assert sorted(row for _, rows in found for row in rows) == list(range(sum(COUNTS)))
    assert Counter(source for source, _ in found) == dict(enumerate(BATCHES))
    assert [source for source, _ in found] != sorted(source for source, _ in found), "they are mixed"


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0, 1e6])
def test_by_temperature_the_roots_of_sizes_are_shares(temperature: float) -> None:
    batches = (64_000, 8_000, 1_000)
    roots = np.array(batches) ** (1 / temperature)
    assert shares(by_temperature(temperature), batches) == pytest.approx(roots / roots.sum(), abs=0.01)
    assert shares(DRAWS["temperature"](temperature), batches) == shares(by_temperature(temperature), batches)


def test_a_temperature_may_change_over_the_epochs() -> None:
    """Those of PALs: exponents from 1 to 0.2 by equal steps."""
    batches, epochs = (64_000, 8_000, 1_000), 5
    draw = DRAWS["temperature"]((1.0, 5.0), epochs)
    for epoch, exponent in enumerate((1.0, 0.8, 0.6, 0.4, 0.2)):
        order = draw.order(batches, np.random.default_rng(0), epoch)
        assert len(order) == sum(batches)
        wanted = np.array(batches) ** exponent
        found = np.bincount(order, minlength=3) / len(order)
        assert found.tolist() == pytest.approx(wanted / wanted.sum(), abs=0.01)
    alone, first = by_temperature((1.0, 5.0), 1), by_temperature(1.0)
    assert shares(alone, batches) == shares(first, batches), "the only epoch has the first temperature"
    still = by_temperature(2.0, epochs)
    orders = [still.order(batches, np.random.default_rng(0), epoch).tolist() for epoch in range(epochs)]
    assert orders == [orders[0]] * epochs


def test_an_epoch_of_a_mixture_has_its_own_shares() -> None:
    mix = mixture(by_temperature((1.0, 1e6), 40), counts=(400, 4), sizes=(4, 4))
    first, last = ([source for source, _ in epoch_of(mix, epoch=epoch)] for epoch in (0, 39))
    assert len(first) == len(last) == mix.batches
    assert np.mean(first) < 0.1 < 0.3 < np.mean(last)


def test_uniformly_all_sources_have_the_same_share() -> None:
    assert shares(UNIFORM, (9_000, 900, 100)) == pytest.approx([1 / 3] * 3, abs=0.02)


def test_a_round_has_a_batch_of_each_source_until_the_longest_ends() -> None:
    mix = mixture(ROUNDS)
    found = epoch_of(mix)
    assert len(found) == mix.batches == max(BATCHES) * len(BATCHES)
    for step in range(max(BATCHES)):
        assert sorted(source for source, _ in found[step * 3 : step * 3 + 3]) == list(SOURCES)
    longest = [row for source, rows in found for row in rows if source == 0]
    assert sorted(longest) == list(range(COUNTS[0]))


@pytest.mark.parametrize("name", sorted(DRAWS))
def test_steps_and_batches_are_counted_as_they_come(name: str) -> None:
    mix = mixture(DRAWS[name](2.0))
    assert mix.per_step == (3 if name == "rounds" else 1)
    assert mix.batches == len(epoch_of(mix))
    assert len(mix) == sum(COUNTS)
    for source, rows in epoch_of(mix):
        assert len(rows) <= SIZES[source]
        start = sum(COUNTS[:source])
        assert all(start <= row < start + COUNTS[source] for row in rows)


def laps(found: list[tuple[int, list[int]]], source: int) -> list[list[list[int]]]:
    """Batches of a source, cut where all of its documents were seen."""
    own = [rows for each, rows in found if each == source]
    per_lap = BATCHES[source]
    return [own[at : at + per_lap] for at in range(0, len(own) - per_lap + 1, per_lap)]


def test_a_source_that_begins_again_has_all_its_documents_in_another_order() -> None:
    found = epoch_of(mixture(ROUNDS))
    for source in (1, 2):
        first, second, *_ = laps(found, source)
        start = sum(COUNTS[:source])
        for lap in (first, second):
            assert sorted(row for rows in lap for row in rows) == list(range(start, start + COUNTS[source]))
        assert first != second
        assert {frozenset(rows) for rows in first} != {frozenset(rows) for rows in second}


@pytest.mark.parametrize("name", sorted(DRAWS))
def test_an_epoch_is_the_same_whenever_it_is_asked_and_unlike_others(name: str) -> None:
    mix = mixture(DRAWS[name](2.0))
    found = epoch_of(mix)
    assert epoch_of(mix) == found
    for other in (epoch_of(mix, epoch=1), epoch_of(mix, seed=2)):
        assert other != found
        ours, theirs = ([source for source, _ in each] for each in (found, other))
        assert (ours != theirs) == (name != "rounds"), "sources are drawn anew"
        for source in SOURCES:
            assert [rows for s, rows in other if s == source] != [rows for s, rows in found if s == source]


def test_sources_of_the_same_length_have_orders_of_their_own() -> None:
    found = epoch_of(mixture(IN_PROPORTION, (24, 24), (4, 4)))
    first, second = ([[row - 24 * s for row in rows] for s, rows in found if s == n] for n in (0, 1))
    assert first != second
    assert {frozenset(rows) for rows in first} != {frozenset(rows) for rows in second}


def test_one_source_has_the_batches_that_it_has_alone() -> None:
    mix = mixture(IN_PROPORTION, (40,), (4,))
    alone = [batch.index.tolist() for batch in mix.parts[0].training(4, seed=1, epoch=2)]
    assert [rows for _, rows in epoch_of(mix, epoch=2)] == alone
