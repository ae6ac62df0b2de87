"""Time that training waits for a checkpoint of `minilm`: python benchmarks/checkpoints.py; half a minute

Copies and writes the state after one optimizer step a few times. Training waits only for the copy; another
thread writes it. The peer is `torch.save` of the same state in the training thread, with fsync, as is common.
"""

from __future__ import annotations

import copy
import os
import sys
import tempfile
import time
from pathlib import Path

import torch
from harness import Claim, Result, interleaved, profiled, publish, seconds, sized

from mtlv.models.encoder import load_encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import Task
from mtlv.registries import ARCHITECTURES
from mtlv.store.checkpoints import Checkpoints
from mtlv.training.memory import keep_freed_memory
from mtlv.training.optim import make_optimizer, schedule
from mtlv.training.state import EpochProgress, TrainingState

REPEATS, ENCODER = sized(6, 1), sized("minilm", "tiny")
WAITS, WRITTEN, SAVED = "mtlv: training waits", "mtlv: written beside it", "torch.save: training waits"


def after_a_step() -> TrainingState:
    """Return a model of 23 tasks, its optimizer and schedule, after one step."""
    names = [f"task {number}" for number in range(23)]
    heads = ARCHITECTURES["mtl"].build(names, (), 1).models[0].heads
    tasks = {name: Task(name) for name in names}
    encoder = copy.deepcopy(load_encoder(ENCODER, texts=("a text",)).module)
    model = MultiTaskModel(encoder, heads, tasks=tasks, features="mean", seed=0)
    optimizer = make_optimizer(model, learning_rate=1e-4, weight_decay=0.01)
    scheduler = schedule(optimizer, "linear", steps=100, warmup=0.1)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer.step()
    scheduler.step()
    return TrainingState(model, optimizer, scheduler)


def save(trained: TrainingState, path: Path) -> None:
    """Save the state with `torch.save` in the training thread."""
    parts = {"model": trained.model, "optimizer": trained.optimizer, "scheduler": trained.scheduler}
    with path.open("wb") as file:
        torch.save({name: part.state_dict() for name, part in parts.items()}, file)
        file.flush()
        os.fsync(file.fileno())


def main() -> int:
    """Measure both ways and publish the result."""
    keep_freed_memory()
    trained, written = after_a_step(), []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        checkpoints = Checkpoints(folder / "own")

        def ours() -> float:
            begun = time.perf_counter()
            checkpoints.write(len(written), trained.take(EpochProgress()))
            taken = time.perf_counter()
            checkpoints.wait()
            written.append(time.perf_counter() - taken)
            return taken - begun

        peers = {WAITS: ours, SAVED: lambda: seconds(lambda: save(trained, folder / "plain.pt"))}
        found = interleaved(peers, REPEATS, warm=1)
        profile = profiled(ours)
        size = max(path.stat().st_size for path in (folder / "own").iterdir()) / 1e6
        checkpoints.remove()
    row = f"a checkpoint of {ENCODER}, {size:.0f} MB"
    values = {row: {WAITS: found[WAITS], WRITTEN: written[1 : REPEATS + 1], SAVED: found[SAVED]}}
    result = Result("checkpoints", "Seconds of a checkpoint", "s", values, profile=profile)
    result.setting = {"encoder": ENCODER, "megabytes": size}
    text = f"training waits for a checkpoint of `{ENCODER}`, of what it waits for `torch.save`"
    result.claims = [Claim(text, None, 100 * result.ratio(row, WAITS, SAVED), "%", at_least=False)]
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
