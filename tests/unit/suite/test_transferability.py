"""How well the model of each source suits a target, written beside what it gained."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from memory_tracker import MemoryTracker
from safetensors.torch import load_file

from mtlv.evaluation import transferability as measures
from mtlv.events import ignore
from mtlv.planning.resolve import resolve_all
from mtlv.planning.transferability import suitability
from mtlv.settings import load_suite
from mtlv.store.local import Store
from mtlv.suite.run import run_suite
from mtlv.training.embed import embed_texts
from mtlv.training.predict import predict
from mtlv.units.input_cache import InputCache
from mtlv.units.model import model_of

FILE = "transferability.json"


def written(folder: Path, name: str, words: tuple[str, ...], kind: str) -> str:
    rng, path = np.random.default_rng(0), folder / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "part", name])
        for n in range(50):
            word = words[int(rng.integers(len(words)))]
            part = ("train", "train", "train", "validation", "test")[n % 5]
            answer = word if kind == "multiclass" else words.index(word)
            writer.writerow([n, f"the {word} of {n} was {rng.choice(['seen', 'told'])}", part, answer])
    columns = f"{{id: id, part: part, kind: {kind}, target: {name}}}"
    return f"{{name: table, alias: {name}, path: {path}, columns: {columns}}}"


def test_measures_are_of_the_sources_model_on_training_documents(tmp_path: Path) -> None:
    made = [
        written(tmp_path, "colours", ("red", "green", "blue"), "multiclass"),
        written(tmp_path, "sides", ("left", "right"), "multiclass"),
        written(tmp_path, "sizes", ("small", "large"), "regression"),
    ]
    (tmp_path / "c.yml").write_text(
        f"data: {{max_length: 16, sources: [{', '.join(made)}]}}\nencoder: tiny\n"
        "training: {epochs: 2, batch_size: 8, learning_rate: 3.0e-3, device: cpu, precision: fp32}\n"
        "transfer: {seeds: 0}\nevaluation: {transferability: true}\n"
    )
    suite = load_suite(tmp_path / "c.yml", [f"store.uri={tmp_path / 'store'}", "store.keep_weights=false"])
    tracker = MemoryTracker()
    assert not run_suite(suite, ignore, tracker).failed
    runs = {run.tags["mtlv.learned"]: run for run in tracker.runs.values() if run.spec.kind == "fold"}
    with_file = {learned for learned, run in runs.items() if FILE in run.files}
    assert with_file == {
        json.dumps([[source], [target]])
        for target in ("colours", "sides")
        for source in ("colours", "sides", "sizes")
        if source != target
    }, "targets with a class per text, and no baseline"

    cache = InputCache(Store(tmp_path / "store"))
    member = next(m for m in resolve_all(cache, suite.members) if m.name == "sides after colours")
    (job,) = member.children[0].jobs
    rows = np.array([row for row in job.fold.train if 50 <= row < 100])  # of the second data set
    assert len(rows) == 30
    corpus, settings = cache.corpus(job.settings.data), job.settings
    (task,) = job.unit.model.tasks
    labels, texts = corpus.targets[task][rows], [corpus.texts[row] for row in rows]
    published = cache.encoder(settings.encoder, settings.data)
    path = cache.store.weights(job.start.unit.key)
    vectors = [
        embed_texts(each, texts, special_tokens=settings.grouping.special_tokens, max_length=16)
        for each in (published, published.with_weights(path))
    ]
    inputs = cache.inputs(settings)
    model = model_of(job.start, inputs)
    model.load_state_dict(load_file(path))
    (outputs,) = predict(model, replace(inputs.parts([task], rows)[0], targets={}), precision="fp32").values()
    assert outputs.shape == (30, 3)
    entropy = -sum(share * np.log(share) for share in np.bincount(labels) / 30)
    found = json.loads(runs['[["colours"], ["sides"]]'].files[FILE])
    assert found.keys() == {"h_score", "log_me", "leep"}
    for name in ("h_score", "log_me"):
        before, after = (getattr(measures, name)(each, labels) for each in vectors)
        assert found[name] == {task: pytest.approx(after - before, abs=1e-6)}
        assert abs(after - before) > 1e-4, "it learned something"
    assert found["leep"] == {task: pytest.approx(measures.leep(outputs, labels) + entropy, abs=1e-6)}
    assert json.loads(runs['[["sizes"], ["sides"]]'].files[FILE])["leep"] == {}, "numbers are no classes"

    warned: list[str] = []
    lost = InputCache(Store(tmp_path / "store"), warned.append)
    path.write_bytes(path.read_bytes()[:-1])
    assert suitability(lost, job) == {}
    assert "damaged" in warned[0]
