"""Trained models as modules of Transformers alone."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from memory_tracker import MemoryTracker
from safetensors.torch import save_file

from mtlv.data import catalog
from mtlv.data.source import Corpus
from mtlv.events import ignore
from mtlv.serving.model import ServedPlan
from mtlv.serving.texts import InputTexts
from mtlv.settings import load_suite
from mtlv.suite.export import new_folder
from mtlv.suite.portable import as_module
from mtlv.suite.run import run_suite
from mtlv.tracking.mlflow_model import place_files

NAMES = ("gad", "hoc", "biosses")  # yes/no, classes, and numbers of pairs


def trained(corpora: list[Corpus], folder: Path, patch: pytest.MonkeyPatch, *changes: str) -> ServedPlan:
    known = dict(zip(NAMES, corpora, strict=False))
    patch.setattr(catalog, "load", lambda name, _: known[name])
    patch.setattr(catalog, "tasks", lambda name, _: known[name].tasks)
    (folder / "c.yml").write_text(
        "encoder: tiny\ntraining: {epochs: 1, learning_rate: 3e-3, precision: fp32}\n"
    )
    tracker = MemoryTracker()
    run_suite(load_suite(folder / "c.yml", [f"store.uri={folder / 'store'}", *changes]), ignore, tracker)
    (model,) = (run.model for run in tracker.runs.values() if run.model and run.spec.kind == "fold")
    place_files(model.files, model.texts, folder / "model", (shutil.copyfile,))
    return ServedPlan.load(folder / "model" / model.content, device="cpu")


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (0, ("architecture={name: mtl, head_layers: 2}", "encoder.features=mean")),
        (0, ("architecture=stl", "encoder.features=pooler")),
        (0, ("architecture=mtl", "training.select=best", "training.select_per=task", "training.epochs=3")),
        (1, ("architecture=mtl", "encoder.features=last")),
        (2, ("architecture=mtl", "encoder.features=cls")),
    ],
)
def test_a_module_gives_the_same_scores(
    number: int,
    changes: tuple[str, ...],
    one_corpus_per_kind: list[Corpus],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = trained(one_corpus_per_kind, tmp_path, monkeypatch, f"data.name={NAMES[number]}", *changes)
    model, corpus = as_module(plan), one_corpus_per_kind[number]
    inputs = [list(corpus.texts)] + ([] if corpus.seconds is None else [list(corpus.seconds)])
    more = {} if corpus.seconds is None else {"text_pair": tuple(corpus.seconds)}
    how = {"truncation": True, "max_length": 128, "return_token_type_ids": True}
    tokens = plan.encoder.tokenizer(*inputs, padding=True, return_tensors="pt", **how)
    with torch.no_grad():
        scores = model(**tokens).scores.numpy()
    before = plan.predict(InputTexts(tuple(corpus.texts), tuple(range(len(corpus))), "row", more))
    assert {task["name"] for task in model.config.tasks} == set(plan.tasks)
    for task in model.config.tasks:
        outputs = before[task["name"]].outputs
        values = scores[:, slice(*task["outputs"])]
        assert np.abs(values - outputs.reshape(len(outputs), -1)).max() <= 1e-5 * max(
            1, np.abs(outputs).max()
        )
        assert outputs.std() > 1e-4, "not all the same"


def test_numbers_are_in_the_unit_of_their_targets(
    one_corpus_per_kind: list[Corpus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = one_corpus_per_kind[2]
    large = replace(large, targets={name: 50 + 100 * values for name, values in large.targets.items()})
    plan = trained([*one_corpus_per_kind[:2], large], tmp_path, monkeypatch, "data.name=biosses")
    model = as_module(plan)
    tokens = plan.encoder.tokenizer(list(large.texts), list(large.seconds), padding=True, return_tensors="pt")
    with torch.no_grad():
        scores = model(**tokens).scores
    assert 50 < float(scores.mean()) < 50 + 100 * 5


def test_the_umask_sets_who_may_read_weights(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        with new_folder(tmp_path / "out") as made:
            (made / "README.md").write_text("a card")
            save_file({"weight": torch.zeros(1)}, made / "model.safetensors")
    finally:
        os.umask(mask)
    assert (tmp_path / "out" / "model.safetensors").stat().st_mode & 0o777 == 0o640
