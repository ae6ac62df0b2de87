"""The ratios on a CPU, by processor, as benchmarks/results/README.md states them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[3] / "benchmarks/results"
TEXT = (RESULTS / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|\n]+) \| ([^\n]+) \| \[here\]\(([^)\n]+)\) \|$", TEXT, re.MULTILINE)
PADDED = "padded to the maximum, fp32"


def test_there_is_a_row_for_each_result() -> None:
    kept = {
        path.relative_to(RESULTS).as_posix()
        for stem in ("training", "inference")
        for path in RESULTS.glob(f"**/{stem}-cpu-*.json")
    }
    assert {path for *_, path in ROWS} == kept


@pytest.mark.parametrize(("name", "cells", "path"), ROWS, ids=[path for *_, path in ROWS])
def test_ratios_are_those_of_the_raw_values(name: str, cells: str, path: str) -> None:
    content = json.loads((RESULTS / path).read_text(encoding="utf-8"))
    (medians,) = content["medians"].values()
    best = max(speed for peer, speed in medians.items() if peer.startswith("Trainer"))
    speeds = [medians["Trainer, defaults"], best, *([medians[PADDED]] if PADDED in medians else [])]
    *ratios, median_of = cells.split(" | ")
    assert ratios == [f"{medians['mtlv'] / speed:.2f}" for speed in speeds]
    (values, *_) = content["values"].values()
    setting = content["setting"]
    assert median_of == f"{len(values['mtlv'])}, {setting['documents']} reports"
    assert setting["precision"] in name
    assert content["machine"]["processor"].split("(")[0] in name.replace("another ", "")
