"""The feature `rank_probe`: probes of training documents, judged by the validation part and by no other."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mtlv_lab.probes import rank_probe
from sklearn.linear_model import RidgeCV
from sklearn.metrics import adjusted_rand_score

from mtlv.data.folds import Fold
from mtlv.data.source import Corpus
from mtlv.errors import ConfigError, GroupingError
from mtlv.plan import Task
from mtlv.planning.check import check_suite
from mtlv.planning.groups import task_groups
from mtlv.planning.task_vectors import VectorSource
from mtlv.settings import load_overrides

TRAIN, VALIDATION, TEST = np.split(np.random.default_rng(1).permutation(2400), [200, 2200])
NAMES = tuple("abcdefghi")
TOPIC = np.arange(len(NAMES)) % 3
ASKED = ("data.name=synthetic", "encoder=tiny", "architecture=gmtl", "grouping.features=rank_probe")


def planted(monkeypatch: pytest.MonkeyPatch, *overrides: str, **changed: np.ndarray) -> VectorSource:
    """Documents of one of three topics each, with the labels of nine tasks, three of each topic."""
    rng = np.random.default_rng(0)
    topics = rng.integers(3, size=2400)
    labels = (rng.random((2400, 9)) < np.where(topics[:, None] == TOPIC, 0.8, 0.05)).astype(np.int8)
    vectors = np.hstack([np.eye(3)[topics] + 0.2 * rng.normal(size=(2400, 3)), rng.normal(size=(2400, 60))])
    vectors = 5 + vectors * np.geomspace(0.01, 100, 63)
    vectors = changed.get("vectors", np.copy)(vectors)
    labels = changed.get("labels", np.copy)(labels)
    ids = tuple(map(str, range(2400)))
    corpus = Corpus("toy", tuple(map(Task, NAMES)), ids, ids, dict(zip(NAMES, labels.T, strict=True)))
    monkeypatch.setattr(VectorSource, "embed", lambda _, texts: vectors[[int(text) for text in texts]])
    cache: Any = SimpleNamespace(corpus=lambda _: corpus, tasks=lambda _: corpus.tasks)
    settings = load_overrides([*ASKED, "grouping.method=best", *overrides]).members[0].settings
    fold = Fold(0, np.sort(TRAIN), np.sort(VALIDATION), np.sort(TEST))
    return VectorSource(cache, settings, fold, special_tokens=True)


def of(rows: np.ndarray) -> Any:
    """A function that turns rows around."""

    def changed(table: np.ndarray) -> np.ndarray:
        table = table.copy()
        table[rows] = table[rows].max() - table[rows]
        return table

    return changed


EACH = (np.arange(1 << 9)[:, None] >> np.arange(9) & 1).astype(bool)


def test_labels_of_three_topics_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = task_groups(planted(monkeypatch))
    assert adjusted_rand_score(found.grouping.labels, TOPIC) == 1
    assert found.reason.startswith("these groups have the value ")
    assert found.reason.endswith("by probes of 200 training documents, judged by 2000 for validation")
    assert found.vectors is None
    assert len(task_groups(planted(monkeypatch, "grouping.k=2")).groups) == 2
    assert sorted(map(len, task_groups(planted(monkeypatch, "grouping.method=random")).groups)) == [3, 3, 3]


def test_its_value_is_that_of_ridge_regressions(monkeypatch: pytest.MonkeyPatch) -> None:
    view = planted(monkeypatch)
    vectors, labels = view.embed(view.corpus.texts), view.corpus.matrix().astype(float)
    train, held = view.fold.train, view.fold.validation
    vectors, labels = ((each - each[train].mean(0)) / each[train].std(0) for each in (vectors, labels))
    own = [0, 3, 4]
    fits = [RidgeCV(alphas=np.logspace(0, 5, 11), fit_intercept=False) for _ in own]
    fits = [fit.fit(vectors[train], labels[train, task]) for fit, task in zip(fits, own, strict=True)]
    fitted, outputs = (np.stack([fit.predict(vectors[rows]) for fit in fits], 1) for rows in (train, held))
    direction = np.linalg.svd(fitted)[2][:1]
    alone, together = (
        np.mean((labels[held][:, own] - each) ** 2, axis=0).sum()
        for each in (outputs, outputs @ direction.T @ direction)
    )
    value = rank_probe.compute(view)
    assert value.of(np.isin(np.arange(9), own)[None])[0] == pytest.approx(alone - together, rel=1e-6)


def test_it_reads_training_and_validation_parts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def values(**changed: Any) -> np.ndarray:
        return rank_probe.compute(planted(monkeypatch, **changed)).of(EACH)

    usual = values()
    for name in ("labels", "vectors"):
        np.testing.assert_array_equal(values(**{name: of(TEST)}), usual)
        for rows in (TRAIN, VALIDATION):
            assert np.abs(values(**{name: of(rows)}) - usual).max() > 0.01


def test_a_label_that_no_training_document_has_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(table: np.ndarray) -> np.ndarray:
        return np.where(np.isin(np.arange(2400), TRAIN)[:, None] & (np.arange(9) == 4), 0, table)

    view = planted(monkeypatch, labels=without)
    gains = rank_probe.compute(view).gains(EACH)
    assert gains[EACH[:, 4], 4] == pytest.approx(0, abs=1e-9)
    assert np.nanmax(np.abs(gains)) < 10


def test_tasks_of_another_kind_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    view = planted(monkeypatch)
    corpus = replace(view.corpus, tasks=(Task("a", kind="regression"), *view.corpus.tasks[1:]))
    view.cache.corpus, view.cache.tasks = (lambda _: corpus), (lambda _: corpus.tasks)
    with pytest.raises(GroupingError, match=r"yes/no labels \(got other tasks: a\).*kmedoids"):
        rank_probe.compute(view)


def test_methods_of_vectors_do_not_take_it() -> None:
    check_suite(load_overrides([*ASKED, "grouping.method=best"]))
    with pytest.raises(ConfigError, match=r"`grouping.method: best`"):
        check_suite(load_overrides(list(ASKED)))
