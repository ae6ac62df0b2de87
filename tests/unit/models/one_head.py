"""A small BERT with one head of one task, and its training."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import torch
from transformers import BertConfig, BertModel

from mtlv.data.batches import PartDocuments
from mtlv.models.encoder import Encoder, load_encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import Task
from mtlv.registries import ARCHITECTURES
from mtlv.training.hooks import EpochLosses, Hook
from mtlv.training.loop import train
from mtlv.training.objective import Objective
from mtlv.training.optim import make_optimizer, schedule
from mtlv.training.state import TrainingState

WORDS = ("heart", "lung", "liver", "is", "was", "not", "large", "clear")
WIDTH = 32


def small_encoder() -> Encoder:
    """One layer that reads `WORDS`."""
    tiny = load_encoder("tiny", texts=list(WORDS))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tiny.tokenizer),
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
    )
    return replace(tiny, module=BertModel(config).eval())


def with_head(encoder: Encoder, task: Task, layers: int = 1, **more: Any) -> MultiTaskModel:
    heads = ARCHITECTURES["mtl"].build([task.name], (), layers).check([task]).models[0].heads
    module, given = copy.deepcopy(encoder.module), {"features": "mean", "seed": 0, "dropout": 0.0} | more
    return MultiTaskModel(module, heads, tasks={task.name: task}, **given)


def aim(model: MultiTaskModel, task: Task) -> Objective:
    return Objective(list(model.specs.values()), tasks={task.name: task}, combine="sum", head_weights=None)


class Losses(Hook):
    def __init__(self) -> None:
        self.found: list[float] = []

    def on_epoch(self, losses: EpochLosses) -> None:
        self.found.append(losses.loss)


def losses_of(
    model: MultiTaskModel, task: Task, documents: PartDocuments, *, epochs: int, rate: float, **how: Any
) -> list[float]:
    """Train the model, and return the loss of each epoch."""
    losses = Losses()
    optimizer = make_optimizer(model, learning_rate=rate, weight_decay=0.0)
    train(
        TrainingState(model, optimizer, schedule(optimizer, "constant", steps=10_000, warmup=0.0)),
        lambda epoch: documents.training(8, seed=0, epoch=epoch),
        objective=aim(model, task),
        epochs=epochs,
        hooks=[losses],
        **how,
    )
    return losses.found
