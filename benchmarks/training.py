"""Documents per second of MTL training, side by side in one run.

    python benchmarks/training.py --data FOLDER/indiana_reports.csv --encoder minilm

Peers: Hugging Face's Trainer with its defaults, the Trainer with length grouping (and bf16 where the device
computes it), and a plain loop that pads every document to the maximum length in fp32 (the thesis's way). Each
trains the same documents for one epoch from the same weights, in a process of its own; the order of peers
turns with each repeat, and medians are shown. Without --data the generated corpus is used.
Results go to --out as JSON.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mtlv.data import catalog
from mtlv.data.batches import Documents
from mtlv.data.columns import dense
from mtlv.data.source import Corpus, DataOptions
from mtlv.data.tokens import Tokens, tokenise
from mtlv.models.encoder import Encoder, load_encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import ARCHITECTURES, Task
from mtlv.running.environment import machine, versions
from mtlv.training.loop import train
from mtlv.training.memory import keep_freed_memory
from mtlv.training.objective import Objective
from mtlv.training.optim import adamw, resolve_device, resolve_precision, schedule
from mtlv.training.state import Trained

RATE = 2e-4


@dataclass(frozen=True)
class Work:
    """What every peer trains on."""

    corpus: Corpus
    encoder: Encoder
    tokens: Tokens
    targets: np.ndarray
    index: np.ndarray
    batch_size: int
    max_length: int
    device: torch.device
    precision: str


def ours(work: Work) -> float:
    """This package's loop: length buckets, fused AdamW, the device's precision."""
    if work.device.type == "cpu":
        keep_freed_memory()
    tasks = {task.name: Task(task.name) for task in work.corpus.tasks}
    heads = ARCHITECTURES["mtl"].build(list(tasks), (), 1).models[0].heads
    module = copy.deepcopy(work.encoder.module)
    model = MultiTaskModel(module, heads, tasks=tasks, features="mean", seed=0).to(work.device)
    documents = Documents(work.tokens, dense(work.corpus.targets), work.index)
    optimizer = adamw(model, learning_rate=RATE, weight_decay=0.01)
    steps = -(-len(documents) // work.batch_size)
    start = time.perf_counter()
    scheduler = schedule(optimizer, "linear", steps=steps, warmup=0.1)
    train(
        Trained(model, optimizer, scheduler),
        lambda epoch: documents.training(work.batch_size, seed=0, epoch=epoch),
        objective=Objective(heads, tasks=tasks, combine="sum", head_weights=None).to(work.device),
        epochs=1,
        precision=work.precision,
    )
    return time.perf_counter() - start


def classifier(work: Work) -> Any:
    """The same encoder under Transformers' own multi-label head."""
    from transformers import BertForSequenceClassification

    config = copy.deepcopy(work.encoder.module.config)
    config.num_labels = len(work.corpus.tasks)
    config.problem_type = "multi_label_classification"
    model = BertForSequenceClassification(config)
    model.bert.load_state_dict(work.encoder.module.state_dict(), strict=False)
    return model.to(work.device)


class Rows(torch.utils.data.Dataset):
    """Documents as the Trainer takes them."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def __len__(self) -> int:
        return len(self.work.index)

    def __getitem__(self, row: int) -> dict[str, Any]:
        tokens, doc = self.work.tokens, int(self.work.index[row])
        ids = tokens.ids[tokens.offsets[doc] : tokens.offsets[doc + 1]].tolist()
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": self.work.targets[doc]}


def trainer(**settings: Any) -> Callable[[Work], float]:
    """Hugging Face's Trainer; everything but the batch size and one epoch is its default unless given."""

    def run(work: Work) -> float:
        from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

        with tempfile.TemporaryDirectory() as folder:
            arguments = TrainingArguments(
                output_dir=folder,
                per_device_train_batch_size=work.batch_size,
                num_train_epochs=1,
                report_to="none",
                save_strategy="no",
                disable_tqdm=True,
                use_cpu=work.device.type == "cpu",
                **settings,
            )
            it = Trainer(
                model=classifier(work),
                args=arguments,
                train_dataset=Rows(work),
                data_collator=DataCollatorWithPadding(work.encoder.tokenizer),
            )
            start = time.perf_counter()
            it.train()
            return time.perf_counter() - start

    return run


def padded(work: Work) -> float:
    """The thesis's way: every document padded to the maximum length, fp32, in file order."""
    model = classifier(work)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.0)
    targets = torch.from_numpy(work.targets)
    model.train()
    start = time.perf_counter()
    for first in range(0, len(work.index), work.batch_size):
        index = work.index[first : first + work.batch_size]
        ids, mask = work.tokens.padded(index)
        short = work.max_length - ids.shape[1]
        ids, mask = np.pad(ids, ((0, 0), (0, short))), np.pad(mask, ((0, 0), (0, short)))
        batch = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask).long()}
        batch = {name: tensor.to(work.device) for name, tensor in batch.items()}
        loss = model(**batch, labels=targets[index].to(work.device)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    loss.item()  # waits for the device
    return time.perf_counter() - start


GROUPED = {"train_sampling_strategy": "group_by_length"}
PEERS: dict[str, Callable[[Work], float]] = {
    "mtlv": ours,
    "Trainer, defaults": trainer(),
    "Trainer, length grouping": trainer(**GROUPED),
    "Trainer, length grouping, bf16": trainer(**GROUPED, bf16=True),
    "padded to the maximum, fp32": padded,
}


def prepare(args: argparse.Namespace) -> Work:
    """Read, tokenise and load once for all peers."""
    name = "openi" if args.data else "synthetic"
    corpus = catalog.load(name, DataOptions(path=args.data, documents=max(args.documents, 20)))
    encoder = load_encoder(args.encoder, texts=corpus.texts)
    tokenizer = encoder.tokenizer
    tokens = tokenise(corpus.texts, tokenizer, max_length=args.max_length, pad=tokenizer.pad_token_id)
    index = np.random.default_rng(0).permutation(len(corpus))[: args.documents]
    device = resolve_device(args.device)
    precision = resolve_precision("auto", device)
    targets = corpus.matrix().astype(np.float32)
    return Work(corpus, encoder, tokens, targets, index, args.batch_size, args.max_length, device, precision)


def main() -> None:
    """Measure every peer and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=None, help="Open-I's CSV; none: generated reports")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--documents", type=int, default=640)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--only", choices=list(PEERS), help="one peer alone, its seconds as JSON")
    args = parser.parse_args()
    if args.only:
        seconds = PEERS[args.only](prepare(args))
        print(json.dumps({"seconds": seconds}))
        return
    work = prepare(args)
    names = [name for name in PEERS if work.precision == "bf16" or "bf16" not in name]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for repeat in range(args.repeats):
        for name in names[repeat % len(names) :] + names[: repeat % len(names)]:
            seconds[name].append(alone(name))
    report(args, work, seconds)


def alone(name: str) -> float:
    """Seconds of one peer in a process of its own, so that no peer's settings reach another."""
    command = [sys.executable, *sys.argv, "--only", name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])["seconds"]


def report(args: argparse.Namespace, work: Work, seconds: dict[str, list[float]]) -> None:
    """Print medians and ratios; write JSON."""
    n = len(work.index)
    speed = {name: n / statistics.median(values) for name, values in seconds.items()}
    lengths = work.tokens.lengths[work.index]
    print(f"{n} documents, mean {lengths.mean():.0f} tokens, {work.corpus.name}, {args.encoder}")
    print(f"mtlv computes in {work.precision}")
    print(f"{machine()} {versions()} threads={torch.get_num_threads()}")
    print(f"{'loop':34} {'documents/s':>12} {'range':>15} {'mtlv is':>9}")
    for name, value in speed.items():
        span = f"{n / max(seconds[name]):.1f} - {n / min(seconds[name]):.1f}"
        print(f"{name:34} {value:12.1f} {span:>15} {speed['mtlv'] / value:8.2f}x")
    if args.out:
        content = {
            "claim": "documents per second of MTL training, peers side by side in one run",
            "setting": {k: str(v) for k, v in vars(args).items() if k not in ("out", "data")}
            | {"corpus": work.corpus.name, "precision": work.precision},
            "machine": {k: str(v) for k, v in machine().items()},
            "versions": versions(),
            "seconds": seconds,
            "documents_per_second": speed,
            "mtlv_over": {name: speed["mtlv"] / value for name, value in speed.items()},
        }
        args.out.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
