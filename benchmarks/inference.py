"""Documents per second of prediction by a model of all tasks, compared in one run.

    python benchmarks/inference.py --data FOLDER/indiana_reports.csv --encoder minilm --documents 640

Peers: `predict` of Hugging Face's Trainer with its defaults (batches of 8, in the documents' order), with
larger batches, and with the documents sorted by length by hand. Each predicts the same documents with weights
of the same size, in a separate process, after a warm-up of 16 documents. The order of the peers rotates.
Prints medians and writes results/inference-DEVICE-PRECISION.json, with a profile of this package by
operation. About 5 minutes on 2 idle cores.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from harness import Claim, Result, publish, shares
from throughput import (
    OURS,
    PROFILE,
    Rows,
    Work,
    apart,
    arguments,
    best,
    case,
    classifier,
    held,
    location_of,
    measured,
    multi_task,
    only,
    outcome,
    over,
    prepare,
    spent,
)

from mtlv.data.batches import PartDocuments
from mtlv.training.predict import predict

WARM = 16  # documents
DEFAULTS = "Trainer, defaults"


def ours(work: Work) -> float:
    """Measure `predict`, which validation, the test and `mtlv predict` call."""
    model = multi_task(work)

    def run(index: np.ndarray) -> None:
        predict(model, PartDocuments(work.tokens, {}, index), precision=work.precision)

    return timed(run, work)


def trainer(*, by_length: bool = False, **settings: Any) -> Callable[[Work], float]:
    """Return a measurement of Hugging Face's Trainer; `settings` change its defaults."""

    def run(work: Work) -> float:
        from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

        if by_length:
            order = np.argsort(-work.tokens.lengths[work.index], kind="stable")
            work = replace(work, index=work.index[order])
        with tempfile.TemporaryDirectory() as folder:
            it = Trainer(
                model=classifier(work),
                args=TrainingArguments(
                    output_dir=folder,
                    report_to="none",
                    disable_tqdm=True,
                    use_cpu=work.device.type == "cpu",
                    **settings,
                ),
                data_collator=DataCollatorWithPadding(work.encoder.tokenizer),
            )
            return timed(lambda index: it.predict(Rows(replace(work, index=index))), work)

    return run


def timed(run: Callable[[np.ndarray], object], work: Work) -> float:
    """Return the seconds for all documents, after a warm-up."""
    run(work.index[:WARM])
    start = time.perf_counter()
    run(work.index)
    return time.perf_counter() - start


def of(size: int) -> dict[str, int]:
    """Return the Trainer's setting for batches of `size`."""
    return {"per_device_eval_batch_size": size}


PEERS: dict[str, Callable[[Work], float]] = {
    OURS: ours,
    DEFAULTS: trainer(),
    "Trainer, batches of 64": trainer(**of(64)),
    "Trainer, sorted": trainer(by_length=True),
    "Trainer, sorted, batches of 64": trainer(by_length=True, **of(64)),
    "Trainer, sorted, batches of 64, bf16": trainer(by_length=True, **of(64), bf16_full_eval=True),
}


def claims(result: Result) -> list[Claim]:
    """Return the claims; there is no limit against peers with documents sorted by hand."""
    text, trainers = f"inference, {case(result)}, against the Trainer's `predict`", best(result, "Trainer")
    return [
        held(result, f"{text} defaults", 3, over(result, DEFAULTS)),
        Claim(f"{text} best ({trainers.removeprefix('Trainer, ')})", None, over(result, trainers)),
    ]


def main() -> int:
    """Measure every peer and publish the result."""
    args = arguments(__doc__, PEERS)
    if args.only:
        only(args, PEERS, lambda work: spent(lambda: ours(work), work))
        return 0
    work = prepare(args)
    seconds = measured(args, work, PEERS)
    result = outcome("inference", "Prediction", vars(args), location_of(work), seconds)
    result.profile = shares(apart(PROFILE))
    result.claims = claims(result)
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
