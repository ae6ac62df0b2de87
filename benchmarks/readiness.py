"""Tokenisation, time to the first step, evaluation: python benchmarks/readiness.py; about 3 minutes

Each is compared with a peer in one run: tokenisation of a corpus, with calling the tokenizer for each text;
the time from a new process to the first training step of `minilm` (320 generated documents), with the imports
alone; F1, its thresholds and average precision of synthetic scores of 20 and 200 labels, with calling
scikit-learn for each label. Also measures fp32 matrix products (one thread and all) and memory copies, which
limit everything else.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import time

import numpy as np
from harness import Claim, Result, alone, interleaved, profiled, publish, seconds, sized

DOCUMENTS, REPEATS = sized(320, 20), sized(3, 1)
SCORED, WIDTH = sized(2000, 50), sized(1024, 64)


def first_step():
    """Print the seconds until the imports, the encoder and the first step are done, as JSON."""
    begun = time.perf_counter()
    import torch  # noqa: F401
    import transformers  # noqa: F401
    from throughput import learn

    from mtlv.data import catalog
    from mtlv.data.batches import PartDocuments
    from mtlv.data.columns import dense
    from mtlv.data.options import DataOptions
    from mtlv.data.tokens import tokenise
    from mtlv.models.encoder import load_encoder
    from mtlv.models.multitask import MultiTaskModel
    from mtlv.registries import ARCHITECTURES

    found = {"imports": time.perf_counter() - begun}
    encoder = load_encoder("minilm")
    found["encoder is loaded"] = time.perf_counter() - begun
    corpus = catalog.load("synthetic", DataOptions(documents=DOCUMENTS))
    tokens = tokenise(corpus.texts, encoder.tokenizer, max_length=128, pad=encoder.tokenizer.pad_token_id)
    tasks = {task.name: task for task in corpus.tasks}
    heads = ARCHITECTURES["mtl"].build(list(tasks), (), 1).models[0].heads
    model = MultiTaskModel(copy.deepcopy(encoder.module), heads, tasks=tasks, features="mean", seed=0)
    documents = PartDocuments(tokens, dense(corpus.targets), np.arange(16))
    learn(model, lambda epoch: documents.training(16, seed=0, epoch=epoch), steps=1)
    found["first step is made"] = time.perf_counter() - begun
    print(json.dumps(found))


def starts():
    """Return the seconds until each milestone, by repeat."""
    found = [alone([__file__, "--first-step"]) for _ in range(REPEATS)]
    return {name: [each[name] for each in found] for name in found[0]}


def tokenisation():
    """Return documents per second of each peer."""
    from mtlv.data import catalog
    from mtlv.data.options import DataOptions
    from mtlv.data.tokens import tokenise
    from mtlv.models.encoder import load_encoder

    texts = catalog.load("synthetic", DataOptions(documents=sized(4000, 50))).texts
    tokenizer = load_encoder("minilm").tokenizer

    def one_by_one():
        return [tokenizer(text, truncation=True, max_length=128)["input_ids"] for text in texts]

    def ours():
        return tokenise(texts, tokenizer, max_length=128, pad=tokenizer.pad_token_id)

    peers = {
        "mtlv": lambda: len(texts) / seconds(ours),
        "tokenizer, text by text": lambda: len(texts) / seconds(one_by_one),
    }
    return interleaved(peers, REPEATS, warm=1)


def evaluation(labels):
    """Return the seconds that each peer takes for thresholds and metrics of 2,000 documents."""
    from sklearn.metrics import average_precision_score, f1_score

    from mtlv.evaluation.metrics import evaluate
    from mtlv.evaluation.thresholds import fit_thresholds
    from mtlv.plan import Scores, TaskScores

    rng = np.random.default_rng(0)
    targets = (rng.random((SCORED, labels)) < 0.1).astype(np.int8)
    outputs = np.clip(0.5 * targets + 0.6 * rng.random(targets.shape), 0, 1)
    grid = [round(0.1 + 0.05 * step, 2) for step in range(17)]
    names = [f"label {n}" for n in range(labels)]
    known = np.ones(SCORED, bool)
    tasks = {name: TaskScores(outputs[:, n], targets[:, n], known) for n, name in enumerate(names)}
    scores = Scores(("unit",), "validation", tuple(map(str, range(SCORED))), tasks)

    def ours():
        found = fit_thresholds(scores, names, scope="per_plan", fixed=0.5, grid=grid)
        evaluate(scores, names, found.values)

    def theirs():
        best = max(grid, key=lambda at: f1_score(targets, outputs >= at, average="macro", zero_division=0))
        for task in range(labels):
            f1_score(targets[:, task], outputs[:, task] >= best, zero_division=0)
            average_precision_score(targets[:, task], outputs[:, task])

    peers = {"mtlv": lambda: seconds(ours), "scikit-learn": lambda: seconds(theirs)}
    return interleaved(peers, REPEATS, warm=1)


def limits():
    """Return GFLOP/s of fp32 matrix products and GB/s of copies on this machine."""
    import torch

    left, right = torch.rand(WIDTH, WIDTH), torch.rand(WIDTH, WIDTH)
    block = torch.rand(sized(2**25, 2**15))  # 128 MiB

    def products(threads):
        torch.set_num_threads(threads)
        return 10 * 2 * WIDTH**3 / 1e9 / seconds(lambda: [left @ right for _ in range(10)])

    cores = os.cpu_count() or 1
    peers = {f"fp32 products, {n} threads [GFLOP/s]": lambda n=n: products(n) for n in sorted({1, cores})}
    peers["copy, read and written [GB/s]"] = lambda: 2 * block.nbytes / 1e9 / seconds(block.clone)
    return interleaved(peers, sized(5, 1), warm=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first-step", action="store_true")
    if parser.parse_args().first_step:
        first_step()
        return 0
    values = {
        "until [s]": starts(),
        "tokenisation [documents/s]": tokenisation(),
        "evaluation, 20 labels [s]": evaluation(20),
        "evaluation, 200 labels [s]": evaluation(200),
        "the machine": limits(),
    }
    title = "Tokenisation, time to the first step, evaluation, and what the machine can do"
    result = Result("readiness", title, "units beside each row", values)
    result.profile = profiled(tokenisation)
    until = values["until [s]"]
    waits = np.median(until["first step is made"]) - np.median(until["encoder is loaded"])
    text = "first step of `minilm` after its encoder is loaded, 320 documents"
    result.claims = [Claim(text, 2, float(waits), "s", at_least=False)]
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
