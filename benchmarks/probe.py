"""Cost of the gradient probe: python benchmarks/probe.py; about 8 minutes on one core

Trains one `minilm` for all labels of generated reports (`mtl`) for 20 steps, in turn with and without the
probe of the top two layers after every 10th step (`training.probe`). The cost is the increase in CPU seconds,
which with one thread do not depend on other work. The details say whether the weights are equal bit for bit,
as they must be.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from harness import Claim, Result, alone, interleaved, profiled, publish, sized

ENCODER, LAYERS, BATCH = sized("minilm", "tiny"), sized(2, 1), 16
EVERY = 10
WITHOUT, WITH = "without", f"top:{LAYERS} every {EVERY} steps"


def train_one(probed, documents, folder=None):
    """Train one epoch, save the weights in `folder` if given, and return CPU seconds and number of tasks."""
    import numpy as np
    import torch
    from throughput import learn, read

    from mtlv.data.batches import PartDocuments
    from mtlv.data.columns import dense
    from mtlv.data.mixing import DRAWS, Mixture
    from mtlv.models.layers import highest
    from mtlv.models.multitask import MultiTaskModel
    from mtlv.registries import ARCHITECTURES
    from mtlv.training.hooks import Hook
    from mtlv.training.loop import HeadLosses
    from mtlv.training.memory import keep_freed_memory
    from mtlv.training.objective import Objective
    from mtlv.training.probe import GradientProbe

    keep_freed_memory()
    torch.manual_seed(0)
    corpus, encoder, tokens = read("synthetic", None, documents=documents, encoder=ENCODER)
    tasks = {task.name: task for task in corpus.tasks}
    heads = ARCHITECTURES["mtl"].build(list(tasks), (), 1).models[0].heads
    model = MultiTaskModel(encoder.module, heads, tasks=tasks, features="mean", seed=0)
    part = PartDocuments(tokens, dense(corpus.targets), np.arange(len(corpus)))
    mixture = Mixture((part,), (BATCH,), DRAWS["in_proportion"]())
    terms = Objective(heads, tasks=tasks, combine="sum", head_weights=None, per_task=True)
    probe = GradientProbe(
        HeadLosses(model, terms, "fp32"),
        lambda number: mixture.halves(seed=1, number=number),
        every=EVERY,
        weights=[each for layer in highest(model.encoder, LAYERS) for each in layer.parameters()],
    )
    begun = time.process_time()
    learn(model, lambda epoch: mixture.training(seed=0, epoch=epoch), hooks=[probe if probed else Hook()])
    took = time.process_time() - begun
    if folder is not None:
        torch.save(model.state_dict(), Path(folder) / f"{int(probed)}.pt")
    return took, len(tasks)


def same(folder):
    """Return whether the weights with and without the probe are equal."""
    import torch

    one, other = (torch.load(Path(folder) / f"{probed}.pt") for probed in (0, 1))
    return all(torch.equal(one[name], other[name]) for name in one)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=sized(320, 40))
    parser.add_argument("--repeats", type=int, default=sized(3, 1))
    parser.add_argument("--only", help="PROBED,FOLDER: run one case, print JSON")
    args = parser.parse_args()
    if args.only:
        probed, folder = args.only.split(",", 1)
        print(json.dumps(train_one(probed == "1", args.documents, folder)[0]))
        return 0
    with tempfile.TemporaryDirectory() as folder:

        def case(probed):
            return lambda: alone(
                [__file__, "--documents", str(args.documents), "--only", f"{probed},{folder}"]
            )

        result = Result(
            "probe", "Training with the gradient probe", "s",
            {"an epoch": interleaved({WITHOUT: case(0), WITH: case(1)}, args.repeats)},
        )  # fmt: skip
        result.details = {"weights equal": same(folder)}
    tasks = train_one(True, 2 * BATCH)[1]
    result.setting = {"documents": args.documents, "tasks": tasks, "encoder": ENCODER, "precision": "fp32"}
    share = 100 * (result.ratio("an epoch", WITH, WITHOUT) - 1)
    text = f"the gradient probe adds to an epoch ({WITH}, {tasks} tasks)"
    result.claims.append(Claim(text, 25, share, unit="%", at_least=False))
    result.profile = profiled(lambda: train_one(True, min(args.documents, 160)))
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
