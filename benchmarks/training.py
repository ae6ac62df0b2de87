"""Documents per second of MTL training, side by side in one run.

    python benchmarks/training.py --data FOLDER/indiana_reports.csv --encoder minilm

Peers: Hugging Face's Trainer with its defaults, the Trainer with length grouping (and bf16 where the device
computes it), and a plain loop that pads every document to the maximum length in fp32 (the thesis's way). Each
trains the same documents for one epoch from the same weights, in a process of its own; the order of peers
turns with each repeat, and medians are shown. Without --data the generated corpus is used.
Beside the table: the limit, documents per second if nothing but matrix products were computed, at the speed
that this machine reaches in one such product; and a profile of ours, by operation. Results go to
--out as JSON (results/training-DEVICE-PRECISION.json). About 5 minutes on 2 quiet cores with --documents 320.
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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from harness import RESULTS

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
PROFILE, PROFILED, SHOWN = "profile", 96, 12  # its name, documents, operations


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


def multi_task(work: Work) -> MultiTaskModel:
    """The model that a run of MTL trains, on the work's device."""
    if work.device.type == "cpu":
        keep_freed_memory()
    tasks = {task.name: Task(task.name) for task in work.corpus.tasks}
    heads = ARCHITECTURES["mtl"].build(list(tasks), (), 1).models[0].heads
    module = copy.deepcopy(work.encoder.module)
    return MultiTaskModel(module, heads, tasks=tasks, features="mean", seed=0).to(work.device)


def ours(work: Work) -> float:
    """This package's loop: length buckets, fused AdamW, the device's precision."""
    model = multi_task(work)
    heads, tasks = list(model.specs.values()), {task.name: Task(task.name) for task in work.corpus.tasks}
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


def arguments(description: str | None, peers: Iterable[str]) -> argparse.ArgumentParser:
    """What both benchmarks of throughput take."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=None, help="Open-I's CSV; none: generated reports")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--documents", type=int, default=640)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--only", choices=list(peers), help="one peer alone, as JSON")
    return parser


def main() -> None:
    """Measure every peer and print the table."""
    args = arguments(__doc__, [*PEERS, PROFILE]).parse_args()
    if args.only == PROFILE:
        print(json.dumps(profiled(prepare(args))))
        return
    if args.only:
        print(json.dumps({"seconds": PEERS[args.only](prepare(args))}))
        return
    work = prepare(args)
    names = [name for name in PEERS if work.precision == "bf16" or "bf16" not in name]
    seconds = in_turn(names, args.repeats)
    inside = alone(PROFILE)
    claim = "documents per second of MTL training, peers side by side in one run"
    report(args, work, seconds, claim, inside=inside)
    print(f"nothing but matrix products: {inside['limit_documents_per_second']:.1f} documents/s,")
    print(f"  at {inside['product_gflops']:.0f} GFLOP/s; where the time of mtlv goes:")
    for name, share in inside["share_of_time"].items():
        print(f"  {name:34} {100 * share:11.1f}%")


def in_turn(names: list[str], repeats: int) -> dict[str, list[float]]:
    """Seconds of each peer, again and again; who comes first turns."""
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for repeat in range(repeats):
        for name in names[repeat % len(names) :] + names[: repeat % len(names)]:
            seconds[name].append(alone(name)["seconds"])
    return seconds


def alone(name: str) -> dict[str, Any]:
    """One peer in a process of its own, so that no peer's settings reach another."""
    command = [sys.executable, *sys.argv, "--only", name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def profiled(work: Work) -> dict[str, Any]:
    """Where the time of ours goes, and how fast it could be with matrix products alone."""
    from torch.profiler import ProfilerActivity, profile

    work = replace(work, index=work.index[:PROFILED])
    activities = [ProfilerActivity.CPU]
    activities += [ProfilerActivity.CUDA] if work.device.type == "cuda" else []
    with profile(activities=activities) as found:
        ours(work)
    time_of = "self_device_time_total" if work.device.type == "cuda" else "self_cpu_time_total"
    spent = {event.key: getattr(event, time_of) for event in found.key_averages()}
    whole = sum(spent.values())
    largest = sorted(spent, key=lambda name: -spent[name])[:SHOWN]
    speed, needed = product_speed(work), flops(work)
    return {
        "share_of_time": {name: spent[name] / whole for name in largest},
        "product_gflops": speed / 1e9,
        "gflop_per_document": needed / 1e9,
        "limit_documents_per_second": speed / needed,
    }


def flops(work: Work) -> float:
    """Floating-point operations of training on a mean document's matrix products, padding left out."""
    config = work.encoder.module.config
    lengths = work.tokens.lengths[work.index].astype(float)
    width, inner = config.hidden_size, config.intermediate_size
    per_token = 2 * (4 * width**2 + 2 * width * inner)  # queries, keys, values, output, and the two inner
    layers = config.num_hidden_layers * (per_token * lengths + 4 * width * lengths**2)
    return 3 * float(layers.mean())  # forward, and the gradients of inputs and of weights


def product_speed(work: Work) -> float:
    """Floating-point operations per second of the product that an encoder's layer mostly is; best of ten."""
    config = work.encoder.module.config
    rows = round(work.batch_size * work.tokens.lengths[work.index].mean())
    kind = torch.bfloat16 if work.precision == "bf16" else torch.float32
    left = torch.randn(rows, config.hidden_size, dtype=kind, device=work.device)
    right = torch.randn(config.hidden_size, config.intermediate_size, dtype=kind, device=work.device)
    wait = torch.cuda.synchronize if work.device.type == "cuda" else lambda: None
    best = float("inf")
    for _ in range(10):
        wait()
        start = time.perf_counter()
        for _ in range(10):
            left @ right
        wait()
        best = min(best, (time.perf_counter() - start) / 10)
    return 2 * rows * config.hidden_size * config.intermediate_size / best


def report(
    args: argparse.Namespace, work: Work, seconds: dict[str, list[float]], claim: str, **more: Any
) -> None:
    """Print medians and ratios; write JSON, with what else is given."""
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
    content = {
        "claim": claim,
        "setting": {k: str(v) for k, v in vars(args).items() if k not in ("out", "data")}
        | {"corpus": work.corpus.name, "precision": work.precision},
        "machine": {k: str(v) for k, v in machine().items()},
        "versions": versions(),
        "seconds": seconds,
        "documents_per_second": speed,
        "mtlv_over": {name: speed["mtlv"] / value for name, value in speed.items()},
        **more,
    }
    name = f"{Path(sys.argv[0]).stem}-{work.device.type}-{work.precision}.json"
    (args.out or RESULTS / name).write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
