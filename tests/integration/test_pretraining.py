"""Texts without labels: learned before labels and beside them, exported, and never asked of a model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from mtlv.cli import main

CONFIG = """\
experiment: texts
tracking: {uri: "URI"}
data:
  documents: 120
  max_length: 24
  sources:
    - {name: synthetic, labels: [Emphysema, Catheter]}
    - {name: table, alias: notes, path: notes.txt, columns: {kind: mlm}}
encoder: tiny
training: {epochs: 1, learning_rate: 1e-3, precision: fp32}
runs:
  - {name: before, stages: [{name: pretrain, tasks: [notes]}, {name: tune, tasks: [synthetic]}]}
  - {name: beside, architecture: mtl}
"""


@pytest.fixture(scope="module")
def folder(undrawn: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("texts")
    rng = np.random.default_rng(0)
    words = ("heart", "lung", "liver", "enlarged", "clear", "hazy", "the", "is")
    (place / "notes.txt").write_text("\n".join(" ".join(rng.choice(words, 30)) for _ in range(80)))
    uri = f"sqlite:///{place / 'mlflow.db'}"  # a relative one is kept open by MLflow from before
    (place / "c.yml").write_text(CONFIG.replace("URI", uri))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(["run", "c.yml", "--no-compare"]) == 0
        assert main(["compare", "c.yml", "--out", "page"]) == 0
    return place


def test_texts_have_metrics_beside_those_of_labels(folder: Path) -> None:
    content = json.loads((folder / "page" / "comparison.json").read_text(encoding="utf-8"))
    runs = {run["name"]: run["children"][0]["tasks"] for run in content["runs"]}
    assert set(runs["before"]) == {"Emphysema", "Catheter"}
    found = runs["beside"]["notes.text"]
    assert found["perplexity"] == pytest.approx(np.exp(found["masked_loss"]))
    assert 0 <= found["word_accuracy"] <= 1
    assert 1 < found["perplexity"] < 10 * len("vocabulary of tiny")


def test_what_texts_taught_is_tracked_with_the_tokens_that_were_read(folder: Path) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    (experiment,) = client.search_experiments(filter_string="name = 'texts'")
    runs = client.search_runs([experiment.experiment_id])
    found = {run.info.run_name: run.data.metrics for run in runs if run.data.params.get("fold")}
    for name, stage in (("before", "pretrain"), ("beside", "train")):
        metrics = next(value for key, value in found.items() if key.endswith(name))
        assert metrics[f"train.texts.tokens/{stage} notes.text"] > 80 * 12
        assert metrics[f"train.texts.tokens_per_second/{stage} notes.text"] > 0
        assert metrics[f"val.texts.masked_loss/{stage} notes.text"] > 0
        assert metrics["texts/pieces_per_word"] >= 1


def test_a_model_is_asked_for_labels_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    ask = ["predict", "beside", "the heart is clear", "--uri", f"sqlite:///{folder / 'mlflow.db'}"]
    assert main([*ask, "--out", "said.jsonl"]) == 0
    (row,) = map(json.loads, Path("said.jsonl").read_text().splitlines())
    assert set(row["probabilities"]) == {"Emphysema", "Catheter"}
    capsys.readouterr()
    assert main([*ask, "--task", "notes.text"]) == 2
    assert "the model has no task `notes.text`" in capsys.readouterr().err


def test_the_encoder_of_a_stage_is_a_folder_of_transformers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from safetensors.torch import load_file
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    monkeypatch.chdir(folder)
    export = ["export", "c.yml", "--out", "encoder"]
    assert main(export) == 2
    said = capsys.readouterr().err
    assert "`--stage` and `--unit` must name one unit (got 3 units)" in said
    assert "before · pretrain · notes.text" in said
    assert main([*export, "--stage", "pretrain"]) == 0
    assert "the encoder of `before · pretrain · notes.text`" in capsys.readouterr().out
    model, tokenizer = AutoModel.from_pretrained("./encoder"), AutoTokenizer.from_pretrained("./encoder")
    assert tokenizer.tokenize("the heart") == ["the", "heart"]
    whole = AutoModelForMaskedLM.from_pretrained("./encoder")
    assert torch.equal(whole.get_input_embeddings().weight, model.embeddings.word_embeddings.weight)
    kept = [load_file(path) for path in Path("mtlv-store/units").glob("*/model.safetensors")]
    name, weight = "encoder.embeddings.word_embeddings.weight", model.embeddings.word_embeddings.weight
    own = [each for each in kept if torch.equal(each[name], weight)]
    assert len(own) == 1
    (dense,) = (weight for name, weight in own[0].items() if name.endswith("layers.1.weight"))
    assert torch.equal(whole.cls.predictions.transform.dense.weight, dense), "the head of the texts"
    card = " ".join(Path("encoder/README.md").read_text().split())
    assert "stage `pretrain`, notes.text, 1 epochs" in card
    assert "has its head for masked words" in card
    assert "training documents of notes (fold 0, seed 0)" in card, "not of all sources"
    assert main([*export, "--stage", "pretrain"]) == 2
    assert "`encoder` exists already; give another folder" in capsys.readouterr().err
    assert main(["export", "c.yml", "--out", "x", "--stage", "pretrain", "training.epochs=2"]) == 2
    assert "is not trained yet; train it: `mtlv run c.yml training.epochs=2`" in capsys.readouterr().err
    assert main(["check", "c.yml", "encoder=encoder", "runs=null"]) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("training.masking.rate=1", "`training.masking.rate`: got 1; allowed: a number above 0 and below 1"),
        ("training.masking={masked: 0.9, random: 0.2}", "together at most 1"),
        ("training.masking.adversarial=-1", "`training.masking.adversarial`: got -1; allowed: a number of 0"),
        ("data.text_only=true", "`data.sources` names the data sets; write it in the list"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    change: str,
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    assert main(["check", "c.yml", change]) == 2
    assert message in capsys.readouterr().err


def test_an_empty_or_binary_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.yml").write_text("data: {name: table, path: t.txt, columns: {kind: mlm}}\nencoder: tiny\n")
    for content, message in (
        (b"\n\n", "`t.txt` has no rows"),
        (b"a\n\xff\0\xfe", "unreadable bytes at line 2"),
        (b"a\nb\0c", "`t.txt` has a NUL byte at line 2"),
    ):
        Path("t.txt").write_bytes(content)
        assert main(["check", "c.yml"]) == 2
        assert message in capsys.readouterr().err
