"""Compare attention with other runs on the same test documents, from the kept outputs of the models.

    python experiments/openi-minilm/attention.py data.path=FOLDER_OR_FILE

Writes three tables to results/attention: macro F1 (`overview.csv`), average precision on validation
(`learning_rate.csv`), and attention minus each other run on the folds that both have (`significance.csv`),
with a 95% bootstrap interval over test documents (1,000 draws within folds) and the p of a t-test over
folds.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from outputs import read_outputs  # noqa: E402

from mtlv.formatting import csv_text  # noqa: E402
from mtlv.settings import load_suite  # noqa: E402
from mtlv.units.corpora import read_documents  # noqa: E402

ATTENTION, AGAIN, DRAWS = "mtl, attention, 0.0001", "mtl, mean, 0.0001", 1000
RESULTS = FOLDER / "results"
Folds = Mapping[int, tuple[NDArray, NDArray]]
"""Targets and decisions [N, T] of the test documents by fold."""


def f1_macro(targets: NDArray, decisions: NDArray) -> float:
    """Return the mean over T tasks of 2 TP / (positive + predicted)."""
    both = targets.sum(0) + decisions.sum(0)
    return float(np.mean(2 * (targets * decisions).sum(0) / np.maximum(both, 1)))


def read_runs(overrides: list[str]) -> dict[str, Folds]:
    """Return the runs of seed 0 by name."""
    settings = load_suite(FOLDER / "config-attention.yml", overrides).members[0].settings
    corpus = read_documents(settings.data)
    place = {id_: row for row, id_ in enumerate(corpus.ids)}
    runs: dict[str, dict[int, tuple[NDArray, NDArray]]] = {}
    for folder in ("gpu", "longer", "attention"):
        for run in read_outputs(RESULTS / folder / "outputs.tar.xz"):
            if run.seed or not run.name.startswith(("mtl", "gmhl")):
                continue
            (part,) = run.parts
            rows = np.array([place[id_] for id_ in part.documents])
            columns = (corpus.targets[task] for task in part.tasks)
            targets = np.stack([getattr(column, "values", column)[rows] for column in columns], axis=1)
            limits = np.array([run.thresholds[task] for task in part.tasks])
            runs.setdefault(run.name, {})[run.fold] = targets, np.asarray(part.outputs, float) >= limits
    return runs


def main(*overrides: str) -> None:
    runs, random = read_runs([*overrides]), np.random.default_rng(0)
    sizes = {fold: len(targets) for fold, (targets, _) in runs[ATTENTION].items()}
    drawn = {fold: random.integers(0, size, (DRAWS, size)) for fold, size in sizes.items()}
    overview, differences = [], []
    for name, run in runs.items():
        scores = {fold: f1_macro(*run[fold]) for fold in sorted(run)}
        if name in (ATTENTION, AGAIN):
            mean, deviation = np.mean([*scores.values()]), np.std([*scores.values()], ddof=1)
            row = {"name": name, "children": len(scores), "f1_macro": mean, "f1_macro_sd": deviation}
            overview.append(row)
        if name == ATTENTION:
            continue
        both = [(runs[ATTENTION][fold], run[fold], drawn[fold]) for fold in scores]
        gains = [f1_macro(*attention) - f1_macro(*other) for attention, other, _ in both]
        means = [
            np.mean(
                [
                    f1_macro(*(x[rows[n]] for x in one)) - f1_macro(*(x[rows[n]] for x in two))
                    for one, two, rows in both
                ]
            )
            for n in range(DRAWS)
        ]
        low, high = np.percentile(means, [2.5, 97.5])
        row = {"run": ATTENTION, "other": name, "folds": len(gains), "difference": np.mean(gains)}
        differences.append(row | {"low": low, "high": high, "p": stats.ttest_1samp(gains, 0).pvalue})
    with (RESULTS / "attention" / "epochs.csv").open(encoding="utf-8", newline="") as file:
        last = {row["fold"]: row for row in csv.DictReader(file) if row["name"] == ATTENTION}  # of each fold
    validation = np.mean([float(row["average_precision_macro"]) for row in last.values()])
    rate = {"name": ATTENTION, "learning_rate": 1e-4, "validation average_precision_macro": validation}
    tables = {"overview": overview, "significance": differences, "learning_rate": [rate]}
    for name, rows in tables.items():
        (RESULTS / "attention" / f"{name}.csv").write_text(csv_text(rows), encoding="utf-8", newline="")


if __name__ == "__main__":
    main(*sys.argv[1:])
