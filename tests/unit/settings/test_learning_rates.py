"""The default learning rate: by the encoder's size, a number in all settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtlv.settings import load_suite
from mtlv.settings.describe import dump, flatten
from mtlv.settings.model_schema import usual_rate


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("minilm", 2e-4),
        ("tiny", 2e-4),
        ("bert", 2e-5),
        ("pubmedbert", 2e-5),
        ("sentence-transformers/all-MiniLM-L12-v2", 2e-4),
        ("google/bert_uncased_L-4_H-512_A-8", 1e-4),
        ("google/bert_uncased_L-12_H-768_A-12", 2e-5),
        ("google-bert/bert-large-cased", 1e-5),
        ("FacebookAI/xlm-roberta-base", 2e-5),
        ("microsoft/deberta-v3-small", 1e-4),
        ("modernbert-clinical", 5e-5),
        ("answerdotai/ModernBERT-base", 5e-5),
        ("answerdotai/ModernBERT-large", 1e-5),
        ("gatortron", 1e-5),
        ("someone/anything", 2e-5),
    ],
)
def test_a_name_says_the_size(name: str, rate: float) -> None:
    assert usual_rate(name) == rate
    assert usual_rate(name, adapters=True) == 5e-4


@pytest.mark.parametrize(
    ("config", "rate"),
    [
        ({"hidden_size": 256}, 2e-4),
        ({"n_embd": 600}, 1e-4),
        ({"dim": 768}, 2e-5),
        ({"d_model": 1024}, 1e-5),
        ({}, 2e-5),
    ],
)
def test_a_folder_says_the_size(tmp_path: Path, config: dict[str, int], rate: float) -> None:
    folder = tmp_path / "large-by-name-only"
    folder.mkdir()
    assert usual_rate(str(folder)) == 2e-5
    (folder / "config.json").write_text(json.dumps(config))
    assert usual_rate(str(folder)) == rate


def test_auto_is_a_number_in_every_run_and_stage(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text(
        "runs:\n- {name: a}\n- {name: b, encoder: bert}\n- {name: c, training.learning_rate: 7e-5}\n"
        "- name: d\n  stages:\n  - {name: one, architecture: mtl, training: {learning_rate: 3e-5}}\n"
        "  - {name: two, architecture: stl, start: {from: one}}\n"
        "- {name: e, encoder.lora: {rank: 8}}\n- name: f\n  encoder: {lora: {rank: 8, frozen: false}}\n"
        "  architecture: {name: gmhl, private_layers: 1, private_kind: lora}\n"
    )
    suite = load_suite(path)
    rates = {each.name: [one.training.rate for one in each.settings.each_stage] for each in suite.members}
    assert rates == {"a": [2e-4], "b": [2e-5], "c": [7e-5], "d": [3e-5, 2e-4], "e": [5e-4], "f": [2e-4]}
    assert [note.split(",")[0] for note in suite.notes] == [
        "learning rate 0.0002", "learning rate 2e-05", "learning rate 0.0005",
    ]  # fmt: skip
    settings = suite.members[0].settings
    assert flatten(settings)["training.learning_rate"] == 2e-4
    again = tmp_path / "again.yml"
    again.write_text(dump(settings))
    assert load_suite(again).members[0].settings == settings
    assert not load_suite(again).notes


def test_auto_and_its_number_are_one_run(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text("runs: [{name: a}, {name: b, training.learning_rate: 2e-4}]\n")
    assert [each.name for each in load_suite(path).members] == ["a"]
