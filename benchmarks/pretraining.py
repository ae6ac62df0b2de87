"""Tokens per second of masked language modelling, compared with Hugging Face's `run_mlm`; about 6 minutes.

    python benchmarks/pretraining.py --data FOLDER/indiana_reports.csv

Peers: the Trainer with `BertForMaskedLM` and `DataCollatorForLanguageModeling`, as in Transformers' example
`run_mlm.py`: texts concatenated and cut into blocks, or one text per row (`--line_by_line`), each in fp32
and, if the device supports it, in bf16. Each trains one epoch on the same texts from the same weights, in a
separate process; the order of the peers rotates. For all peers, the tokens of the texts are counted, with two
special tokens per text. All mask 15%; this package masks whole words.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from harness import Claim, Result, publish, shares
from throughput import (
    OURS,
    PROFILE,
    Work,
    apart,
    arguments,
    best,
    case,
    learn,
    location_of,
    measured,
    only,
    over,
    prepare,
    spent,
)
from training import PROFILED, trained_by_trainer

from mtlv.data.batches import PartDocuments
from mtlv.data.columns import dense
from mtlv.data.masking import Masking, Pieces
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.training.memory import keep_freed_memory

RATE, SHARE = 1e-4, 0.15
LINES = "run_mlm, a text a row"


def ours(work: Work) -> float:
    """Return the seconds of one epoch of this package's loop."""
    if work.device.type == "cpu":
        keep_freed_memory()
    heads, tasks = [HeadSpec(("text",))], {"text": Task("text", "mlm")}
    module = copy.deepcopy(work.encoder.module)
    model = MultiTaskModel(module, heads, tasks=tasks, features="mean", seed=0).to(work.device)
    pieces = Pieces.of(work.encoder.tokenizer, len(module.get_input_embeddings().weight))
    documents = PartDocuments(
        work.tokens, dense({"text": np.zeros(len(work.corpus))}), work.index, masking=Masking(pieces, SHARE)
    )
    steps = -(-len(documents) // work.batch_size)
    start = time.perf_counter()
    learn(
        model,
        lambda epoch: documents.training(work.batch_size, seed=0, epoch=epoch),
        rate=RATE,
        steps=steps,
        precision=work.precision,
    )
    return time.perf_counter() - start


def rows_of(work: Work, *, blocks: bool) -> list[dict[str, Any]]:
    """Return the texts as rows for the Trainer: concatenated and cut into blocks, or one text per row."""
    bounds = work.tokens.offsets
    texts = [work.tokens.ids[bounds[doc] : bounds[doc + 1]].tolist() for doc in work.index.tolist()]
    if blocks:
        joined = [token for text in texts for token in text]
        texts = [joined[at : at + work.max_length] for at in range(0, len(joined), work.max_length)]
    return [{"input_ids": text, "attention_mask": [1] * len(text)} for text in texts]


def run_mlm(*, blocks: bool, **settings: Any) -> Callable[[Work], float]:
    """Return a function that measures the Trainer, configured as in Transformers' example."""

    def run(work: Work) -> float:
        from transformers import BertForMaskedLM, DataCollatorForLanguageModeling

        model = BertForMaskedLM(copy.deepcopy(work.encoder.module.config))
        model.bert.load_state_dict(work.encoder.module.state_dict(), strict=False)
        collator = DataCollatorForLanguageModeling(work.encoder.tokenizer, mlm_probability=SHARE)
        rows = rows_of(work, blocks=blocks)
        return trained_by_trainer(work, model.to(work.device), rows, collator, **settings)[0]

    return run


PEERS: dict[str, Callable[[Work], float]] = {
    OURS: ours,
    "run_mlm, blocks": run_mlm(blocks=True),
    "run_mlm, blocks, bf16": run_mlm(blocks=True, bf16=True),
    LINES: run_mlm(blocks=False),
    f"{LINES}, bf16": run_mlm(blocks=False, bf16=True),
}


def inside(work: Work) -> dict[str, float]:
    """Return the seconds of each operation of this package's loop, on a few texts."""
    few = replace(work, index=work.index[:PROFILED])
    return spent(lambda: ours(few), few)


def main() -> int:
    """Measure every peer and publish the result."""
    args = arguments(__doc__, PEERS)
    if args.only:
        only(args, PEERS, inside)
        return 0
    work = prepare(args)
    tokens = int(work.tokens.lengths[work.index].sum())
    seconds = measured(args, work, PEERS)
    place = location_of(work)
    row = f"{len(work.index)} texts of {place['corpus']}, {tokens:,} tokens"
    values = {row: {name: [tokens / each for each in found] for name, found in seconds.items()}}
    setting = {key: value for key, value in vars(args).items() if key not in ("data", "only")} | place
    title = f"masked language modelling: tokens/s, {args.encoder}, {place['device']}, {place['precision']}"
    name = f"pretraining-{place['device']}-{place['precision']}"
    result = Result(name, title, "tokens/s", values, setting=setting, details={"seconds": dict(seconds)})
    fastest = best(result, "run_mlm")
    text = f"masked language modelling, {case(result)}, against the fastest `run_mlm`"
    limit = 1.5 if place["device"] == "cpu" else None
    result.claims = [Claim(text, limit, over(result, fastest))]
    result.profile = shares(apart(PROFILE))
    return publish(result)


if __name__ == "__main__":
    torch.manual_seed(0)
    sys.exit(main())
