"""Features by linear probes: of training documents of a label's own data set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mtlv_lab.probes import probe_weights, rank_probe
from vector_sources import Bench, of_two_sources, tampered, view

from mtlv.errors import GroupingError
from mtlv.planning.groups import task_groups
from mtlv.planning.task_vectors import VectorSource


@pytest.fixture(scope="module")
def cache():
    return Bench()


def test_groups_come_from_training_documents_alone(cache):
    seen = view(cache, "grouping.features=probe_weights", "grouping.k=3")
    wanted = task_groups(seen)
    other = Bench()
    other.replaced = tampered(seen.corpus, seen.fold.train)
    encoder = cache.encoder(seen.settings.encoder, seen.settings.data)
    other.encoder = lambda *args: encoder
    found = task_groups(replace(seen, cache=other))
    assert found.groups == wanted.groups
    assert np.array_equal(found.vectors, wanted.vectors)


def test_probes_weigh_standardised_vectors(cache, monkeypatch):
    seen, rng = view(cache), np.random.default_rng(0)
    vectors = rng.normal(size=(len(seen.corpus), 3)) * [1, 100, 0.01] + 5
    names = seen.corpus.names
    targets = dict(seen.corpus.targets) | {names[0]: (vectors[:, 1] > 5).astype(np.int8)}
    other = Bench()
    other.replaced = replace(seen.corpus, targets=targets)
    monkeypatch.setattr(VectorSource, "embed", lambda *_: vectors)
    found = probe_weights.compute(replace(seen, cache=other))
    assert found[0, 1] == pytest.approx(0.8, abs=0.1)  # sqrt(2 / pi) for a normal variable and its sign
    assert np.abs(found[0, [0, 2]]).max() < 0.1


def test_probes_of_a_data_set_read_no_documents_of_another(cache, monkeypatch):
    seen = of_two_sources(cache, monkeypatch)
    found = probe_weights.compute(seen)
    assert seen.corpus.names == ("a0", "a1", "b0", "b1")
    assert np.abs(found[:, 2]).max() < 1e-9, "which data set it is tells nothing within one"
    assert (found[:, 0] > found[:, 1]).tolist() == [True, False, True, False]


def test_the_rank_probe_refuses_several_data_sets(cache, monkeypatch):
    seen = of_two_sources(cache, monkeypatch)
    with pytest.raises(GroupingError, match=r"\(got tasks of a, b\); set `grouping.features: "):
        rank_probe.compute(seen)
    with pytest.raises(GroupingError, match=r"\(got tasks of a, b\)"):
        rank_probe.fits(seen.corpus.tasks)
