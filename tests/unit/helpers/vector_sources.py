"""Views of a corpus for features of tasks, whose corpus can be exchanged while encoder and split stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mtlv.data.folds import Fold
from mtlv.data.joined import join
from mtlv.data.source import Corpus
from mtlv.plan import Task
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
