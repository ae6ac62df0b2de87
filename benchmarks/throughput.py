"""Shared code of the benchmarks of training and prediction: documents, peers' models, measuring and results.

Every peer uses the same documents and weights of the same size, in a separate process. These benchmarks need
neither MLflow nor matplotlib, so that they run on a bare machine with a GPU.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from harness import Claim, Result, alone, clock, interleaved, parser_of, sized

from mtlv.data import catalog
from mtlv.data.batches import Batch
from mtlv.data.options import DataOptions
from mtlv.data.source import Corpus
from mtlv.data.tokens import Tokens, tokenise
from mtlv.models.encoder import Encoder, load_encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import Task
from mtlv.registries import ARCHITECTURES
from mtlv.training.hooks import Hook
from mtlv.training.loop import train_by_steps
from mtlv.training.memory import keep_freed_memory
from mtlv.training.objective import Objective
from mtlv.training.optim import make_optimizer, resolve_device, resolve_precision, schedule
from mtlv.training.recorded import MakeGraphed
from mtlv.training.state import TrainingState

PROFILE = "profile"  # a value of --only besides the peers
USUAL = 16  # default batch size; other sizes are part of the result's name
OURS, ON_GPU = "mtlv", "on a GPU"  # the latter is in the names of peers that need one
Peers = Mapping[str, Callable[["Work"], Any]]


@dataclass(frozen=True)
class Work:
    """Documents, model and settings that all peers share."""

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
    """Return the model that an MTL run trains, on the device of `work`."""
    if work.device.type == "cpu":
        keep_freed_memory()
    tasks = {task.name: Task(task.name) for task in work.corpus.tasks}
    heads = ARCHITECTURES["mtl"].build(list(tasks), (), 1).models[0].heads
    module = copy.deepcopy(work.encoder.module)
    return MultiTaskModel(module, heads, tasks=tasks, features="mean", seed=0).to(work.device)


def learn(*arguments: Any, **more: Any) -> None:
    """Train a model in place, with the arguments of `learn_by_steps`."""
    for _ in learn_by_steps(*arguments, **more):
        pass


def learn_by_steps(
    model: MultiTaskModel,
    batches: Callable[[int], Iterable[Batch]],
    *,
    rate: float = 2e-4,
    steps: int = 100,
    epochs: int = 1,
    precision: str = "fp32",
    hooks: Sequence[Hook] = (),
    graphed: MakeGraphed | None = None,
) -> Iterator[object]:
    """Train a model in place with this package's loop, and the optimizer and objective of a plain run.

    Yields before each optimizer step, which is taken on continuing.

    Args:
        model: the model, on its device.
        batches: function of an epoch's number that returns its batches.
        rate: learning rate.
        steps: number of steps of the schedule.
        epochs, precision, hooks, graphed: as for `mtlv.training.loop.train_by_steps`.
    """
    optimizer = make_optimizer(model, learning_rate=rate, weight_decay=0.01)
    heads = list(model.specs.values())
    tasks = {name: Task(name) for head in heads for name in head.tasks}
    aim = Objective(heads, tasks=tasks, combine="sum", head_weights=None)
    return train_by_steps(
        TrainingState(model, optimizer, schedule(optimizer, "linear", steps=steps, warmup=0.1)),
        batches,
        objective=aim.to(next(model.parameters()).device),
        epochs=epochs,
        precision=precision,
        hooks=hooks,
        graphed=graphed,
    )


def read(
    name: str, path: Path | None, *, documents: int, encoder: str, max_length: int = 128
) -> tuple[Corpus, Encoder, Tokens]:
    """Return a corpus of the catalog, an encoder, and the corpus's tokens."""
    corpus = catalog.load(name, DataOptions(path=path, documents=documents))
    loaded = load_encoder(encoder, texts=corpus.texts)
    tokenizer = loaded.tokenizer
    tokens = tokenise(corpus.texts, tokenizer, max_length=max_length, pad=tokenizer.pad_token_id)
    return corpus, loaded, tokens


def classifier(work: Work) -> Any:
    """Return the same encoder with Transformers' multi-label head."""
    from transformers import BertForSequenceClassification

    config = copy.deepcopy(work.encoder.module.config)
    config.num_labels = len(work.corpus.tasks)
    config.problem_type = "multi_label_classification"
    model = BertForSequenceClassification(config)
    model.bert.load_state_dict(work.encoder.module.state_dict(), strict=False)
    return model.to(work.device)


class Rows(torch.utils.data.Dataset):
    """Data set of the documents for the Trainer."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def __len__(self) -> int:
        return len(self.work.index)

    def __getitem__(self, row: int) -> dict[str, Any]:
        tokens, doc = self.work.tokens, int(self.work.index[row])
        ids = tokens.ids[tokens.offsets[doc] : tokens.offsets[doc + 1]].tolist()
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": self.work.targets[doc]}


def arguments(description: str | None, peers: Iterable[str]) -> argparse.Namespace:
    """Return the arguments, which these benchmarks share."""
    parser = parser_of(description)
    parser.add_argument(
        "--data", type=Path, default=open_i(), help="Open-I's CSV; default: $MTLV_OPENI or generated reports"
    )
    parser.add_argument("--encoder", default=sized("minilm", "tiny"))
    parser.add_argument("--documents", type=int, default=sized(640, 20))
    parser.add_argument("--max-length", type=int, default=sized(128, 32))
    parser.add_argument("--batch-size", type=int, default=USUAL)
    parser.add_argument("--repeats", type=int, default=sized(3, 1))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--precision", default="auto", choices=("auto", "fp32", "bf16"))
    parser.add_argument("--only", choices=[*peers, PROFILE], help="run one peer, print JSON")
    return parser.parse_args()


def open_i() -> Path | None:
    """Return the path in $MTLV_OPENI, of Open-I's CSV; None if unset."""
    return Path(os.environ["MTLV_OPENI"]) if os.environ.get("MTLV_OPENI") else None


def prepare(args: argparse.Namespace) -> Work:
    """Read and tokenise the documents, and load the encoder."""
    corpus, encoder, tokens = read(
        "openi" if args.data else "synthetic",
        args.data,
        documents=max(args.documents, 20),
        encoder=args.encoder,
        max_length=args.max_length,
    )
    index = np.random.default_rng(0).permutation(len(corpus))[: args.documents]
    device = resolve_device(args.device)
    precision = resolve_precision(args.precision, device)
    targets = corpus.matrix().astype(np.float32)
    return Work(corpus, encoder, tokens, targets, index, args.batch_size, args.max_length, device, precision)


def spent(run: Callable[[], object], work: Work) -> dict[str, float]:
    """Return the seconds of each operation during `run`, without those of the operations that it calls."""
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU]
    activities += [ProfilerActivity.CUDA] if work.device.type == "cuda" else []
    with profile(activities=activities) as found:
        run()
    time_of = "self_device_time_total" if work.device.type == "cuda" else "self_cpu_time_total"
    return {event.key: getattr(event, time_of) / 1e6 for event in found.key_averages()}


def only(args: argparse.Namespace, peers: Peers, profile: Callable[[Work], Any]) -> None:
    """Print the seconds of one peer, or the profile, as JSON."""
    work = prepare(args)
    print(json.dumps(profile(work) if args.only == PROFILE else {"seconds": peers[args.only](work)}))


def apart(name: str) -> Any:
    """Return what `only` prints, run in a separate process, so that no peer's settings affect another."""
    return alone([*sys.argv, "--only", name])


def measured(args: argparse.Namespace, work: Work, peers: Peers) -> dict[str, list[Any]]:
    """Return what each repeat of the peers that the device supports has measured; their order rotates."""
    missing = {"bf16": work.precision != "bf16", ON_GPU: work.device.type != "cuda"}
    names = [name for name in peers if not any(word in name for word, lacks in missing.items() if lacks)]
    return interleaved({name: lambda n=name: apart(n)["seconds"] for name in names}, args.repeats)


def outcome(
    stem: str,
    what: str,
    setting: Mapping[str, Any],
    place: Mapping[str, str],
    seconds: Mapping[str, list[float]],
) -> Result:
    """Return a result with documents per second of every repeat, named by device and precision.

    Args:
        stem: first part of the name.
        what: what is measured, for the title.
        setting: values of the arguments.
        place: what `location_of` returns.
        seconds: peer -> seconds of its repeats.
    """
    count = int(setting["documents"])
    row = f"{count} documents of {place['corpus']}, at most {setting['max_length']} tokens"
    device = place["device"].replace("cpu", "CPU").replace("cuda", "GPU")
    title = f"{what}: documents/s, {setting['encoder']}, {device} with {place['precision']}"
    values = {row: {name: [count / each for each in found] for name, found in seconds.items()}}
    left_out = ("data", "only")
    kept = {key: value for key, value in setting.items() if key not in left_out} | dict(place)
    size = int(setting["batch_size"])
    name = f"{stem}-{place['device']}-{place['precision']}" + (f"-{size}" if size != USUAL else "")
    return Result(name, title, "documents/s", values, setting=kept, details={"seconds": dict(seconds)})


def over(result: Result, peer: str, ours: str = OURS) -> float | None:
    """Return this package's speed relative to a peer's; None if one of them was not measured."""
    (row,) = result.values
    return result.ratio(row, ours, peer) if {ours, peer} <= result.values[row].keys() else None


def best(result: Result, begins: str) -> str:
    """Return the fastest peer whose name starts with `begins`; empty if none was measured."""
    (found,) = result.values.values()
    names = [name for name in found if name.startswith(begins)]
    return max(names, key=lambda name: median(found[name]), default="")


def held(result: Result, text: str, limit: float, value: float | None) -> Claim:
    """Return a claim whose limit applies to `minilm` on Open-I and a CPU only."""
    setting = result.setting
    usual = ("minilm", "openi", "cpu")
    if (setting["encoder"], setting["corpus"], setting["device"]) == usual:
        return Claim(text, limit, value)
    return Claim(text, None, value, why="the limit is of `minilm` on Open-I and a processor")


def location_of(work: Work) -> dict[str, str]:
    """Return the names of device, precision and corpus, of the clock and of the processor's instructions."""
    names = {"device": work.device.type, "precision": work.precision, "corpus": work.corpus.name}
    return names | {"clock": clock.__name__, "instructions": torch.backends.cpu.get_cpu_capability()}


def case(result: Result) -> str:
    """Return device, precision, encoder and corpus as text for a claim."""
    setting = result.setting
    device = {"cpu": "CPU", "cuda": "GPU"}.get(setting["device"], setting["device"])
    return f"{device} with {setting['precision']}, `{setting['encoder']}`, {setting['corpus']}"
