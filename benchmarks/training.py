"""Documents per second of MTL training, compared in one run.

    python benchmarks/training.py --data FOLDER/indiana_reports.csv --encoder minilm

Peers: Hugging Face's Trainer with its defaults, the Trainer with length grouping (and with bf16 if the device
supports it), and a plain loop that pads every document to the maximum length in fp32 (as in the thesis). Each
trains on the same documents from the same weights, in a separate process. The order of the peers rotates with
each repeat; medians are shown. Without --data, the generated corpus is used, for which claims on a CPU have
no limits. On a CPU, each trains one epoch. On a GPU, each trains two, because the first contains one-time
costs (loading of kernels, recording of CUDA graphs), and this package is also measured without CUDA graphs,
and with them and the parts of layers between matrix products and norms compiled by `torch.compile`;
claims are of the second epoch. The details contain the limit: documents per second if only matrix products
were computed, at the measured speed of one such product. The profile of this package is by operation. Writes
results/training-DEVICE-PRECISION.json. About 5 minutes on 2 idle cores with --documents 320. For BERT-base,
see `random_encoder.py`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from harness import Claim, Result, clock, publish, shares
from throughput import (
    ON_GPU,
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
    learn,
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
from mtlv.data.columns import dense
from mtlv.models.fast.graphs import Graphed
from mtlv.training.hooks import EpochLosses, Hook

RATE = 2e-4
PROFILED = 96  # documents
LAUNCHED = f"{OURS}, without CUDA graphs, {ON_GPU}"
COMPILED = f"{OURS}, parts compiled, {ON_GPU}"
PARTS = "Output", "Intermediate"  # ends of names of modules: dropout, residual and norm; GELU
DEFAULTS, PADDED = "Trainer, defaults", "padded to the maximum, fp32"
SECOND = ", second epoch"  # suffix of a peer's name
GROUPED = {"train_sampling_strategy": "group_by_length"}
# Limits of BERT-base on one GPU: model FLOPs utilisation in percent, by batch size.
SHARES = {16: 25, 128: 50}
# Peak TFLOP/s of bf16 products without sparsity, from NVIDIA's data sheets, for the utilisation.
PEAKS = {"H200": 989, "H100": 989, "A100": 312}


class Ended(Hook):
    """A hook that records when each epoch has ended, also on the device."""

    def __init__(self) -> None:
        self.at = [clock()]

    def on_epoch(self, losses: EpochLosses) -> None:  # the loop has read them, so the device is done
        self.at.append(clock())


def epochs_of(work: Work) -> int:
    """Return the number of epochs that are measured."""
    return 2 if work.device.type == "cuda" else 1


def ours(work: Work, *, graphs: bool = True, compiles: bool = False) -> list[float]:
    """Return the seconds of each epoch of this package's loop: fused AdamW, the device's precision."""
    model, epochs = multi_task(work), epochs_of(work)
    for part in model.encoder.modules() if compiles else ():
        if type(part).__name__.endswith(PARTS):
            torch._dynamo.config.recompile_limit = (
                64  # in training, in predictions, with weights in bf16, ...
            )
            part.compile(dynamic=True)  # in place
    graphs = graphs and work.device.type == "cuda"
    multiple = model.multiple if graphs else 1
    documents = PartDocuments(work.tokens, dense(work.corpus.targets), work.index, multiple)
    ended = Ended()
    learn(
        model,
        lambda epoch: documents.training(work.batch_size, seed=0, epoch=epoch),
        rate=RATE,
        steps=-(-len(documents) // work.batch_size) * epochs,
        epochs=epochs,
        precision=work.precision,
        hooks=[ended],
        graphed=Graphed if graphs else None,
    )
    return np.diff(ended.at).tolist()


def trainer(**settings: Any) -> Callable[[Work], list[float]]:
    """Return a function that measures the Trainer's epochs: defaults except batch size and `settings`."""

    def run(work: Work) -> list[float]:
        from transformers import DataCollatorWithPadding

        collator = DataCollatorWithPadding(work.encoder.tokenizer)
        return trained_by_trainer(work, classifier(work), Rows(work), collator, **settings)

    return run


def trained_by_trainer(work: Work, model: Any, rows: Any, collator: Any, **settings: Any) -> list[float]:
    """Return the seconds of each epoch of Hugging Face's Trainer."""
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Epochs(TrainerCallback):
        def on_epoch_end(self, *_: Any, **__: Any) -> None:
            wait(work)
            at.append(clock())

    with tempfile.TemporaryDirectory() as folder:
        it = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=folder,
                per_device_train_batch_size=work.batch_size,
                num_train_epochs=epochs_of(work),
                report_to="none",
                save_strategy="no",
                disable_tqdm=True,
                use_cpu=work.device.type == "cpu",
                **settings,
            ),
            train_dataset=rows,
            data_collator=collator,
            callbacks=[Epochs()],
        )
        at = [clock()]
        it.train()
    return np.diff(at).tolist()


def wait(work: Work) -> None:
    """Wait until the device has computed everything."""
    if work.device.type == "cuda":
        torch.cuda.synchronize()


def padded(work: Work) -> list[float]:
    """Return the seconds of each epoch as in the thesis: padded to the maximum, fp32, not shuffled."""
    model = classifier(work)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.0)
    targets = torch.from_numpy(work.targets)
    model.train()
    at = [clock()]
    for _ in range(epochs_of(work)):
        for first in range(0, len(work.index), work.batch_size):
            index = work.index[first : first + work.batch_size]
            ids, mask = work.tokens.pad_rows(index)
            short = work.max_length - ids.shape[1]
            ids, mask = np.pad(ids, ((0, 0), (0, short))), np.pad(mask, ((0, 0), (0, short)))
            batch = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask).long()}
            batch = {name: tensor.to(work.device) for name, tensor in batch.items()}
            loss = model(**batch, labels=targets[index].to(work.device)).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        wait(work)
        at.append(clock())
    return np.diff(at).tolist()


PEERS: dict[str, Callable[[Work], list[float]]] = {
    OURS: ours,
    LAUNCHED: partial(ours, graphs=False),
    COMPILED: partial(ours, compiles=True),
    DEFAULTS: trainer(),
    "Trainer, length grouping": trainer(**GROUPED),
    "Trainer, length grouping, bf16": trainer(**GROUPED, bf16=True),
    PADDED: padded,
}


def inside(work: Work) -> dict[str, Any]:
    """Return the time of this package by operation, and its limit with matrix products alone."""
    few = replace(work, index=work.index[:PROFILED])
    speed, needed = product_speed(few), flops(few)
    return {
        "seconds_of_operations": spent(lambda: ours(few), few),
        "product_gflops": speed / 1e9,
        "gflop_per_document": needed / 1e9,
        "limit_documents_per_second": speed / needed,
        "device": torch.cuda.get_device_name() if work.device.type == "cuda" else "processor",
    }


def flops(work: Work) -> float:
    """Return the mean FLOPs of matrix products in training on a document, without padding."""
    config = work.encoder.module.config
    lengths = work.tokens.lengths[work.index].astype(float)
    width, inner = config.hidden_size, config.intermediate_size
    per_token = 2 * (4 * width**2 + 2 * width * inner)  # queries, keys, values, output, and the two inner
    layers = config.num_hidden_layers * (per_token * lengths + 4 * width * lengths**2)
    return 3 * float(layers.mean())  # forward, and gradients of inputs and weights


def product_speed(work: Work) -> float:
    """Return the FLOP/s of the largest matrix product of a layer; the best of ten."""
    config = work.encoder.module.config
    rows = round(work.batch_size * work.tokens.lengths[work.index].mean())
    kind = torch.bfloat16 if work.precision == "bf16" else torch.float32
    left = torch.randn(rows, config.hidden_size, dtype=kind, device=work.device)
    right = torch.randn(config.hidden_size, config.intermediate_size, dtype=kind, device=work.device)
    best = float("inf")
    for _ in range(10):
        wait(work)
        start = clock()
        for _ in range(10):
            left @ right
        wait(work)
        best = min(best, (clock() - start) / 10)
    return 2 * rows * config.hidden_size * config.intermediate_size / best


def claims(result: Result, found: dict[str, Any]) -> list[Claim]:
    """Return the claims about the peers and the device's limit; `found` is what `inside` returned."""
    (row,) = result.values
    on_gpu, size = result.setting["device"] == "cuda", int(result.setting["batch_size"])
    last = SECOND if on_gpu else ""
    text = f"MTL training, {case(result)}, {f'batches of {size}, ' if on_gpu else ''}against"

    def against(peer: str) -> float | None:
        return over(result, peer, OURS + last)

    claimed = [
        held(result, f"{text} the Trainer's defaults", 2.8, against(DEFAULTS + last)),
        held(result, f"{text} the Trainer's best", 1.25, against(best(result, "Trainer"))),
        held(result, f"{text} the thesis's loop", 3.0, against(PADDED + last)),
    ]
    share = 100 * median(result.values[row][OURS + last]) / found["limit_documents_per_second"]
    claimed.append(Claim(f"{text} products alone, batches of {size}", None, share, "%"))
    if on_gpu:
        claimed[2] = Claim(f"{text} the thesis's loop on the same GPU", 15, against(PADDED + last))
        names = [name + last for name in (OURS, LAUNCHED) if name + last in result.values[row]]
        fastest = max(names, key=lambda name: median(result.values[row][name]), default="")
        claimed += [utilisation(result, found, name, size, held=name == fastest) for name in names]
        claimed.append(Claim(f"{text} the same with parts compiled", None, against(COMPILED + last)))
    return claimed


def utilisation(result: Result, found: dict[str, Any], peer: str, size: int, *, held: bool) -> Claim:
    """Return model FLOPs utilisation, if the peak is known; only the fastest peer has a limit (`held`)."""
    (row,) = result.values
    text = f"model FLOPs utilisation of MTL, batches of {size}: {peer}"
    peak = next((speed for name, speed in PEAKS.items() if name in found["device"]), None)
    if peak is None:
        return Claim(text, None, None, "%", why=f"the peak of {found['device']} is not known here")
    value = median(result.values[row][peer]) * found["gflop_per_document"] / (10 * peak)
    least = SHARES.get(size) if held and "bert-base" in str(result.setting["encoder"]) else None
    return Claim(text, least, value, "%")


def main() -> int:
    """Measure every peer and publish the result."""
    args = arguments(__doc__, PEERS)
    if args.only:
        only(args, PEERS, inside)
        return 0
    work = prepare(args)
    seconds = {
        name + (SECOND if epoch else ""): [each[epoch] for each in runs]
        for name, runs in measured(args, work, PEERS).items()
        for epoch in range(epochs_of(work))
    }
    found = apart(PROFILE)
    result = outcome("training", "MTL training", vars(args), location_of(work), seconds)
    result.profile = shares(found.pop("seconds_of_operations"))
    result.details |= found
    result.claims = claims(result, found)
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
