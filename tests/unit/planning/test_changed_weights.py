"""Task vectors: what learning each task alone changed in the encoder's weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from listening import Watcher
from safetensors.torch import load_file, save_file

from mtlv.errors import ConfigError, GroupingError
from mtlv.grouping import GroupingSpec
from mtlv.planning.changed_weights import products_of_changes, task_vectors
from mtlv.planning.check import check_suite
from mtlv.planning.groups import _distances
from mtlv.planning.task_vectors import VectorSource
from mtlv.store.local import Store
from mtlv.suite.run import run_suite
from mtlv.tracking import MemoryTracker
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


def test_groups_follow_from_task_vectors(suite: Callable, table: Callable, tmp_path: Path) -> None:
    made = suite(table("t"), SUITE, "training.epochs=1", "seed=[0, 1]")
    assert "by kmedoids on task_vectors, found when 6 units of alone" in check_suite(made).members[1].lines[0]
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
    assert "task_vectors" in _distances(view, GroupingSpec())
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
