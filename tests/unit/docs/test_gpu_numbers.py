"""The speeds on a GPU in the documentation are those of the kept measurements."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
KEPT = json.loads((ROOT / "benchmarks" / "results" / "h200" / "epochs.json").read_text(encoding="utf-8"))
WHOLE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
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
    "epoch", KEPT["epochs"], ids=lambda e: f"{e['encoder']} {e['batch_size']} {e['peer']}"
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


def test_real_training_is_that_of_the_measured_round() -> None:
    first, second = (
        {each["architecture"]: each for each in KEPT["units"] if each["round"] == f"fold {fold}, seed 0"}
        for fold in (0, 1)
    )
    score = {name: f"{each['metrics']['f1_macro']:.3f}" for name, each in first.items()}
    took = {name: f"{each['costs']['time/train_seconds']:.2g}" for name, each in first.items()}
    assert f"one model of 19 tasks has a macro F1 of {score['mtl']} after {took['mtl']} s" in SAID
    assert f"four groups {score['gmtl']} after {took['gmtl']} s" in SAID
    assert (
        f"single-task models {score['stl']} after {first['stl']['costs']['time/train_seconds']:.0f} s" in SAID
    )
    assert f"four heads {score['gmhl']} after {took['gmhl']} s" in SAID
    assert f"({second['gmhl']['metrics']['f1_macro']:.3f} on the second fold)" in SAID
    ratio = first["stl"]["costs"]["time/train_seconds"] / 2 / first["mtl"]["costs"]["time/train_seconds"]
    assert f"about {ratio:.0f} times as long as one model" in SAID
    assert f"**about {ratio:.0f} (not met)**" in WHOLE
