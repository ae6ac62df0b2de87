"""Task vectors: what learning each task alone changed in the encoder's weights."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from listening import Watcher
from memory_tracker import MemoryTracker
from mtlv_lab import measures
from mtlv_lab.changed_weights import products_of_changes, task_vectors
from mtlv_lab.transferability import h_score, leep, log_me, rows_and_labels
from safetensors.torch import load_file, save_file

from mtlv.data.joined import join
from mtlv.data.source import Corpus
from mtlv.errors import ConfigError, GroupingError
from mtlv.models.encoder import Encoder
from mtlv.plan.task import UNKNOWN
from mtlv.planning.check import check_suite
from mtlv.planning.task_vectors import VectorSource
from mtlv.registries import FEATURES
from mtlv.settings import load_suite
from mtlv.store.local import Store
from mtlv.suite.run import run_suite
from mtlv.training.embed import embed_texts
from mtlv.units.input_cache import InputCache

LABELS = ("heart", "lung", "bone")
GROUPED = (
    "{name: grouped, architecture: gmtl, grouping.features: task_vectors, grouping.metric: cosine, "
    "grouping.from: [alone]}"
)
SUITE = f"runs=[{{name: alone, architecture: stl}}, {GROUPED}]"


def written(folder: Path, *changes: torch.Tensor, **others: torch.Tensor) -> list[Path]:
    paths = [folder / f"{number}.safetensors" for number in range(len(changes))]
    for path, change in zip(paths, changes, strict=True):
        head = {"heads.a.weight": 100 * torch.ones(1, 2)}
        save_file({"encoder.a.weight": torch.ones(2, 2) + change, **head, **others}, path)
    return paths


def test_products_are_of_changes_of_the_encoder(tmp_path: Path) -> None:
    change = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    other = torch.tensor([[3.0, 0.0], [0.0, 0.0]])
    bias = {"encoder.a.bias": torch.tensor([5.0])}
    paths = written(tmp_path, change, -change, other, **bias)
    start = {"a.weight": torch.ones(2, 2), "a.bias": torch.tensor([4.0]), "pooler": torch.ones(1)}
    wanted = np.array([[5, -5, 0], [-5, 5, 0], [0, 0, 9]]) + 1  # the bias of each changed by 1
    np.testing.assert_allclose(products_of_changes(start, paths), wanted)


def test_an_adapter_counts_as_what_it_changes(tmp_path: Path) -> None:
    adapter = {
        "encoder.a.lora_a": torch.tensor([[1.0, 0.0]]),
        "encoder.a.lora_b": torch.tensor([[2.0], [0.0]]),
        "encoder.a.lora_scale": torch.tensor(0.5),
    }
    paths = written(tmp_path, torch.zeros(2, 2), **adapter)
    np.testing.assert_allclose(products_of_changes({"a.weight": torch.ones(2, 2)}, paths), [[1.0]])


def suited(view: VectorSource) -> None:
    """Compare how well each task's encoder and outputs suit the others with the measures themselves."""
    cache, fold, settings = view.cache, view.fold, view.settings
    published = cache.encoder(settings.encoder, settings.data)
    texts = [view.corpus.texts[row] for row in fold.train]
    labels = [view.corpus.targets[name][fold.train] for name in LABELS]

    def vectors(encoder: Encoder) -> np.ndarray:
        return embed_texts(encoder, texts, special_tokens=False, max_length=settings.data.max_length)

    for feature, measure in ((h_score, measures.h_score), (log_me, measures.log_me)):
        found = feature.compute(view)
        for giver, receiver in permutations(range(3), 2):
            gains = []
            for record in view.records:
                if set(record.validation.tasks) == {LABELS[giver]}:
                    module = deepcopy(published.module)
                    weights = load_file(cache.store.weights(record.key))
                    own = {name[8:]: each for name, each in weights.items() if name.startswith("encoder.")}
                    module.load_state_dict(own, strict=False)
                    after = measure(vectors(replace(published, module=module)), labels[receiver])
                    gains.append(after - measure(vectors(published), labels[receiver]))
            assert len(gains) == 2
            assert found[receiver, giver] == pytest.approx(np.mean(gains), abs=1e-6)
        assert np.diag(found).tolist() == [0, 0, 0]
    told = leep.compute(view)
    for giver, receiver in permutations(range(3), 2):
        gains = []
        for record in view.records:
            if LABELS[giver] in record.validation.tasks:
                outputs = record.validation.tasks[LABELS[giver]].outputs
                truth = view.corpus.targets[LABELS[receiver]][fold.validation]
                entropy = -sum(share * np.log(share) for share in np.bincount(truth) / len(truth))
                gains.append(measures.leep(np.stack([1 - outputs, outputs], axis=1), truth) + entropy)
        assert told[receiver, giver] == pytest.approx(np.mean(gains), abs=1e-6)
    assert np.diag(told).tolist() == [0, 0, 0]


def test_labels_are_those_of_a_tasks_own_documents(one_corpus_per_kind: list[Corpus]) -> None:
    corpus = join(one_corpus_per_kind[:2])
    rows = np.array([3, 39, 40, 69])
    view = SimpleNamespace(corpus=corpus, fold=SimpleNamespace(part={"train": rows}.get))
    first, second, third = rows_and_labels(view)
    assert [own.tolist() for own, _ in (first, second, third)] == [[3, 39], [3, 39], [40, 69]]
    classes = one_corpus_per_kind[1].targets["relation"]
    assert third[1].tolist() == [classes[0], classes[29]]
    corpus.targets["has heart"][3] = UNKNOWN
    first, second, _ = rows_and_labels(view)
    assert [own.tolist() for own, _ in (first, second)] == [[39], [3, 39]]


def test_tasks_without_classes_or_common_documents_are_refused(one_corpus_per_kind: list[Corpus]) -> None:
    labels, classes, numbers, tags = (corpus.tasks for corpus in one_corpus_per_kind)
    for name in ("h_score", "log_me", "leep", "merge_gain"):
        fits = FEATURES[name].fits
        fits(labels)
        fits(classes)
        with pytest.raises(GroupingError, match=f"{name}` needs a class per text .*similarity, organs"):
            fits((*labels, *numbers, *tags))
    with pytest.raises(GroupingError, match=r"leep` reads outputs .* \(got tasks of notes, pairs\)"):
        FEATURES["leep"].fits((*labels, *classes))
    FEATURES["log_me"].fits((*labels, *classes))


def test_check_refuses_features_that_tasks_cannot_have(tmp_path: Path) -> None:
    text = "id,text,a\n" + "".join(f"{n},text {n % 7},{n % 5}\n" for n in range(60))
    (tmp_path / "t.csv").write_text(text)
    columns = {"id": "id", "text": "text", "kind": "regression", "target": "a"}
    runs = [
        {"name": "alone", "architecture": "stl"},
        {"name": "grouped", "architecture": "gmtl"}
        | {"grouping": {"method": "best", "k": 1, "features": "log_me", "from": ["alone"]}},
    ]
    data = {"name": "table", "path": str(tmp_path / "t.csv"), "columns": columns}
    with pytest.raises(ConfigError, match=r"log_me` needs a class per text \(got other tasks: a\)"):
        check_suite(load_suite({"data": data, "encoder": "tiny", "runs": runs}))


def test_groups_follow_from_task_vectors(suite: Callable, table: Callable, tmp_path: Path) -> None:
    made = suite(table("t"), SUITE, "training.epochs=1", "seed=[0, 1]")
    assert (
        "by kmedoids on task_vectors, found after 6 units of alone" in check_suite(made).members[1].lines[0]
    )
    result = run_suite(made, Watcher(), MemoryTracker())
    alone, grouped = result.members
    store, settings = Store(tmp_path / "store"), made.members[1].settings
    cache = InputCache(store)
    encoder = cache.encoder(settings.encoder, settings.data).module.state_dict()
    change: dict[str, np.ndarray] = {}
    records = [record for outcome in alone.outcomes for record in outcome.records]
    for record in records:
        weights = load_file(store.weights(record.key))
        own = [
            (weights[f"encoder.{name}"] - before).flatten()
            for name, before in encoder.items()
            if f"encoder.{name}" in weights
        ]
        (task,) = record.validation.tasks
        change[task] = change.get(task, 0) + torch.cat(own).double().numpy()  # the sum over both seeds
    unit = [change[name] / np.linalg.norm(change[name]) for name in LABELS]
    wanted = np.array(unit) @ np.array(unit).T
    view = VectorSource(cache, settings, cache.folds(settings.data)[0], False, records)
    found = task_vectors.compute(view)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    suited(view)
    assert np.abs(found[0, 1]) < 0.999
    groups = grouped.resolved.children[0].groups
    assert groups.stability
    assert groups.vectors.shape == (3, 3)
    with pytest.raises(GroupingError, match=r"needs a model of each task alone \(got none of bone\)"):
        task_vectors.compute(replace(view, records=[r for r in records if "bone" not in r.validation.tasks]))
    lost = replace(view, cache=SimpleNamespace(store=None, corpus=cache.corpus, tasks=cache.tasks))
    with pytest.raises(GroupingError, match=r"weights that were not kept \(got none of heart, lung, bone"):
        task_vectors.compute(lost)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            (SUITE.replace("stl", "mtl"),),
            r"needs a model of each task alone \(got none of heart, lung, bone\)",
        ),
        ((SUITE, "store.keep_weights=false", "tracking.models=none"), r"keep no weights \(got alone\)"),
        ((SUITE.replace("stl", "stl, encoder.dropout: 0.2"),), r"start from others or keep no weights"),
        (
            (
                "architecture=gmtl",
                "stages=[{name: all, architecture: mtl}, {name: alone, architecture: stl}, "
                "{name: grouped, start: null, grouping.features: task_vectors, grouping.from: [alone]}]",
            ),
            r"keep no weights \(got alone\); give them the same `encoder`, no `start`, and",
        ),
        (
            ("architecture=gmtl", "grouping.features=task_vectors"),
            "measured features read units, and no others do",
        ),
    ],
)
def test_units_without_task_vectors_are_refused(
    suite: Callable, table: Callable, changes: tuple[str, ...], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        check_suite(suite(table("t"), *changes))
