"""A run with a vocabulary of its own shows how that splits words, beside the published one."""

from __future__ import annotations

import json
from pathlib import Path

from memory_tracker import MemoryTracker

from mtlv.events import ignore
from mtlv.settings import load_suite
from mtlv.suite.run import run_suite

CONFIG = """\
data: {documents: 40, max_length: 16, labels: [Emphysema, Catheter]}
training: {epochs: 1, precision: fp32}
encoder: {name: minilm, frozen_layers: 5}
runs:
  - {name: own, encoder.vocabulary: {size: 150}}
  - {name: published}
"""


def test_a_run_shows_words_with_their_pieces_in_both_vocabularies(tmp_path: Path) -> None:
    (tmp_path / "c.yml").write_text(CONFIG)
    changes = [f"store.uri={tmp_path / 'store'}", "execution.processes=1", "store.keep_weights=false"]
    tracker = MemoryTracker()
    assert not run_suite(load_suite(tmp_path / "c.yml", changes), ignore, tracker).failed
    files = {run.spec.name: run.files for run in tracker.runs.values() if run.spec.kind == "suite member"}
    table = json.loads(files["own"]["report/splittings.json"])
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    assert 0 < len(rows) <= 20
    assert [row["occurrences"] for row in rows] == sorted((row["occurrences"] for row in rows), reverse=True)
    assert all(
        "".join(row["published"].split()) == "".join(row["own"].split()) == row["word"] for row in rows
    )
    assert all(" " in row["published"] for row in rows)
    assert any(row["own"] != row["published"] for row in rows)
    assert not [name for name in files["published"] if "splittings" in name]
