"""What layers of a group's own cost: python benchmarks/private_layers.py; about 3 minutes on one core

A random BERT of 12 layers with a head for each of five groups of two labels (GMHL), trained for some steps
with no private layers, where the whole encoder is shared as in MTL, and with the top two of each group's own
(`architecture.private_layers: 2`), in turn. Seconds are of the processor: with one thread these are the same
beside other work. By the number of layers, a step should cost (10 + 5 * 2) / 12 = 1.67 times as much.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace

from harness import Claim, Result, alone, interleaved, profiled, publish, sized

LAYERS, WIDTH, BATCH, LENGTH = 12, sized(256, 32), 16, sized(64, 8)
GROUPS, OWN, MOST = 5, 2, 1.8
SHARED, PRIVATE = "none of their own", f"the top {OWN} of their own"


def train_some(own, steps):
    """Seconds of the processor for some steps of training, after one that is not measured."""
    import torch
    from transformers import BertConfig, BertModel

    from mtlv.models.multitask import MultiTaskModel
    from mtlv.plan import HeadSpec, Task
    from mtlv.training.memory import keep_freed_memory
    from mtlv.training.optim import adamw

    keep_freed_memory()
    torch.manual_seed(0)
    sizes = {"hidden_size": WIDTH, "intermediate_size": 4 * WIDTH, "num_attention_heads": 4}
    encoder = BertModel(BertConfig(vocab_size=1000, num_hidden_layers=LAYERS, **sizes))
    tasks = {str(number): Task(str(number)) for number in range(2 * GROUPS)}
    heads = [HeadSpec((str(number), str(number + GROUPS))) for number in range(GROUPS)]
    heads = [replace(head, private=own) for head in heads]
    model = MultiTaskModel(encoder, heads, tasks=tasks, features="mean", seed=0).train()
    optimizer = adamw(model, learning_rate=1e-4, weight_decay=0.01)
    ids, mask = torch.randint(5, 1000, (BATCH, LENGTH)), torch.ones(BATCH, LENGTH, dtype=torch.bool)
    begun = 0.0
    for step in range(steps + 1):
        begun = time.process_time() if step == 1 else begun
        loss = torch.stack([logits.square().mean() for logits in model(ids, mask).values()]).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return time.process_time() - begun


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=sized(8, 1))
    parser.add_argument("--repeats", type=int, default=sized(3, 1))
    parser.add_argument("--only", type=int, help="number of private layers: one case, as JSON")
    args = parser.parse_args()
    if args.only is not None:
        print(json.dumps(train_some(args.only, args.steps)))
        return 0

    def case(own):
        return lambda: alone([__file__, "--steps", str(args.steps), "--only", str(own)])

    cases = {SHARED: case(0), PRIVATE: case(OWN)}
    result = Result(
        "private_layers", "Layers of groups' own", "s", {"steps": interleaved(cases, args.repeats)}
    )
    result.setting = {"layers": LAYERS, "width": WIDTH, "groups": GROUPS, "batch": BATCH, "tokens": LENGTH}
    ratio = result.ratio("steps", PRIVATE, SHARED)
    text = f"a step of {GROUPS} groups with {PRIVATE}, of {LAYERS} layers, in steps of one shared encoder"
    result.claims.append(Claim(text, MOST, ratio, at_least=False))
    result.profile = profiled(lambda: train_some(OWN, 2))
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
