"""Tables 2 and 3 of the STILT study, from `experiments/stilt` (rows target, columns intermediate).

Jeong and Hwang, "Empirical study on intermediate fine-tuning for biomedical domain tasks".
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from mtlv.evaluation.transfer import Transfers

EXPECTED = Path(__file__).resolve().parents[3] / "experiments" / "stilt" / "expected.csv"
NAMES = (
    "BC5-chem", "BC5-disease", "NCBI-disease", "BC2GM", "JNLPBA", "EBM PICO", "ChemProt", "DDI", "GAD",
    "PubMedQA", "BioASQ",
)  # fmt: skip
PUBMEDBERT, BERT = "PubMedBERT", "BERT"


def published(table: str) -> Transfers:
    """A table as transfers: one mean in each cell, so as if there were one pair."""
    with EXPECTED.open(encoding="utf-8", newline="") as file:
        found = [
            (match[1], match[2], float(row["value"]))
            for row in csv.DictReader(file)
            if (match := re.fullmatch(rf"{table} (.+?) (?:alone|after (.+))", row["row"]))
        ]
    baseline = {target: {(0, 0): score} for target, source, score in found if not source}
    after = {(source, target): {(0, 0): score} for target, source, score in found if source}
    return Transfers(NAMES, NAMES, baseline, after)
