"""Features by linear probes: of training documents of a label's own data set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mtlv_lab.probes import probe_weights, rank_probe

from mtlv.data.folds import Fold
from mtlv.data.joined import join
from mtlv.data.source import Corpus
from mtlv.errors import GroupingError
from mtlv.plan import Task
from mtlv.planning.groups import task_groups
from mtlv.planning.task_vectors import VectorSource
from mtlv.settings import load_overrides
from mtlv.units.input_cache import InputCache

BASE = (
    "data.name=synthetic",
    "data.documents=90",
    "data.max_length=24",
    "encoder=tiny",
    "architecture=gmtl",
)


class Bench(InputCache):
    """A workbench whose corpus can be exchanged while encoder and split stay."""

    replaced = None

    def corpus(self, data):
        return self.replaced if self.replaced is not None else super().corpus(data)


@pytest.fixture(scope="module")
def cache():
    return Bench()


def view(cache, *overrides, special_tokens=True):
    settings = load_overrides([*BASE, *overrides]).members[0].settings
    return VectorSource(cache, settings, cache.folds(settings.data)[0], special_tokens)


def tampered(corpus, train):
    """The corpus with targets and texts of all documents outside `train` in another order."""
    others = np.setdiff1d(np.arange(len(corpus)), train)
    order = np.arange(len(corpus))
    order[others] = np.roll(others, 7)
    targets = {}
    for name, column in corpus.targets.items():
        targets[name] = column.copy()
        targets[name][others] = 1 - column[others]
    return replace(corpus, texts=tuple(corpus.texts[i] for i in order), targets=targets)


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


def of_two_sources(cache, monkeypatch):
    """Two labels of each of two data sets, about two topics that their vectors show, beside the data set."""
    rng = np.random.default_rng(0)
    topics, size = rng.integers(2, size=400), 200
    vectors = np.hstack(
        [np.eye(2)[topics] + 0.2 * rng.normal(size=(400, 2)), np.repeat([[1.0], [-1.0]], size, 0)]
    )
    members = []
    for number, letter in enumerate("ab"):
        own = slice(number * size, (number + 1) * size)
        rates = np.where(topics[own, None] == np.arange(2), 0.9, 0.1) * (1.0, 0.3)[number]
        labels = (rng.random(rates.shape) < rates).astype(np.int8).T
        names = tuple(f"{letter}{at}" for at in range(2))
        ids = tuple(f"{letter}{at}" for at in range(size))
        tasks = tuple(Task(name, source=letter) for name in names)
        members.append(Corpus(letter, tasks, ids, ids, dict(zip(names, labels, strict=True))))
    other = Bench()
    other.replaced = join(members)
    monkeypatch.setattr(other, "tasks", lambda _: other.replaced.tasks)
    monkeypatch.setattr(VectorSource, "embed", lambda *_: vectors)
    rows = rng.permutation(400)
    fold = Fold(0, np.sort(rows[:300]), np.sort(rows[300:350]), np.sort(rows[350:]))
    return replace(view(cache), cache=other, fold=fold)


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
