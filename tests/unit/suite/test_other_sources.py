"""A unit of one source is the same unit in suites with other sources beside it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from listening import Watcher
from memory_tracker import MemoryTracker

from mtlv.events import ignore
from mtlv.models.encoder import load_encoder
from mtlv.settings import Suite, load_suite
from mtlv.suite.run import run_suite


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tables, and an encoder that is the same for each of them."""
    folder = tmp_path_factory.mktemp("sources")
    encoder = load_encoder("tiny", texts=["a report of b or c, large heart, clear 0 1 2 3 4 5 6 7 8 9"])
    encoder.module.save_pretrained(folder / "encoder")
    encoder.tokenizer.save_pretrained(folder / "encoder")
    for name, count in (("a", 40), ("b", 30), ("c", 50)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["id", "text", "part", f"label {name}"])
            for n in range(count):
                part = ("train", "train", "train", "validation", "test")[n % 5]
                says = "large heart" if n % 3 else "clear"
                rows.writerow([n, f"{name} report {n} {says}", part, int(n % 3 > 0)])
    return folder


def suite(folder: Path, names: str, store: str) -> Suite:
    columns = "columns: {{id: id, part: part, labels: [label {0}]}}"
    sources = [f"{{name: table, alias: {n}, path: {n}.csv, {columns.format(n)}}}" for n in names]
    (folder / "c.yml").write_text(f"data: {{max_length: 24, sources: [{', '.join(sources)}]}}\n")
    given = ["architecture=stl", f"encoder.name={folder / 'encoder'}", "training.epochs=2"]
    given += [
        "training.batch_size=8",
        "training.device=cpu",
        "training.precision=fp32",
        "execution.threads=1",
        "execution.processes=1",
    ]
    return load_suite(folder / "c.yml", [*given, f"store.uri={folder / store}"])


def test_a_store_with_units_beside_other_sources_gives_what_an_empty_one_gives(folder: Path) -> None:
    """Before, their scores had other documents, and the run ended after training."""
    run_suite(suite(folder, "ab", "store"), ignore, MemoryTracker())
    told, alone = Watcher(), Watcher()
    found = run_suite(suite(folder, "ca", "store"), told, MemoryTracker()).members[0].outcomes[0]
    fresh = run_suite(suite(folder, "ca", "fresh"), alone, MemoryTracker()).members[0].outcomes[0]
    assert (len(told.trained), len(alone.trained)) == (1, 2)
    for ours, theirs in ((found.validation, fresh.validation), (found.test, fresh.test)):
        assert ours.ids == theirs.ids
        for name in ("label a", "label c"):
            for one, other in zip(
                vars(ours.tasks[name]).values(), vars(theirs.tasks[name]).values(), strict=True
            ):
                assert np.array_equal(one, other)
    assert found.metrics == fresh.metrics
    assert found.curve == fresh.curve
