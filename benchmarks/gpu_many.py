"""Several small-batch models on one GPU: which way trains most documents a second; about 6 minutes.

    python benchmarks/gpu_many.py
    python benchmarks/gpu_many.py --device cpu --layers 2 --width 32 --models 2 --steps 4 --dropout 0

A batch of 16 short documents leaves most of a large GPU idle. Each way trains the same models (BERT-base with
random weights), each with its own weights, order and dropout, for the same number of steps:

    one after another   a model after the other, as one process does
    in turn             one process, a step of each model in turn
    streams             one process, a thread and a CUDA stream per model
    graphs              one process, each model's step captured as a CUDA graph, replayed in turn
    stacked             one process, weights stacked [M, ...], products batched over models by `torch.func`
    processes           a process per model on the same GPU
    processes, MPS      the same under NVIDIA's MPS, where `nvidia-cuda-mps-control` is there

Needs PyTorch alone, so that it runs from a checkout on a bare machine; the encoder is BERT's architecture in
plain PyTorch. With `--dropout 0` all ways must come to the same losses, and the result says how far they are
apart. Ways that fail are listed with their error. Without a GPU nothing is measured unless `--device cpu`
asks for it. Results are results/gpu_many-DEVICE.json. Not measured on a GPU yet.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from statistics import median

import torch
from harness import QUICK, Claim, Result, parser_of, publish, shares, sized
from harness import alone as in_a_process
from torch import nn
from torch.nn import functional as F

VOCABULARY, WARM = sized(30522, 100), 3
FIRST, PROFILE = "one after another", "profile"


@dataclass(frozen=True)
class Work:
    """What each model does: BERT of this size on batches [B, L]."""

    device: str
    layers: int
    width: int
    batch: int
    length: int
    steps: int
    dropout: float
    precision: str

    def synchronise(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize()

    def autocast(self):
        return torch.autocast(self.device, torch.bfloat16) if self.precision == "bf16" else nullcontext()


class Layer(nn.Module):
    """One of BERT's layers: [B, L, H] to [B, L, H]."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.rate = heads, dropout
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        )  # [B, heads, L, H/heads]
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=self.rate)
        x = self.first(x + self.drop(self.out(mixed.transpose(1, 2).reshape(batch, length, width))))
        return self.second(x + self.drop(self.down(F.gelu(self.up(x)))))


class Bert(nn.Module):
    """Token ids [B, L] to one logit per document [B]."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, work.width), nn.Embedding(512, work.width)
        self.norm, self.drop = nn.LayerNorm(work.width), nn.Dropout(work.dropout)
        heads = max(1, work.width // 64)
        self.layers = nn.ModuleList(Layer(work.width, heads, work.dropout) for _ in range(work.layers))
        self.head = nn.Linear(work.width, 1)
        for each in self.modules():
            if isinstance(each, (nn.Linear, nn.Embedding)):
                nn.init.normal_(each.weight, std=0.02)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        x = self.drop(self.norm(x))
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1)).squeeze(-1)


def loss_of(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.binary_cross_entropy_with_logits(logits.float(), targets)


class One:
    """A model, its optimizer and its batches."""

    def __init__(self, work: Work, seed: int, *, capturable: bool = False) -> None:
        torch.manual_seed(seed)
        self.work, self.model = work, Bert(work).to(work.device)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=1e-4, fused=not capturable, capturable=capturable
        )
        draw = torch.Generator().manual_seed(seed)
        shape = (work.steps + WARM, work.batch, work.length)
        self.ids = torch.randint(VOCABULARY, shape, generator=draw).to(work.device)
        self.targets = torch.randint(2, shape[:2], generator=draw).float().to(work.device)
        self.loss = torch.zeros((), device=work.device)

    def step(self, number: int) -> None:
        self.learn(self.ids[number], self.targets[number])

    def learn(self, ids: torch.Tensor, targets: torch.Tensor) -> None:
        with self.work.autocast():
            logits = self.model(ids)
        loss = loss_of(logits, targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.loss = loss.detach()


def timed(work: Work, warm, go) -> float:
    """Seconds of `go`, once `warm` and all that it began are done."""
    warm()
    work.synchronise()
    begun = time.perf_counter()
    go()
    work.synchronise()
    return time.perf_counter() - begun


def one_after_another(work: Work, count: int) -> tuple[float, list[float]]:
    models = [One(work, seed) for seed in range(count)]

    def go(first: int, last: int) -> None:
        for model in models:
            for number in range(first, last):
                model.step(number)

    return timed(work, lambda: go(0, WARM), lambda: go(WARM, WARM + work.steps)), losses(models)


def in_turn(work: Work, count: int) -> tuple[float, list[float]]:
    models = [One(work, seed) for seed in range(count)]

    def go(first: int, last: int) -> None:
        for number in range(first, last):
            for model in models:
                model.step(number)

    return timed(work, lambda: go(0, WARM), lambda: go(WARM, WARM + work.steps)), losses(models)


def streams(work: Work, count: int) -> tuple[float, list[float]]:
    models = [One(work, seed) for seed in range(count)]
    own = [torch.cuda.Stream() if work.device != "cpu" else None for _ in models]

    def one(place: int, first: int, last: int) -> None:
        with torch.cuda.stream(own[place]):
            for number in range(first, last):
                models[place].step(number)

    def go(first: int, last: int) -> None:
        threads = [threading.Thread(target=one, args=(n, first, last)) for n in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return timed(work, lambda: go(0, WARM), lambda: go(WARM, WARM + work.steps)), losses(models)


def graphs(work: Work, count: int) -> tuple[float, list[float]]:
    if work.device == "cpu":
        raise RuntimeError("CUDA graphs need a GPU")
    models = [One(work, seed, capturable=True) for seed in range(count)]
    captured = []
    for model in models:
        ids, targets = model.ids[0].clone(), model.targets[0].clone()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):  # capture wants warmed-up optimizers, off the default stream
            for number in range(WARM):
                model.step(number)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        model.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            model.learn(ids, targets)
        captured.append((graph, ids, targets))

    def go() -> None:
        for number in range(WARM, WARM + work.steps):
            for model, (graph, ids, targets) in zip(models, captured, strict=True):
                ids.copy_(model.ids[number])
                targets.copy_(model.targets[number])
                graph.replay()

    return timed(work, lambda: None, go), losses(models)


def stacked(work: Work, count: int) -> tuple[float, list[float]]:
    from torch.func import functional_call, grad_and_value, stack_module_state, vmap

    models = [One(work, seed) for seed in range(count)]
    weights, _ = stack_module_state([each.model for each in models])
    weights = {name: each.detach() for name, each in weights.items()}
    template = Bert(work).to("meta")
    ids = torch.stack([each.ids for each in models], 1)  # [steps, M, B, L]
    targets = torch.stack([each.targets for each in models], 1)
    del models
    leaves = [nn.Parameter(each) for each in weights.values()]
    optimizer = torch.optim.AdamW(leaves, lr=1e-4, fused=True)

    def loss(own: dict[str, torch.Tensor], ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if work.precision == "bf16":  # autocast and vmap's gradients do not go together
            own = {name: each.bfloat16() for name, each in own.items()}
        return loss_of(functional_call(template, own, (ids,)), targets)

    both = vmap(grad_and_value(loss), randomness="different")
    found: list[torch.Tensor] = []

    def go(first: int, last: int) -> None:
        for number in range(first, last):
            own = dict(zip(weights, (each.detach() for each in leaves), strict=True))
            gradients, values = both(own, ids[number], targets[number])
            for leaf, name in zip(leaves, weights, strict=True):
                leaf.grad = gradients[name].contiguous()  # the fused optimizer reads memory as it lies
            optimizer.step()
            found[:] = [values]

    seconds = timed(work, lambda: go(0, WARM), lambda: go(WARM, WARM + work.steps))
    return seconds, found[0].tolist()


def processes(work: Work, count: int) -> tuple[float, list[float]]:
    context = multiprocessing.get_context("spawn")
    ready, answers = context.Barrier(count + 1), context.Queue()
    children = [context.Process(target=_child, args=(work, n, count, ready, answers)) for n in range(count)]
    for child in children:
        child.start()
    try:
        ready.wait(300)
        begun = time.perf_counter()
        found = dict(answers.get(timeout=300) for _ in children)
        seconds = time.perf_counter() - begun
    finally:
        ready.abort()
        for child in children:
            child.join(30)
            child.kill()
    return seconds, [found[n] for n in range(count)]


def _child(work: Work, seed: int, count: int, ready, answers) -> None:
    if work.device == "cpu":
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // count))
    model = One(work, seed)
    for number in range(WARM):
        model.step(number)
    work.synchronise()
    ready.wait(300)
    for number in range(WARM, WARM + work.steps):
        model.step(number)
    work.synchronise()
    answers.put((seed, float(model.loss)))


def processes_with_mps(work: Work, count: int) -> tuple[float, list[float]]:
    control = shutil.which("nvidia-cuda-mps-control")
    if control is None or work.device == "cpu":
        raise RuntimeError("there is no nvidia-cuda-mps-control")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as after:
        own = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
        for place in own.values():
            os.makedirs(place)
        os.environ.update(own)
        after.callback(lambda: [os.environ.pop(name) for name in own])
        subprocess.run([control, "-d"], check=True, timeout=30)
        after.callback(
            subprocess.run,
            [control],
            input="quit\n",
            text=True,
            timeout=30,
            check=False,
            env=os.environ | own,
        )
        return processes(work, count)


def losses(models: list[One]) -> list[float]:
    return [float(each.loss) for each in models]


WAYS = {
    FIRST: one_after_another,
    "in turn": in_turn,
    "streams": streams,
    "graphs": graphs,
    "stacked": stacked,
    "processes": processes,
    "processes, MPS": processes_with_mps,
}


if QUICK:
    WAYS = {way: WAYS[way] for way in (FIRST, "in turn", "stacked")}


def once(work: Work, only: str) -> dict:
    """One way in this process."""
    way, count = only.rsplit(":", 1)
    if way == PROFILE:
        return {"profile": profile(work)}
    try:
        seconds, found = WAYS[way](work, int(count))
    except Exception as error:  # a way that this machine cannot go is an answer too
        return {"error": f"{type(error).__name__}: {str(error)[:200]}"}
    memory = torch.cuda.max_memory_allocated() / 2**20 if work.device != "cpu" else None
    return {"seconds": seconds, "losses": found, "memory_mb": memory}


def alone(way: str, count: int, patience: float) -> dict:
    """One way in a process of its own, so that its memory and its errors are its own."""
    if patience <= 1:
        return {"error": "no time left"}
    try:
        return in_a_process([*sys.argv, "--only", f"{way}:{count}"], patience=patience)
    except (subprocess.TimeoutExpired, SystemExit, IndexError, ValueError) as error:
        return {"error": type(error).__name__}


def profile(work: Work) -> str:
    """Where the time of one model's steps goes, by operation."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    cuda = work.device != "cpu"
    with profiler(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]) as found:
        one_after_another(work, 1)
    time_of = "self_device_time_total" if cuda else "self_cpu_time_total"
    return shares({event.key: getattr(event, time_of) for event in found.key_averages()})


def arguments() -> argparse.Namespace:
    """What is trained, and for how long."""
    parser = parser_of(__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], default=sized(None, "cpu"))
    parser.add_argument("--layers", type=int, default=sized(12, 1))
    parser.add_argument("--width", type=int, default=sized(768, 32))
    parser.add_argument("--batch", type=int, default=sized(16, 2))
    parser.add_argument("--length", type=int, default=sized(64, 8))
    parser.add_argument("--steps", type=int, default=sized(40, 2))
    parser.add_argument("--models", type=int, nargs="+", default=sized([1, 2, 4, 8], [2]))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--precision", choices=["bf16", "fp32"], default=None)
    parser.add_argument(
        "--seconds", type=float, default=420, help="of all; ways that do not fit any more are left out"
    )
    parser.add_argument("--only", help="WAY:MODELS, one alone, as JSON")
    args = parser.parse_args()
    args.device = args.device or ("cuda" if torch.cuda.is_available() else None)
    args.precision = args.precision or ("bf16" if args.device == "cuda" else "fp32")
    return args


def main() -> int:
    """Every way with every number of models, in turn, and publish."""
    args = arguments()
    if args.device is None:
        print("not measured: there is no GPU here (`--device cpu` compares the ways' losses)")
        return 0
    sizes = (args.layers, args.width, args.batch, args.length, args.steps)
    work = Work(args.device, *sizes, args.dropout, args.precision)
    if args.only:
        print(json.dumps(once(work, args.only)))
        return 0
    until, runs = time.monotonic() + args.seconds, {}
    for count in args.models:
        every: dict[str, list[dict]] = {way: [] for way in WAYS}
        for number in range(args.repeats):
            names, turn = list(WAYS), number % len(WAYS)
            for way in names[turn:] + names[:turn]:
                every[way].append(alone(way, count, until - time.monotonic()))
        runs[count] = every
    return publish(result_of(args, runs))


def result_of(args: argparse.Namespace, runs: dict[int, dict[str, list[dict]]]) -> Result:
    """Documents per second of the ways that worked, and what the best gains over one after another."""
    values, apart, failed = {}, {}, {}
    for count, every in runs.items():
        good = {way: found for way, found in every.items() if not any("error" in run for run in found)}
        bad = set(every) - set(good)
        failed |= {f"{way}, {count} models": every[way][-1].get("error", "in a repeat") for way in bad}
        documents = count * args.steps * args.batch
        values[f"{count} models"] = {way: [documents / r["seconds"] for r in f] for way, f in good.items()}
        if FIRST in good:
            plain = good[FIRST][0]["losses"]
            apart[count] = {
                way: max(abs(a - b) for a, b in zip(found[0]["losses"], plain, strict=True))
                for way, found in good.items()
            }
    values = {row: peers for row, peers in values.items() if peers}
    device = (
        torch.cuda.get_device_name() if args.device == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    )
    title = f"Models on one device ({device}): documents/s"
    setting = {k: v for k, v in vars(args).items() if k != "only"} | {"device name": device}
    result = Result(f"gpu_many-{args.device}", title, "documents/s", values, setting=setting)
    for row, peers in values.items():
        if FIRST in peers:
            best = max(peers, key=lambda way: median(peers[way]))
            text = f"{row} on one {args.device}, the best way ({best}) against one after another"
            result.claims.append(Claim(text, None, result.ratio(row, best, FIRST)))
    if args.dropout == 0 and apart:
        worst = max(value for each in apart.values() for value in each.values())
        text = "losses of all ways apart, without dropout"
        result.claims.append(Claim(text, 1e-4, worst, "", at_least=False))
    result.details = {"runs": runs, "losses apart": apart, "failed": failed}
    result.profile = alone(PROFILE, 1, 300).get("profile", "")
    for way, error in failed.items():
        print(f"{way}: {error}")
    return result


if __name__ == "__main__":
    sys.exit(main())
