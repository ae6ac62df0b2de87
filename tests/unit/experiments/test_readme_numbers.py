"""Every number of the README's table of results stands in a file of the experiment."""

from __future__ import annotations

import csv
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
FULL = ROOT / "experiments" / "openi-minilm" / "results" / "full"
COLUMNS = ("f1_macro", "f1_micro", "subset_accuracy", "hamming_score")


def rows(name: str) -> dict[str, dict[str, str]]:
    with (FULL / name).open(encoding="utf-8", newline="") as file:
        return {row["name" if "name" in row else "run"]: row for row in csv.DictReader(file)}


def test_results_of_open_i_are_those_of_the_experiment() -> None:
    kept = rows("overview.csv")
    for page in (ROOT / "README.md", FULL.parents[1] / "README.md"):
        text = page.read_text(encoding="utf-8")
        for architecture, models, passes in (("stl", 19, 190), ("mtl", 1, 10)):
            line = re.search(rf"\| `{architecture}` \| {models} \| {passes} \|(.*)\|", text)
            assert line is not None
            told = [float(cell.strip(" *")) for cell in line.group(1).split("|")]
            row = kept[f"{architecture}, {passes} passes"]
            assert told == [round(float(row[column]), 3) for column in COLUMNS]
        difference = next(row["difference"] for row in rows("answer.csv").values() if row["difference"])
        low, high = re.findall(r"[−+][\d.]+", difference)[1:]
        assert f"{low} to {high}".replace("−", "-") in text.replace("\n", " ")
