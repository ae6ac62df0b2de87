"""Made-up transfers for the tests of this folder."""

from __future__ import annotations

import numpy as np

from mtlv.evaluation.transfer import INTERMEDIATE, Transfers, TransferText, in_order

TASKS = (
    "bc5cdr_chem", "bc5cdr_disease", "chemprot", "ddi", "gad", "biosses", "ncbi_disease", "bc2gm", "jnlpba",
    "ebm_pico", "pubmedqa",
)  # fmt: skip
NOISE = (0.003, 0.004, 0.004, 0.005, 0.02, 0.03)  # standard deviation over seeds, by target in turn
MISSING = ("chemprot", "ddi")  # source, target


def a_matrix(
    tasks: int = 6, seeds: int = 3, *, folds: int = 1, wording: TransferText = INTERMEDIATE, seed: int = 0
) -> Transfers:
    """Effects of about three standard deviations, some of none; one cell is missing."""
    rng = np.random.default_rng(seed)
    names = TASKS[:tasks]
    pairs = [(fold, number) for fold in range(folds) for number in range(seeds)]
    baseline, after = {}, {}
    for at, target in enumerate(names):
        noise = NOISE[at % len(NOISE)]
        alone = 0.9 - 0.05 * at + rng.normal(0, noise, len(pairs))
        baseline[target] = dict(zip(pairs, alone.tolist(), strict=True))
        for source in names:
            gain = rng.normal(0, 3 * noise) + rng.normal(0, noise / 2, len(pairs))
            if source != target and (source, target) != MISSING:
                scores = np.minimum(1, alone + gain)
                after[source, target] = dict(zip(pairs, scores.tolist(), strict=True))
    return in_order(baseline, after, wording=wording)
