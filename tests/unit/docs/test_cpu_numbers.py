"""The ratios measured on a second processor, as benchmarks/results/README.md states them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RAW = ROOT / "benchmarks/results/epyc2"


@pytest.mark.parametrize(
    ("name", "peers"),
    [
        (
            "training",
            ("Trainer, defaults", "Trainer, length grouping, bf16", "padded to the maximum, fp32"),
        ),
        ("inference", ("Trainer, defaults", "Trainer, sorted, batches of 64, bf16")),
    ],
)
def test_ratios_are_those_of_the_raw_values(name: str, peers: tuple[str, ...]) -> None:
    text = " ".join((ROOT / "benchmarks/results/README.md").read_text(encoding="utf-8").split())
    told = re.search(r"On a second machine .*?, training (.*?); prediction (.*?)\. ", text)
    assert told is not None
    found = re.findall(r"(\d\.\d\d) times", told[1 if name == "training" else 2])
    content = json.loads((RAW / f"{name}-cpu-bf16.json").read_text(encoding="utf-8"))
    (medians,) = content["medians"].values()
    assert found == [f"{medians['mtlv'] / medians[peer]:.2f}" for peer in peers]
    best = max(value for peer, value in medians.items() if peer != "mtlv")
    assert medians[peers[1]] == best
