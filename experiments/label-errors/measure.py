"""How many of the likely label errors on the comparison page are errors, if labels are flipped on purpose?

    python experiments/label-errors/measure.py openi=FOLDER hoc=FOLDER

Trains config.yml on each corpus with 5% of its labels flipped at random, and with 5% of the yes labels and as
many no labels flipped. Prints the share of flipped labels among those that the page lists (at most 50), and
among all. Tables and pages go to `label-errors/` in the working folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import mtlv

SHARE, SEED = 0.05, 0
CONFIG = Path(__file__).with_name("config.yml")
WAYS = {"all": "5% of all labels", "yes": "5% of the yes labels, as many no labels"}


def flips(labels: np.ndarray, way: str) -> np.ndarray:
    """Return a mask [N, T] of the yes/no labels [N, T] to flip."""
    rng, flipped = np.random.default_rng(SEED), np.zeros(labels.size, bool)
    if way == "all":
        flipped[rng.choice(labels.size, round(SHARE * labels.size), replace=False)] = True
    else:
        for value in (0, 1):
            places = np.flatnonzero(labels.ravel() == value)
            flipped[rng.choice(places, round(SHARE * labels.sum()), replace=False)] = True
    return flipped.reshape(labels.shape)


def measure(name: str, path: str, way: str) -> str:
    """Train on a corpus with flipped labels, and return a line of the README's table."""
    corpus, folder = mtlv.load(name, path), Path("label-errors", f"{name}-{way}")
    frame, tasks = corpus.to_frame(), list(corpus.tasks)
    labels = frame[tasks].to_numpy(int)
    flipped = flips(labels, way)
    frame[tasks] = np.where(flipped, 1 - labels, labels)
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / "flipped.csv")
    columns = {"text": "text", "id": "id", "labels": tasks}
    suite = mtlv.run(CONFIG, {"data.path": str(folder / "flipped.csv"), "data.columns": columns})
    numbers = json.loads((mtlv.compare(suite, folder=folder / "page").folder / "comparison.json").read_text())
    blocks = [block for section in numbers["sections"] for block in section["blocks"]]
    listed = next(block for block in blocks if block.get("id") == "errors_labels")["columns"]
    rows = frame.index.astype(str).get_indexer(listed["document"])
    hits = flipped[rows, [tasks.index(task) for task in listed["task"]]]
    counts = f"{len(frame):,} | {len(tasks)} | {len(hits)} | {hits.mean():.0%} | {flipped.mean():.1%}"
    return f"| {name} | {WAYS[way]} | {counts} |"


if __name__ == "__main__":
    print("| corpus | flipped | documents | labels | listed | of these flipped | of all flipped |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for argument in sys.argv[1:]:
        for way in WAYS:
            print(measure(*argument.split("="), way), flush=True)
