"""Time saved by frozen layers and by caching their outputs: python benchmarks/frozen.py; about 5 minutes

Trains four single-task models with `minilm` (6 layers) in one process, for two epochs each on generated
reports, with the lowest 0, 3 or 5 layers frozen (`encoder.frozen_layers`). The outputs of frozen layers are
computed in every batch of every model, or once for all models and epochs, as in a suite. Weights should be
equal except for rounding; the details contain the largest difference.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import tempfile
from pathlib import Path

from harness import Claim, Result, alone, interleaved, profiled, publish, seconds, sized

MODELS, EPOCHS = 4, 2
ENCODER, LAYERS, FROZEN = sized("minilm", "tiny"), sized(6, 2), sized((3, 5), (1,))
ANEW, ONCE = "computed in every batch", "computed once"


def train_all(frozen, shared, documents, folder=None):
    """Return the seconds of training; save the last model's weights in `folder`."""
    import numpy as np
    import torch
    from throughput import learn, read

    from mtlv.data.batches import PartDocuments
    from mtlv.data.columns import dense
    from mtlv.models.fast.frozen_cache import FrozenCache
    from mtlv.models.multitask import MultiTaskModel
    from mtlv.plan import Task
    from mtlv.registries import ARCHITECTURES
    from mtlv.training.memory import keep_freed_memory

    keep_freed_memory()
    corpus, encoder, tokens = read("synthetic", None, documents=documents, encoder=ENCODER)
    below = FrozenCache(2**30) if shared else None

    def one(name):
        torch.manual_seed(0)
        plan = ARCHITECTURES["stl"].build([name], (), 1)
        heads, tasks = plan.models[0].heads, {name: Task(name)}
        module = copy.deepcopy(encoder.module)
        model = MultiTaskModel(
            module, heads, tasks=tasks, features="mean", seed=0, frozen_layers=frozen, below=below
        )
        part = PartDocuments(tokens, dense({name: corpus.targets[name]}), np.arange(len(corpus)))
        learn(model, lambda epoch: part.training(16, seed=0, epoch=epoch), epochs=EPOCHS)
        return model

    names = [task.name for task in corpus.tasks][:MODELS]
    models = []
    took = seconds(lambda: models.extend([one(name) for name in names][-1:]))
    if folder is not None:
        torch.save(models[0].state_dict(), Path(folder) / f"{frozen}-{int(shared)}.pt")
    return took


def apart(folder, frozen):
    """Return the largest difference between weights trained with and without the cache."""
    import torch

    one, other = (torch.load(Path(folder) / f"{frozen}-{shared}.pt") for shared in (0, 1))
    return max(float((one[name].float() - other[name].float()).abs().max()) for name in one)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=sized(64, 20))
    parser.add_argument("--repeats", type=int, default=sized(3, 1))
    parser.add_argument("--only", help="FROZEN,SHARED,FOLDER: run one case, print JSON")
    args = parser.parse_args()
    if args.only:
        frozen, shared, folder = args.only.split(",", 2)
        print(json.dumps(train_all(int(frozen), shared == "1", args.documents, folder)))
        return 0
    with tempfile.TemporaryDirectory() as folder:

        def case(frozen, shared):
            only = f"{frozen},{shared},{folder}"
            return lambda: alone([__file__, "--documents", str(args.documents), "--only", only])

        peers = {"nothing frozen": case(0, 0)}
        for frozen in FROZEN:
            peers |= {
                f"{frozen} of {LAYERS}, {ANEW}": case(frozen, 0),
                f"{frozen} of {LAYERS}, {ONCE}": case(frozen, 1),
            }
        row = f"{MODELS} models"
        result = Result(
            "frozen", "Single-task models with frozen layers", "s", {row: interleaved(peers, args.repeats)}
        )
        result.details = {f"weights apart, {frozen} frozen": apart(folder, frozen) for frozen in FROZEN}
    result.setting = {"documents": args.documents, "epochs": EPOCHS, "encoder": ENCODER, "precision": "fp32"}
    for frozen in FROZEN:
        anew, once = f"{frozen} of {LAYERS}, {ANEW}", f"{frozen} of {LAYERS}, {ONCE}"
        text = f"{frozen} of {LAYERS} layers frozen: computed once against in every batch"
        result.claims.append(Claim(text, None, result.ratio(row, anew, once)))
        result.claims.append(
            Claim(
                f"{frozen} of {LAYERS} layers frozen against none",
                None,
                result.ratio(row, "nothing frozen", once),
            )
        )
    result.profile = profiled(lambda: train_all(FROZEN[-1], True, min(args.documents, 48)))
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
