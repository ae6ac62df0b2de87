"""Heads with layers of their own, from a config to served predictions."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from memory_tracker import MemoryTracker

from mtlv.errors import ConfigError, PlanError
from mtlv.events import ignore
from mtlv.planning.check import check_suite
from mtlv.planning.resolve import resolve_all
from mtlv.serving.model import ServedPlan
from mtlv.settings import Suite, load_suite
from mtlv.store.local import Store
from mtlv.suite.export import export
from mtlv.suite.run import run_suite
from mtlv.tracking.mlflow_model import place_files
from mtlv.units.input_cache import InputCache

GROUPS = "grouping={method: given, groups: [[Enlarged heart], [Congestion, Catheter]]}"
PRIVATE = "architecture={name: gmhl, private_layers: 1}"


def suite_of(folder: Path, *changes: str, more: str = "") -> Suite:
    labels = "labels: [Enlarged heart, Congestion, Catheter]"
    text = f"data: {{name: synthetic, documents: 90, {labels}, max_length: 32}}\nencoder: tiny\n{more}\n"
    (folder / "c.yml").write_text(text)
    usual = (
        "training.epochs=1",
        "training.device=cpu",
        "training.precision=fp32",
        f"store.uri={folder / 'store'}",
        GROUPS,
    )
    return load_suite(folder / "c.yml", [*usual, *changes])


def test_what_is_trained_is_served(tmp_path: Path) -> None:
    suite, tracker = suite_of(tmp_path, PRIVATE), MemoryTracker()
    (member,) = run_suite(suite, ignore, tracker).members
    (model,) = (run.model for run in tracker.runs.values() if run.spec.kind == "fold")
    assert model is not None
    place_files(model.files, model.texts, tmp_path / "model", (shutil.copyfile,))
    served = ServedPlan.load(tmp_path / "model" / model.content, device="cpu")
    test = member.outcomes[0].test
    corpus = InputCache().corpus(suite.members[0].settings.data)
    texts = [corpus.texts[corpus.ids.index(name)] for name in test.ids]
    told = served.predict(texts)
    for task in corpus.tasks:
        assert np.allclose(told[task.name].outputs, test.tasks[task.name].outputs, atol=1e-6)
    with pytest.raises(PlanError, match="has no single encoder"):
        export(suite, tmp_path / "out", stage=None, unit=None)


def test_only_models_with_several_heads_have_private_layers_and_other_keys(tmp_path: Path) -> None:
    keys = {}
    for name in ("gmhl", "mtl"):
        for count in (0, 1, 2):
            suite = suite_of(tmp_path, f"architecture={{name: {name}, private_layers: {count}}}")
            (member,) = resolve_all(InputCache(Store(tmp_path / "store")), suite.members)
            keys[name, count] = {job.unit.key for job in member.jobs}
            heads = [head for job in member.jobs for head in job.unit.model.heads]
            assert {head.private for head in heads} == {count if name == "gmhl" else 0}
    assert keys["mtl", 0] == keys["mtl", 1]
    assert len({frozenset(keys["gmhl", count]) for count in (0, 1, 2)}) == 3


def test_what_cannot_be_is_refused_before_anything_trains(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is more than the number of layers of encoder `tiny`"):
        check_suite(suite_of(tmp_path, "architecture={name: gmhl, private_layers: 3}"))
    own, shared = "{name: gmhl, private_layers: 1}", "mtl"
    for first, second in ((own, shared), (shared, own)):
        stages = f"[{{name: one, architecture: {first}}}, {{name: two, architecture: {second}}}]"
        with pytest.raises(ConfigError, match=r"stages\[1\]\.start.*layers of its own"):
            suite_of(tmp_path, more=f"stages: {stages}")
