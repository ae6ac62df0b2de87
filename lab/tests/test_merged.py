"""The merge preview: what a probe of each task gains on the encoder that is merged with that of another."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from listening import Watcher
from memory_tracker import MemoryTracker
from mtlv_lab import merged, transferability
from mtlv_lab.merged import merge_gain
from mtlv_lab.transferability import h_score, log_me, vectors_of
from safetensors.torch import load_file
from sklearn.linear_model import RidgeCV
from sklearn.metrics import average_precision_score

from mtlv.data.source import Corpus
from mtlv.errors import ConfigError, GroupingError
from mtlv.models.fast.frozen_cache import AboveFrozen
from mtlv.plan import Task
from mtlv.planning.check import check_suite
from mtlv.planning.task_vectors import VectorSource
from mtlv.store.local import Store
from mtlv.suite.run import run_suite
from mtlv.training.embed import embed_texts
from mtlv.units.input_cache import InputCache

RNG = np.random.default_rng(0)
LATENT = RNG.normal(size=(600, 8))
PARTS = {"train": np.arange(200), "validation": np.arange(200, 400), "test": np.arange(400, 600)}
KEEPS = {"a": 0, "b": 1, "c": 2, "d": 3}
"""The latent dimension that the encoder of each task keeps; a and b need both of theirs."""
TRUTH = {"a": LATENT[:, 0] + LATENT[:, 1], "b": LATENT[:, 0] + 2 * LATENT[:, 1]}
LABELS = {name: np.int64(TRUTH.get(name, LATENT[:, at]) > 0) for name, at in KEEPS.items()}


class Kept:
    """An encoder whose weights are what it keeps of each latent dimension."""

    def __init__(self, weights: np.ndarray | None = None) -> None:
        self.weights = weights


def keep(_: Kept, paths: Sequence[Path]) -> Kept:
    return Kept(np.mean([np.eye(8)[KEEPS[path.name[0]]] for path in paths], axis=0))


def planted(monkeypatch: pytest.MonkeyPatch, labels: dict[str, np.ndarray], seeds: int = 1) -> Any:
    monkeypatch.setattr(merged, "merge", keep)
    monkeypatch.setattr(merged, "vectors_of", lambda _, encoder, rows: LATENT[rows] * encoder.weights)
    tasks = tuple(Task(name) for name in KEEPS)
    ids = tuple(map(str, range(len(LATENT))))
    corpus = Corpus("toy", tasks, ids, ids, labels)
    keys = [f"{name}{seed}" for seed in range(seeds) for name in KEEPS]
    records = [SimpleNamespace(key=key, validation=SimpleNamespace(tasks={key[0]: None})) for key in keys]
    store = SimpleNamespace(weights=Path)
    return SimpleNamespace(
        corpus=corpus,
        fold=SimpleNamespace(part=PARTS.__getitem__),
        records=records,
        settings=SimpleNamespace(encoder=None, data=None),
        cache=SimpleNamespace(encoder=lambda *_: Kept(), store=store, note=lambda _: None),
    )


def test_two_tasks_that_share_structure_gain_most(monkeypatch: pytest.MonkeyPatch) -> None:
    found = merge_gain.compute(planted(monkeypatch, LABELS))
    assert np.diag(found).tolist() == [0, 0, 0, 0]
    both = found + found.T
    assert found[0, 1] > 0.1
    assert found[1, 0] > 0.02
    others = [both[at] for at in zip(*np.triu_indices(4, 1), strict=True) if at != (0, 1)]
    assert both[0, 1] > max(others) + 0.1
    two = merge_gain.compute(planted(monkeypatch, LABELS, seeds=2))
    np.testing.assert_allclose(two, found, err_msg="the mean over seeds that are equal")


def test_a_task_merged_with_its_own_encoder_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEEPS, "b", KEEPS["a"])
    found = merge_gain.compute(planted(monkeypatch, LABELS))
    assert found[0, 1] == found[1, 0] == 0


def test_test_labels_change_nothing_but_the_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    before = merge_gain.compute(planted(monkeypatch, LABELS))
    for part, same in (("test", True), ("train", False), ("validation", False)):
        changed = {name: each.copy() for name, each in LABELS.items()}
        for each in changed.values():
            each[PARTS[part]] = 1 - each[PARTS[part]]
        assert np.array_equal(merge_gain.compute(planted(monkeypatch, changed)), before) == same


def test_classes_are_probed_too() -> None:
    vectors = RNG.normal(size=(90, 2))
    labels = np.argmax([vectors[:, 0], vectors[:, 1], -vectors.sum(1)], axis=0)
    outputs = merged._fit_probe(Task("t", "multiclass", classes=("x", "y", "z")), vectors, labels, vectors)
    assert outputs.shape == (90, 3)
    assert (outputs.argmax(1) == labels).mean() > 0.9


GROUPED = (
    "{name: grouped, architecture: gmtl, grouping: {method: best, k: 2, features: merge_gain, from: [alone]}}"
)
SUITE = f"runs=[{{name: alone, architecture: stl}}, {GROUPED}]"


def count_below(patch: pytest.MonkeyPatch) -> list[int]:
    """How many documents each call computed up to the frozen layers."""
    found: list[int] = []
    below = AboveFrozen._below

    def count(self: AboveFrozen, ids: Any, *rest: Any) -> Any:
        found.append(len(ids))
        return below(self, ids, *rest)

    patch.setattr(AboveFrozen, "_below", count)
    return found


def test_layers_that_a_unit_has_trained_are_not_read_from_the_cache(
    suite: Callable, table: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = suite(table("t"), "encoder.frozen_layers=1").members[0].settings
    cache = InputCache()
    encoder = cache.encoder(settings.encoder, settings.data)
    view = VectorSource(cache, settings, cache.folds(settings.data)[0], True)
    rows, trained = np.arange(5), replace(encoder, module=copy.deepcopy(encoder.module))
    with torch.no_grad():
        trained.module.encoder.layer[0].output.dense.weight.mul_(9)
    computed = count_below(monkeypatch)
    published, other = vectors_of(view, encoder, rows), vectors_of(view, trained, rows)
    assert len(computed) == len(rows)
    monkeypatch.setattr(transferability, "_above_frozen", lambda *_: None)
    np.testing.assert_allclose(vectors_of(view, encoder, rows), published, atol=1e-5)
    np.testing.assert_allclose(vectors_of(view, trained, rows), other, atol=1e-5)
    assert np.abs(published - other).max() > 1e-2


@pytest.mark.parametrize("frozen", [0, 1])
def test_groups_follow_from_merged_encoders(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frozen: int
) -> None:
    computed = count_below(monkeypatch)
    made = suite(table("t"), SUITE, "training.epochs=1", f"encoder.frozen_layers={frozen}")
    alone, grouped = run_suite(made, Watcher(), MemoryTracker()).members
    settings, store = made.members[1].settings, Store(tmp_path / "store")
    notes: list[str] = []
    cache = InputCache(store, note=notes.append)
    records = [record for outcome in alone.outcomes for record in outcome.records]
    view = VectorSource(cache, settings, cache.folds(settings.data)[0], True, records)
    computed.clear()
    found = merge_gain.compute(view)
    assert len(computed) == frozen * len(np.concatenate([view.fold.train, view.fold.validation]))
    for feature in (h_score, log_me):
        feature.compute(view)
    for wanted in (
        "h_score: the training documents' vectors by 3 models",
        "log_me: the training documents' vectors by 3 models",
        "merge_gain: the documents' vectors by merged encoders of 3 pairs",
    ):
        assert f"computing {wanted}" in notes
    paths = {next(iter(each.validation.tasks)): store.weights(each.key) for each in records}
    published = cache.encoder(settings.encoder, settings.data)

    def score(task: str, *names: str) -> float:
        states = [load_file(paths[name]) for name in names]
        start = published.module.state_dict()
        module = published.with_weights(paths[task]).module
        own = [name for name in start if f"encoder.{name}" in states[0]]
        changes = {n: sum(each[f"encoder.{n}"] - start[n] for each in states) / len(states) for n in own}
        module.load_state_dict({n: start[n] + change for n, change in changes.items()}, strict=False)
        return probed(module, task)

    def probed(module: Any, task: str) -> float:
        corpus, parts = view.corpus, [view.fold.train, view.fold.validation]
        encoder = type(published)("merged", module, published.tokenizer, published.digest)
        length = settings.data.max_length
        fitted, judged = (
            embed_texts(encoder, [corpus.texts[n] for n in rows], special_tokens=True, max_length=length)
            for rows in parts
        )
        mean, spread = fitted.mean(0), fitted.std(0)
        labels, truth = (corpus.targets[task][rows] for rows in parts)
        ridge = RidgeCV(alphas=np.logspace(0, 5, 11)).fit((fitted - mean) / spread, labels)
        return float(average_precision_score(truth, ridge.predict((judged - mean) / spread)))

    names: Sequence[str] = view.corpus.names
    for to, by in ((0, 1), (2, 0)):
        wanted = score(names[to], names[to], names[by]) - score(names[to], names[to])
        assert found[to, by] == pytest.approx(wanted, abs=1e-3)
    assert len(grouped.resolved.children[0].groups.groups) == 2
    lost = VectorSource(
        SimpleNamespace(store=None, corpus=cache.corpus, tasks=cache.tasks), *list(vars(view).values())[1:]
    )
    with pytest.raises(GroupingError, match=r"merge_gain` reads weights that were not kept \(got none of h"):
        merge_gain.compute(lost)


def test_units_without_weights_are_refused(suite: Callable, table: Callable) -> None:
    for changes, text in (
        (
            ("store.keep_weights=false", "tracking.models=none"),
            r"merge_gain` .*keep no weights \(got alone\)",
        ),
        ((), r"`grouping.features: merge_gain` needs a model of each task alone"),
    ):
        runs = SUITE if changes else SUITE.replace("stl", "mtl")
        with pytest.raises(ConfigError, match=text):
            check_suite(suite(table("t"), runs, *changes))
