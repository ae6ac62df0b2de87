"""The speeds on a GPU in the documentation are those of the kept measurements."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
KEPT = json.loads((ROOT / "benchmarks" / "results" / "h200" / "epochs.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8").split("### On a GPU")[1]


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
    first, *later = speeds(epoch)
    spread = " to ".join(f"{each:,}" for each in sorted(later))
    assert f"| {epoch['peer']} | {first:,} | {spread} |" in PAGE


def test_utilisation_is_that_of_the_tokens_without_attention_scores() -> None:
    """Of BERT-base: 12 layers of width 768, forward and twice that backward; attention adds 1%."""
    tokens = float(re.search(r"([\d.]+) tokens on average for bert-base", KEPT["corpus"])[1])
    operations = 3 * 12 * 2 * 12 * 768**2 * tokens
    large, small = (
        f"{of('bert-base-random', size, 'mtlv, CUDA graphs, multiples of 16')[1] * operations / 989e12:.0%}"
        for size in (128, 16)
    )
    said = " ".join(PAGE.split())
    assert (
        f"uses {large} of the chip's bf16 peak (989 TFLOP/s) for tokens of documents, at 16 documents {small}"
        in said
    )


def test_ratios_are_of_second_epochs() -> None:
    bert = "bert-base-random"
    graphs, without = "mtlv, CUDA graphs, multiples of 16", "mtlv without CUDA graphs"
    fast = of(bert, 16, graphs)[1]
    assert f"BERT-base {fast / of(bert, 16, without)[1]:.1f} times as fast" in PAGE
    best = max(of(bert, 16, peer)[1] for peer in ("Trainer, defaults", "Trainer, length grouping"))
    assert f"{fast / best:.1f} times as fast as the\n  Trainer's best" in PAGE
    assert f"{fast / of(bert, 16, 'Trainer, defaults')[1]:.1f} times as its defaults" in PAGE
    totals: dict[str, list[float]] = {}
    for each in KEPT["side_by_side"]["processes"]:
        totals.setdefault(each["process"], []).extend(each["seconds"])
    alone = 2048 * 12 / sum(totals.pop("1of1"))
    three = sum(2048 * 12 / sum(seconds) for seconds in totals.values())
    assert (
        f"{three / alone:.1f} times as fast as one ({three:,.0f} documents/s instead of {alone:,.0f}" in PAGE
    )
