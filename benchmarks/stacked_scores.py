"""Scores of units alone and in stacks, with dropout: python benchmarks/stacked_scores.py [--precision bf16]

About 4 minutes on one core, in bf16 longer where the processor does not compute it. Without dropout, a
stack's losses and weights are those of training alone up to rounding, which is tested. With dropout, its
masks are others of the same distribution, and so must be the scores. Trains single-task models of generated
reports with several seeds, alone and in stacks, and compares the average precision on the test part and the
last epoch's loss of each unit: their mean difference with its 95% interval, and the standard deviations of
both. A unit has the same seed both ways, so only masks and rounding differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from statistics import fmean, stdev

from harness import Claim, Result, parser_of, profiled, publish, sized
from stl_suite import GENERATED, config_of, ran

DOCUMENTS, STACK = sized(120, 60), 16
AP, LOSS = "average precision", "training loss"


def scores(args: argparse.Namespace, stack: int, seeds: int) -> dict[str, dict[str, float]]:
    """Return the values of each unit by key, trained with at most `stack` at once."""
    from sklearn.metrics import average_precision_score

    changes = [
        f"data.labels={json.dumps(list(GENERATED))}",
        f"data.limit={DOCUMENTS}",
        f"data.max_length={args.max_length}",
        "encoder={name: tiny, dropout: 0.1}",
        "architecture=stl",
        f"seed={list(range(seeds))}",
        f"training.epochs={args.epochs}",
        "training.learning_rate=5e-4",
        "training.batch_size=16",
        "training.device=cpu",
        f"training.precision={args.precision}",
        "tracking.models=none",
        "execution.processes=1",
        f"execution.stack={stack}",
    ]
    found: dict[str, dict[str, float]] = {AP: {}, LOSS: {}}
    for record in ran(config_of(None), changes).records:
        (task,) = record.test.tasks.values()
        found[AP][record.key] = float(average_precision_score(task.targets, task.outputs))
        found[LOSS][record.key] = record.epochs[-1].loss
    return found


def main() -> int:
    """Train all units both ways and publish the result."""
    from scipy.stats import t

    parser = parser_of(__doc__)
    parser.add_argument("--precision", default="fp32", choices=("fp32", "bf16"))
    parser.add_argument("--seeds", type=int, default=sized(5, 2))
    parser.add_argument("--epochs", type=int, default=sized(4, 1))
    parser.add_argument("--max-length", type=int, default=16)
    args = parser.parse_args()
    ways = {"alone": scores(args, 1, args.seeds), "in stacks": scores(args, STACK, args.seeds)}
    keys = sorted(ways["alone"][AP])
    values = {
        row: {way: [found[row][key] for key in keys] for way, found in ways.items()} for row in (AP, LOSS)
    }
    name, title = (
        f"stacked_scores-{args.precision}",
        f"Units alone and in stacks, with dropout, {args.precision}",
    )
    result = Result(name, title, "", values)
    result.setting = {**vars(args), "units": len(keys), "documents": DOCUMENTS, "stack": STACK}
    for row, (alone, stacked) in {row: tuple(of_row.values()) for row, of_row in values.items()}.items():
        differences = [after - before for before, after in zip(alone, stacked, strict=True)]
        half = t.ppf(0.975, len(keys) - 1) * stdev(differences) / len(keys) ** 0.5
        low, high = fmean(differences) - half, fmean(differences) + half
        spread = f"standard deviations {stdev(alone):.4f} alone, {stdev(stacked):.4f} in stacks"
        why = f"{len(keys)} pairs, 95% interval {low:+.4f} to {high:+.4f}; {spread}"
        text = f"{row} of units in stacks minus alone"
        result.claims.append(Claim(text, None, fmean(differences), "", at_least=False, why=why))
    result.profile = profiled(partial(scores, args, STACK, 1))
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
