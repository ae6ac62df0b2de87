"""How long training waits for a checkpoint of `minilm`: python benchmarks/checkpoints.py

Takes and writes the state of one optimizer step a few times. Training waits while it is taken, another thread
writes it.
"""

from __future__ import annotations

import copy
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mtlv.models.encoder import load_encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import ARCHITECTURES, Task
from mtlv.running.checkpoints import Checkpoints
from mtlv.training.memory import keep_freed_memory
from mtlv.training.optim import adamw, schedule
from mtlv.training.state import Progress, Trained

REPEATS = 6


def after_a_step():
    names = [f"task {number}" for number in range(23)]
    heads = ARCHITECTURES["mtl"].build(names, (), 1).models[0].heads
    tasks = {name: Task(name) for name in names}
    encoder = copy.deepcopy(load_encoder("minilm").module)
    model = MultiTaskModel(encoder, heads, tasks=tasks, features="mean", seed=0)
    optimizer = adamw(model, learning_rate=1e-4, weight_decay=0.01)
    scheduler = schedule(optimizer, "linear", steps=100, warmup=0.1)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer.step()
    scheduler.step()
    return Trained(model, optimizer, scheduler)


def main():
    keep_freed_memory()
    trained = after_a_step()
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = Checkpoints(Path(folder))
        for step in range(REPEATS):
            begun = time.perf_counter()
            checkpoints.write(step, trained.take(Progress()))
            taken = time.perf_counter()
            checkpoints.wait()
            size = max(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
            written = time.perf_counter()
            print(f"training waits {taken - begun:.3f} s, written in {written - taken:.2f} s, {size:.0f} MB")
        checkpoints.remove()


if __name__ == "__main__":
    main()
