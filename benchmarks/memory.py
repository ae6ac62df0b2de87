"""Memory by corpus size, generated documents of 128 tokens: python benchmarks/memory.py [--largest N]

A table of 10^3 to 10^5 documents (2 minutes; `--largest 1000000` adds 10^6: half an hour, 1 GB on disk) is
read, split, tokenised, and iterated over as in an epoch of training and one of validation, each size in a
separate process; 20 steps are trained with `tiny`. Measures the seconds of each part and the peak memory of
the process during it. The limit includes Python and PyTorch (0.3 GB); the encoder is negligible, so this is
memory in addition to model and optimizer.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from harness import Claim, Result, alone, publish, shares, sized

LIMIT_GB, LABELS, WORDS, STEPS = 4.0, 10, 126, sized(20, 1)
SIZES = sized((10**3, 10**4, 10**5, 10**6), (100,))
PARTS = ("imports", "read", "divide", "encoder", "tokenise", "training", "validation")
CONFIG = """\
experiment: memory
data: {{name: table, path: table.csv, columns: {{labels: [{labels}]}}, max_length: 128}}
encoder: ./encoder
store: {{uri: store}}
"""


def make_table(path, documents):
    """Write texts of 126 words of one token, from a vocabulary of 2,000; word i decides label i."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(2000)])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", *(f"label {number}" for number in range(LABELS))])
        for _ in range(documents):
            drawn = rng.integers(len(words), size=WORDS)
            writer.writerow([" ".join(words[drawn]), *(int(flag) for flag in drawn[:LABELS] < 200)])


def make_encoder(folder, table):
    """Save `tiny` with the words of the table's first 1,000 texts, to be loaded as any encoder."""
    from itertools import islice

    from mtlv.models.encoder import load_encoder

    with table.open(encoding="utf-8", newline="") as file:
        texts = tuple(row["text"] for row in islice(csv.DictReader(file), 1000))
    encoder = load_encoder("tiny", texts=texts)
    encoder.module.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)


class Meter:
    """Measures peak memory (MB) and wall seconds of each part; the kernel's peak is reset before it."""

    def __init__(self):
        self.found = {}

    @contextmanager
    def part(self, name):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        begun = time.perf_counter()
        yield
        took = time.perf_counter() - begun
        status = Path("/proc/self/status").read_text(encoding="ascii")
        most = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        self.found[name] = {"mb": most, "seconds": took}


def one(folder):
    """Run all parts in `folder`; print their memory and seconds as JSON."""
    meter = Meter()
    with meter.part("imports"):
        import torch  # noqa: F401
        import transformers  # noqa: F401

        from mtlv.data.batches import PartDocuments
        from mtlv.settings import load_suite
        from mtlv.store.local import Store
        from mtlv.training.memory import keep_freed_memory
        from mtlv.units.input_cache import InputCache

        keep_freed_memory()
        settings = load_suite(folder / "c.yml").members[0].settings
        cache = InputCache(Store(folder / "store"))
    with meter.part("read"):
        corpus = cache.corpus(settings.data)
    with meter.part("divide"):
        fold = cache.folds(settings.data)[0]
    with meter.part("encoder"):
        encoder = cache.encoder(settings.encoder, settings.data)
    with meter.part("tokenise"):
        tokens = cache.tokens(encoder, settings.data)
    targets = {task.name: cache.inputs(settings).targets[task.kind] for task in corpus.tasks}
    columns = {
        task.name: targets[task.name].column(task, corpus.targets[task.name], tokens) for task in corpus.tasks
    }
    with meter.part("training"):
        step = trainer(encoder, corpus)
        train = PartDocuments(tokens, columns, tokens.rows(fold.train))
        for number, batch in enumerate(train.training(16, seed=0, epoch=0)):
            if number < STEPS:
                step(batch)
    with meter.part("validation"):
        for _ in PartDocuments(tokens, columns, tokens.rows(fold.validation)).inference(64):
            pass
    print(json.dumps({"documents": len(corpus), "parts": meter.found}))


def trainer(encoder, corpus):
    """Return a function that trains one step."""
    import copy

    from mtlv.models.multitask import MultiTaskModel
    from mtlv.registries import ARCHITECTURES
    from mtlv.training.loop import train
    from mtlv.training.objective import Objective
    from mtlv.training.optim import make_optimizer, schedule
    from mtlv.training.state import TrainingState

    tasks = {task.name: task for task in corpus.tasks}
    heads = ARCHITECTURES["mtl"].build(list(tasks), (), 1).models[0].heads
    model = MultiTaskModel(copy.deepcopy(encoder.module), heads, tasks=tasks, features="mean", seed=0)
    optimizer = make_optimizer(model, learning_rate=1e-4, weight_decay=0.01)
    objective = Objective(heads, tasks=tasks, combine="sum", head_weights=None)

    def step(batch):
        scheduler = schedule(optimizer, "constant", steps=1, warmup=0)
        train(
            TrainingState(model, optimizer, scheduler),
            lambda _: iter([batch]),
            objective=objective,
            epochs=1,
            precision="fp32",
        )

    return step


def measure(documents):
    """Return the memory and seconds of each part for a number of documents."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_table(folder / "table.csv", documents)
        make_encoder(folder / "encoder", folder / "table.csv")
        labels = ", ".join(f"label {number}" for number in range(LABELS))
        (folder / "c.yml").write_text(CONFIG.format(labels=labels), encoding="utf-8")
        return alone([__file__, "--only", place])["parts"]


def profile(seconds):
    """Return a profile of the largest size, given the seconds of all sizes."""
    return shares(list(seconds.values())[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--largest", type=int, default=sized(100_000, 1_000), help="documents; 1000000 takes half an hour"
    )
    parser.add_argument("--only", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        one(args.only)
        return 0
    sizes = [size for size in SIZES if size <= args.largest]
    found = {}
    for size in sizes:
        found[size] = measure(size)
        print(
            f"{size} documents:",
            {name: (round(x["mb"]), round(x["seconds"], 1)) for name, x in found[size].items()},
        )
    values = {f"{size:,}": {name: [found[size][name]["mb"]] for name in PARTS} for size in sizes}
    text = "10^6 documents of 128 tokens: most memory beside model and optimizer"
    worst = max(part["mb"] for part in found[10**6].values()) / 1024 if 10**6 in found else None
    why = "" if worst else f"run with --largest 1000000; measured up to {max(sizes):,}"
    result = Result("memory", "Most memory of each part by number of documents", "MB", values)
    result.claims = [Claim(text, LIMIT_GB, worst, "GB", at_least=False, why=why)]
    result.details = {
        "seconds": {size: {name: x["seconds"] for name, x in parts.items()} for size, parts in found.items()}
    }
    result.setting = {"labels": LABELS, "tokens": 128}
    result.profile = profile(result.details["seconds"])
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
