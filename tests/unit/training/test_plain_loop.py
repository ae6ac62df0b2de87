"""Without dropout the loop learns step by step what a plain PyTorch loop learns from the same batches."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits
from transformers import BertConfig, BertModel

from mtlv.data.batches import PartDocuments
from mtlv.data.columns import dense
from mtlv.data.tokens import Tokens
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.training.hooks import Hook
from mtlv.training.loop import train
from mtlv.training.objective import Objective
from mtlv.training.optim import make_optimizer, schedule
from mtlv.training.state import EpochProgress, TrainingState

TASKS = {name: Task(name) for name in ("a", "b", "c")}
HEADS = [HeadSpec(tuple(TASKS))]
RATE, DECAY, CLIP, EPOCHS, SIZE, WARM = 5e-3, 0.1, 0.5, 3, 16, 0.2
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


class Losses(Hook):
    def __init__(self) -> None:
        self.found: list[float] = []

    def on_step(self, progress: EpochProgress) -> None:
        self.found.append(float(progress.losses[-1]))


def plain(model: MultiTaskModel, documents: PartDocuments, targets: torch.Tensor) -> list[float]:
    """As one writes it: whole batches padded to their longest document, no fused kernels."""
    (head,) = model.heads.values()
    learned = list(model.parameters())
    groups = [
        {"params": [p for p in learned if p.ndim > 1], "weight_decay": DECAY},
        {"params": [p for p in learned if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE, fused=False)
    steps = -(-len(documents) // SIZE) * EPOCHS
    warm = round(WARM * steps)
    found = []
    for epoch in range(EPOCHS):
        for batch in documents.training(SIZE, seed=0, epoch=epoch):
            step = len(found)
            factor = (step + 1) / (warm + 1) if step < warm else (steps - step) / (steps - warm)
            for group in optimizer.param_groups:
                group["lr"] = RATE * factor
            mask = batch.attention_mask
            hidden = model.encoder(input_ids=batch.input_ids, attention_mask=mask).last_hidden_state
            weights = mask.unsqueeze(-1).float()
            logits = head((hidden * weights).sum(1) / weights.sum(1))
            loss = binary_cross_entropy_with_logits(logits, targets[batch.index])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learned, CLIP)
            optimizer.step()
            found.append(loss.item())
    return found


@pytest.mark.parametrize("seed", [0, 1])
def test_losses_are_those_of_a_plain_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 40, 70)
    ids = rng.integers(5, 50, lengths.sum()).astype(np.int32)
    tokens = Tokens(ids, np.concatenate([[0], np.cumsum(lengths)]), pad=0, truncated=0)
    flags = {name: (rng.random(70) < 0.3).astype(np.int8) for name in TASKS}
    documents = PartDocuments(tokens, dense(flags), np.arange(70))
    torch.manual_seed(seed)
    encoder = BertModel(BertConfig(vocab_size=50, **SIZES))
    model = MultiTaskModel(encoder, HEADS, tasks=TASKS, features="mean", seed=seed, dropout=0.0)
    targets = torch.from_numpy(np.stack(list(flags.values()), axis=1)).float()
    expected = plain(copy.deepcopy(model), documents, targets)
    losses = Losses()
    optimizer = make_optimizer(model, learning_rate=RATE, weight_decay=DECAY)
    train(
        TrainingState(model, optimizer, schedule(optimizer, "linear", steps=len(expected), warmup=WARM)),
        lambda epoch: documents.training(SIZE, seed=0, epoch=epoch),
        objective=Objective(HEADS, tasks=TASKS, combine="sum", head_weights=None),
        epochs=EPOCHS,
        clip_norm=CLIP,
        hooks=[losses],
    )
    assert losses.found == pytest.approx(expected, rel=2e-3)
    assert expected[-1] < expected[0]
