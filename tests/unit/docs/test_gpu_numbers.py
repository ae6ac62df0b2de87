"""The speeds on a GPU in the documentation are those of the kept measurements."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
KEPT = json.loads((ROOT / "benchmarks" / "results" / "h200" / "epochs.json").read_text(encoding="utf-8"))
H100 = json.loads((ROOT / "benchmarks" / "results" / "h100" / "epochs.json").read_text(encoding="utf-8"))
WHOLE = (ROOT / "benchmarks" / "results" / "README.md").read_text(encoding="utf-8")
PAGE = WHOLE.split("### On a GPU")[1]
SAID = " ".join(PAGE.split())


def speeds(epoch: dict[str, Any]) -> list[int]:
    return [round(epoch["documents"] / seconds) for seconds in epoch["seconds"]]


def of(encoder: str, batch_size: int, peer: str) -> list[int]:
    (found,) = [
        speeds(each)
        for each in KEPT["epochs"]
        if (each["encoder"], each["batch_size"], each["peer"]) == (encoder, batch_size, peer)
    ]
    return found


@pytest.mark.parametrize(
    "epoch",
    [*KEPT["epochs"], *H100["epochs"]],
    ids=lambda e: f"{e['encoder']} {e['batch_size']} {e['peer']} {e['documents']}",
)
def test_every_row_is_a_measurement(epoch: dict[str, Any]) -> None:
    first, second, *later = speeds(epoch)
    spread = " to ".join(f"{each:,}" for each in sorted(set(later)))
    assert f"| {epoch['peer']} | {first:,} | {second:,} | {spread} |".replace("  ", " ") in PAGE


def test_utilisation_is_that_of_the_tokens_without_attention_scores() -> None:
    """Of BERT-base: 12 layers of width 768, forward and twice that backward; attention adds 1%."""
    tokens = float(re.search(r"([\d.]+) tokens on average for bert-base", KEPT["corpus"])[1])
    operations = 3 * 12 * 2 * 12 * 768**2 * tokens
    large, small = (
        f"{max(of('bert-base-random', size, 'mtlv')) * operations / 989e12:.0%}" for size in (128, 16)
    )
    assert (
        f"uses {large} of the chip's bf16 peak (989 TFLOP/s) for tokens of documents in batches of 128, "
        f"{small} in batches of 16" in SAID
    )
    assert f"**{small} / {large} (not met)**" in WHOLE


def test_ratios_are_of_the_fastest_epochs() -> None:
    bert = "bert-base-random"
    small, large, padded = (
        max(of(bert, *each)) for each in ((16, "mtlv"), (128, "mtlv"), (128, "mtlv, padded"))
    )
    best, defaults, in_bf16, best_large = (
        max(of(bert, size, f"Trainer, {peer}"))
        for size, peer in (
            (16, "length grouping"),
            (16, "defaults"),
            (16, "length grouping, bf16"),
            (128, "length grouping, bf16"),
        )
    )
    assert best > max(defaults, in_bf16)
    times = f"{small / best:.1f} times"
    assert f"BERT-base {times} as fast as the Trainer's best, and {small / defaults:.1f}" in SAID
    ratio = f"{large / best_large:.1f} times the Trainer with length grouping in bf16"
    assert f"{ratio}, and {large / padded:.1f} times `mtlv` with padding" in SAID
    assert f"at batch 16 trains [{times}]" in (ROOT / "README.md").read_text(encoding="utf-8")
    changes = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    assert f"{times} as fast as with Hugging" in changes
    assert f"and {large / best_large:.1f} times in batches of 128" in changes


def test_times_of_real_training_are_measured() -> None:
    first = {each["architecture"]: each for each in KEPT["units"] if each["round"] == "fold 0, seed 0"}
    stl, mtl = (first[name]["costs"]["time/train_seconds"] for name in ("stl", "mtl"))
    ratio = f"about {stl / 2 / mtl:.0f}"
    assert f"{ratio} times as long as one model of 19 tasks (half of {stl:.0f} s in two processes" in SAID
    assert f"divided by {mtl:.2g} s;" in SAID
    assert f"**{ratio} (not met)**" in WHOLE


def test_speed_of_processes_is_measured() -> None:
    found, alone = KEPT["together"]["documents_per_second"], max(of("minilm", 16, "mtlv"))
    assert f"five processes each trained {min(found):,} to {max(found):,} documents/s" in SAID
    times = f"{sum(found) / len(found) / alone:.1f} times"
    assert f"{times} the fastest epoch of one" in SAID
    assert f"Ten processes of two commands were then [{times}](#on-a-gpu) as fast as one" in WHOLE
    models, minutes = KEPT["together"]["models"], KEPT["together"]["seconds"] / 60
    assert f"with MPS, {models} models of `minilm` were trained in {minutes:.0f} minutes" in SAID


def test_speeds_of_prediction_are_measured() -> None:
    for each in H100["predictions"]:
        row = " | ".join(f"{speed:,}" for speed in speeds(each))
        assert f"| {each['peer']} | {row} |" in PAGE
    fastest = {each["peer"]: max(speeds(each)) for each in H100["predictions"]}
    best = max(speed for peer, speed in fastest.items() if peer != "mtlv")
    said = f"is {fastest['mtlv'] / best:.1f} times as fast as the Trainer's best, sorted by hand, and "
    assert f"{said}{fastest['mtlv'] / fastest['Trainer, defaults']:.0f} times as its defaults" in SAID


def test_training_is_compared_with_the_loop_of_the_thesis() -> None:
    fastest = {each["peer"]: max(speeds(each)) for each in H100["epochs"]}
    padded, grouped = (
        f"{fastest['mtlv'] / fastest[peer]:.1f}"
        for peer in ("padded to the maximum, fp32", "Trainer, length grouping")
    )
    assert f"{padded} times as fast as the thesis's loop, and {grouped} times as the Trainer" in SAID
    assert f"**{padded} x (not met)**, BERT-base, batches of 16" in WHOLE


def test_models_at_the_same_time_are_measured() -> None:
    units = H100["units"]
    alone, together = (fmean(units[key]) for key in ("alone", "together"))
    assert f"took {alone:.1f} s in one process, and {together:.1f} s in each of ten" in SAID
    assert f"train {units['processes'] * alone / together:.1f} times as many models" in SAID
    about = f"about {19 * together / units['processes'] / alone:.0f}"
    assert f"{about} times as long as one" in SAID
    assert f"with MPS {about} times one single-task model" in WHOLE


def test_speeds_of_private_layers_are_measured() -> None:
    found = H100["private_layers"]
    fast, slow = max(found["recorded"]), max(found["not recorded"])
    assert f"{fast:,} documents/s with recorded steps, {slow} without ({fast / slow:.1f} times)" in SAID
    together = found["together"]
    speed = together["documents_per_second"]
    assert f"{together['processes']} processes with MPS trained {min(speed):,} to {max(speed):,} doc" in SAID
    assert f"{together['models']} models in {together['seconds'] / 60:.0f} minutes" in SAID
    changes = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    assert f"with private layers trains {fast / slow:.1f} times as fast as without CUDA graphs" in changes
