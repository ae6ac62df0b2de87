"""Tables 2 and 3 of the STILT study (BLURB tasks; rows target, columns intermediate), in percent.

Jeong and Hwang, "Empirical study on intermediate fine-tuning for biomedical domain tasks". The first column
is the baseline.
"""

from __future__ import annotations

from mtlv.compare.transfer import Transfers, from_rows

NAMES = (
    "BC5-chem", "BC5-disease", "NCBI-disease", "BC2GM", "JNLPBA", "EBM PICO", "ChemProt", "DDI", "GAD",
    "PubMedQA", "BioASQ",
)  # fmt: skip
PUBMEDBERT = """
92.97 - 92.99 93.11 93.46 93.20 93.22 92.88 92.88 93.05 93.28 93.00
84.61 85.41 - 85.91 85.73 85.71 85.52 85.24 85.38 85.63 85.38 85.29
87.73 87.46 88.10 - 87.57 88.01 88.27 88.06 87.99 87.77 88.81 87.72
83.91 83.86 84.27 84.17 - 84.00 84.13 84.24 83.87 84.52 83.98 84.25
79.02 78.93 78.94 78.77 78.84 - 79.25 79.25 79.18 79.26 79.00 78.99
73.20 74.00 73.86 73.90 73.58 73.66 - 73.66 73.85 73.96 73.88 73.83
77.28 77.29 77.11 77.44 75.14 76.65 76.97 - 76.80 76.70 77.08 77.42
82.96 82.72 81.67 82.28 79.50 82.21 81.47 82.40 - 82.59 82.70 83.22
82.17 81.63 81.73 82.22 83.62 81.98 82.42 82.62 83.02 - 81.53 83.57
55.00 57.80 51.60 54.40 55.00 50.80 52.90 62.30 61.80 50.40 - 65.40
84.29 88.22 83.93 82.86 78.22 86.07 80.72 80.00 92.15 83.22 86.79 -
"""
BERT = """
88.92 - 89.37 89.46 89.47 89.66 89.40 89.38 89.54 89.23 89.27 89.27
80.74 80.69 - 81.35 81.32 80.93 80.33 80.32 80.38 80.80 80.58 80.70
85.33 86.19 85.93 - 86.37 85.32 85.64 85.76 86.05 86.12 86.60 85.53
80.83 80.64 81.02 81.43 - 81.28 81.44 80.80 80.95 81.27 81.65 80.97
77.32 77.16 77.61 77.52 77.63 - 77.58 77.51 77.62 77.63 77.64 77.84
72.15 72.55 72.32 72.44 72.16 72.49 - 71.95 72.49 72.55 72.26 72.26
71.23 71.00 71.06 70.86 69.82 71.05 71.11 - 70.96 71.47 71.82 71.68
77.01 77.32 78.38 77.87 74.57 77.71 78.57 79.03 - 78.91 78.29 78.23
78.93 77.21 78.40 78.79 80.56 79.12 80.21 78.91 78.59 - 79.70 77.97
50.6 50.20 51.10 50.80 50.90 51.80 49.20 58.30 58.50 51.10 - 53.40
61.43 66.91 68.33 71.90 62.86 67.38 71.67 75.48 76.66 70.48 66.66 -
"""


def published(table: str) -> Transfers:
    """A table as transfers: one mean in each cell, so as if there were one pair."""
    rows = [
        {"target": target, "source": source, "fold": 0, "seed": 0, "score": float(cell) / 100}
        for target, line in zip(NAMES, table.split("\n")[1:-1], strict=True)
        for source, cell in zip((None, *NAMES), line.split(), strict=True)
        if cell != "-"
    ]
    return from_rows(rows, targets=NAMES, sources=NAMES)
