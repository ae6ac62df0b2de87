"""`mtlv compare` on runs of all four kinds of task, on a real store: each by its own figure, on one page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtlv.cli import main

PARTS = {"train": 32, "dev": 12, "test": 20}
NOISE = 0.2  # share of documents that say one thing and are labelled by chance
VERBS = {"CPR:4": "blocks", "CPR:3": "drives", "CPR:9": "feeds"}
MAIN = {"GAD": "f1", "BIOSSES": "pearson", "ChemProt": "f1_micro_positive", "BC5CDR chemical": "entity_f1"}


def bc5cdr_chem(folder: Path, rng: np.random.Generator) -> None:
    for part, count in PARTS.items():
        lines = []
        for _ in range(count):
            words = rng.choice(["the", "aspirin", "dose", "was", "heparin"], 6)
            named = [word in ("aspirin", "heparin") and rng.random() > NOISE for word in words]
            lines += [
                f"{w}\t{'B-Chemical' if chemical else 'O'}" for w, chemical in zip(words, named, strict=True)
            ]
            lines.append("")
        (folder / f"{'devel' if part == 'dev' else part}.tsv").write_text("\n".join(lines) + "\n")


def biosses(folder: Path, rng: np.random.Generator) -> None:
    number = 0
    (folder / "blurb_split").mkdir()
    for part, count in PARTS.items():
        lines = ["pair_id\tsent1\tsent2\tscore"]
        for _ in range(count):
            number, high = number + 1, int(rng.integers(4))
            second = "it grows fast" if high > 1 else "it stays small"
            lines.append(f"{number}\tcell {number} and more\t{second} {number}\t{high}")
        (folder / "blurb_split" / f"{part}.tsv").write_text("\n".join(lines) + "\n")


def chemprot(folder: Path, rng: np.random.Generator) -> None:
    for part, count in PARTS.items():
        lines = ["index\tsentence\tlabel"]
        for number in range(count):
            label, said = rng.choice(list(VERBS), 2)
            said = said if rng.random() < NOISE else label
            lines.append(f"{part}{number}.T1.T2\t@CHEMICAL$ {number} {VERBS[said]} @GENE$ .\t{label}")
        (folder / f"{part}.tsv").write_text("\n".join(lines) + "\n")


def gad(folder: Path, rng: np.random.Generator) -> None:
    for part, count in PARTS.items():
        lines = ["index\tsentence\tlabel"]
        for number in range(count):
            label = int(rng.integers(2))
            verb = "raises" if bool(label) ^ (rng.random() < NOISE) else "spares"
            lines.append(f"{number}\t@GENE$ {verb} @DISEASE$ in group {part} {number}\t{label}")
        (folder / f"{part}.tsv").write_text("\n".join(lines) + "\n")


CORPORA: dict[str, Callable[[Path, np.random.Generator], None]] = {
    "gad": gad,
    "biosses": biosses,
    "chemprot": chemprot,
    "bc5cdr_chem": bc5cdr_chem,
}
SUITE = """\
experiment: all kinds
data: {{max_length: 32, sources: [{sources}]}}
encoder: tiny
training: {{batch_size: 4, epochs: 3, learning_rate: 2e-3, precision: fp32}}
seed: [0, 1]
matrix:
  architecture: [stl, mtl]
"""
ALONE = """\
experiment: all kinds
data: {name: chemprot, path: chemprot, max_length: 32}
encoder: tiny
architecture: stl
training: {batch_size: 4, epochs: 1, learning_rate: 2e-3, precision: fp32}
"""


@pytest.fixture(scope="module")
def folder(undrawn: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("kinds")
    for name, make in CORPORA.items():
        (place / name).mkdir()
        make(place / name, np.random.default_rng(0))
    sources = ", ".join(f"{{name: {name}, path: {name}}}" for name in CORPORA)
    (place / "c.yml").write_text(SUITE.format(sources=sources))
    (place / "alone.yml").write_text(ALONE)
    uri = f"sqlite:///{place / 'mlflow.db'}"  # a relative one is kept open by MLflow from before
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(["run", "c.yml", "--no-compare", f"tracking.uri={uri}"]) == 0
        assert main(["run", "alone.yml", "--no-compare", f"tracking.uri={uri}"]) == 0
        assert main(["compare", "--experiment", "all kinds", "--uri", uri, "--out", "page"]) == 0
    return place


@pytest.fixture(scope="module")
def numbers(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "page" / "comparison.json").read_text(encoding="utf-8"))


def block(numbers: dict[str, Any], id: str) -> dict[str, Any]:
    blocks = [block for section in numbers["sections"] for block in section["blocks"]]
    return next(block for block in blocks if block.get("id") == id)


def rows_of(numbers: dict[str, Any], id: str) -> list[dict[str, Any]]:
    columns = block(numbers, id)["columns"]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def test_each_task_is_judged_by_its_own_figure(numbers: dict[str, Any]) -> None:
    children = {run["key"]: run["children"] for run in numbers["runs"]}
    rows = rows_of(numbers, "tasks")
    assert len(rows) == 2 * len(MAIN) + 1  # two runs of all tasks, one of ChemProt alone
    for row in rows:
        values = [child["tasks"][row["task"]][MAIN[row["task"]]] for child in children[row["run"]]]
        assert row["value"] == pytest.approx(np.mean(values))
        assert row["judged_by"].lower() == MAIN[row["task"]].replace("_", " ")


def test_runs_are_judged_by_their_score(numbers: dict[str, Any]) -> None:
    for run, row in zip(numbers["runs"], rows_of(numbers, "overview"), strict=True):
        of_tasks = [
            np.mean([figures[MAIN[task]] for task, figures in child["tasks"].items()])
            for child in run["children"]
        ]
        assert row["score"] == pytest.approx(np.mean(of_tasks))
    texts = [
        each["text"] for part in numbers["sections"] for each in part["blocks"] if each["kind"] == "text"
    ]
    assert any("so they cannot be ranked by one score" in text for text in texts)
    assert any(text == "Tested on the same documents by runs on different data: ChemProt." for text in texts)


def test_only_runs_of_the_same_tasks_are_tested(numbers: dict[str, Any]) -> None:
    (pair,) = rows_of(numbers, "significance")
    assert pair["documents_low"] <= pair["documents_high"]
    assert "documents_micro" not in pair or pair["documents_micro"] is None
    assert "F1" not in block(numbers, "significance_forest")["caption"]


def test_curves_are_of_the_own_figures(numbers: dict[str, Any]) -> None:
    assert {row["task"] for row in rows_of(numbers, "curves_task_f1")} == set(MAIN)
    assert len(rows_of(numbers, "curves_val_score")) == 2 * 3 + 1


def test_documents_on_which_two_runs_disagree_are_of_all_kinds(numbers: dict[str, Any]) -> None:
    (pair,) = block(numbers, "errors_documents")["pairs"]
    assert pair["documents"]
    for document in pair["documents"]:
        assert 0 < document["distance"] <= 1
        source = document["id"].split("/")[0]
        assert all(task.lower().startswith(source[:3]) for task, *_ in document["scores"])


def test_task_types_without_a_score_where_some_are_missing(numbers: dict[str, Any]) -> None:
    rows = rows_of(numbers, "benchmark")
    assert len(rows) == 3
    assert "score" not in rows[0]
    relations = {row["name"]: row["relations"] for row in rows}
    for run in numbers["runs"]:
        held = [
            np.mean(
                [child["tasks"][task][MAIN[task]] for task in ("GAD", "ChemProt") if task in child["tasks"]]
            )
            for child in run["children"]
        ]
        assert relations[run["name"]] == pytest.approx(np.mean(held))


def test_learned_together_is_who_shares_a_model(numbers: dict[str, Any]) -> None:
    groups = {row["name"]: row["group"] for row in rows_of(numbers, "groups_together")}
    assert sorted(groups.values()) == ["all", "alone", "alone"]
