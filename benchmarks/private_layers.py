"""Cost of private layers in GMHL: python benchmarks/private_layers.py; about 8 minutes on one core

Trains a BERT with random weights, 12 layers of width 384, on generated reports: one model for all labels
(`mtl`), and one with 5 heads, each with its own copy of the top 2 layers (`architecture.private_layers`),
which are computed one by one, or as one (`execution.stack`).
The peers train one epoch in turn, in one process. The cost is in CPU seconds, which with one thread do not
depend on other work.
"""

from __future__ import annotations

import copy
import sys
import time
from functools import partial

from harness import Claim, Result, interleaved, profiled, publish, sized

LAYERS, WIDTH, BATCH, DOCUMENTS = sized(12, 2), sized(384, 32), 16, sized(160, 48)
GROUPS, PRIVATE = 5, sized(2, 1)
SHARED, OWN = "MTL", f"{GROUPS} heads with {PRIVATE} private layers"
STACKED = f"{OWN}, as a stack"


def trainers():
    """Return a function for each peer that trains one epoch and returns its CPU seconds."""
    import numpy as np
    import torch
    from throughput import learn
    from transformers import BertConfig, BertModel

    from mtlv.data import catalog
    from mtlv.data.batches import PartDocuments
    from mtlv.data.columns import dense
    from mtlv.data.options import DataOptions
    from mtlv.data.tokens import tokenise
    from mtlv.models.multitask import MultiTaskModel
    from mtlv.models.tiny import build_tiny
    from mtlv.plan import with_private_layers
    from mtlv.registries import ARCHITECTURES
    from mtlv.training.memory import keep_freed_memory

    keep_freed_memory()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    corpus = catalog.load("synthetic", DataOptions(documents=DOCUMENTS))
    tokenizer = build_tiny(corpus.texts)[1]
    tokens = tokenise(corpus.texts, tokenizer, max_length=128, pad=tokenizer.pad_token_id)
    size = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": max(1, WIDTH // 32)}
    encoder = BertModel(BertConfig(vocab_size=len(tokenizer), intermediate_size=4 * WIDTH, **size))
    tasks = {task.name: task for task in corpus.tasks}
    part = PartDocuments(tokens, dense(corpus.targets), np.arange(len(corpus)))
    names = list(tasks)
    groups = tuple(tuple(names[at::GROUPS]) for at in range(GROUPS))
    shared = ARCHITECTURES["mtl"].build(names, (), 1).models[0].heads
    private = with_private_layers(ARCHITECTURES["gmhl"].build(names, groups, 1), PRIVATE).models[0].heads
    peers = {SHARED: (shared, 1), OWN: (private, 1), STACKED: (private, None)}

    def epoch(heads, stack):
        how = {"features": "mean", "seed": 0, "stack": stack}
        model = MultiTaskModel(copy.deepcopy(encoder), heads, tasks=tasks, **how)
        begun = time.process_time()
        learn(model, lambda number: part.training(BATCH, seed=0, epoch=number), rate=2e-5)
        return time.process_time() - begun

    return {name: partial(epoch, *peer) for name, peer in peers.items()}


def main():
    peers = trainers()
    row = f"an epoch of {DOCUMENTS} documents"
    result = Result("private_layers", "Private layers", "s", {row: interleaved(peers, sized(5, 1), warm=1)})
    result.setting = {"documents": DOCUMENTS, "batch": BATCH, "layers": LAYERS, "width": WIDTH}
    text = f"GMHL with {GROUPS} heads and {PRIVATE} of {LAYERS} layers private against MTL"
    result.claims.append(Claim(text, 1.8, result.ratio(row, OWN, SHARED), at_least=False))
    result.profile = profiled(peers[OWN])
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
