"""Train one unit with or without the thesis's defects, with the package's own parts.

Without defects, scores equal those of `mtlv.units.train.train_unit` (this is tested).
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mtlv.data.batches import Batch, PartDocuments
from mtlv.data.columns import dense
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import Scores, Task, TaskScores
from mtlv.seeding import content_key
from mtlv.training import state
from mtlv.training.loop import train
from mtlv.training.memory import keep_freed_memory
from mtlv.training.objective import Objective
from mtlv.training.optim import make_optimizer, resolve_device, schedule
from mtlv.training.predict import predict
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job

ORDERS = ("shuffled", "once", "folders")


@dataclass(frozen=True)
class Defects:
    """Defects in the training of a model; by default none.

    Args:
        frozen_heads: whether the heads are not in the optimizer, and keep the initial weights of `nn.Linear`,
            because a plain Python list hides them from BERT's initialisation too.
        order: `shuffled`: reshuffled every epoch; `once`: the first epoch's batches in every epoch (the
            thesis's code permuted the documents once, before splitting them); `folders`: in the archive's
            order, all of C01, then the rest of C02, and so on.
    """

    frozen_heads: bool = False
    order: str = "shuffled"


@dataclass(frozen=True)
class Trained:
    """Results of a unit.

    Args:
        validation, test: raw scores of the unit's tasks.
        seconds: seconds of training and prediction.
        head_shift, encoder_shift: mean absolute change of the weights during training.
    """

    validation: Scores
    test: Scores
    seconds: float
    head_shift: float
    encoder_shift: float


def key_of(job: Job, inputs: UnitInputs, defects: Defects) -> str:
    """Return the content key of a unit with defects; equal keys: equal scores on the same kind of machine."""
    return content_key([job.unit.key, inputs.encoder.digest, asdict(defects)])


def train_with(job: Job, inputs: UnitInputs, defects: Defects) -> Trained:
    """Train a unit as the package does, except for `defects`; score validation and test by its last weights.

    Raises:
        TrainingError: the loss is not finite.
        DeviceError: the requested device is not available.
    """
    begun = time.perf_counter()
    settings, unit = job.settings.training, job.unit
    device, precision = resolve_device(settings.device), str(unit.train["precision"])
    if device.type == "cpu":
        keep_freed_memory()
    targets = dense({task: inputs.corpus.targets[task] for task in unit.model.tasks})
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(unit.draw_seed("dropout"))
        model = _build(job, inputs).to(device)
        if defects.frozen_heads:
            hide_heads(model, seed=unit.draw_seed("heads"))
        training = PartDocuments(inputs.tokens, targets, job.fold.train)
        before = _weights(model)
        optimizer = make_optimizer(
            model.encoder if defects.frozen_heads else model,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
        )
        updates = ceil(ceil(len(training) / settings.batch_size) / settings.accumulation)
        steps = updates * settings.epochs
        scheduler = schedule(optimizer, settings.schedule, steps=steps, warmup=settings.warmup)
        train(
            state.TrainingState(model, optimizer, scheduler),
            lambda epoch: batches(training, inputs, job, order=defects.order, epoch=epoch),
            objective=_objective(job).to(device),
            epochs=settings.epochs,
            precision=precision,
            accumulation=settings.accumulation,
            clip_norm=settings.clip_norm,
        )
    scores = {}
    for split, rows in (("validation", job.fold.validation), ("test", job.fold.test)):
        outputs = predict(model, PartDocuments(inputs.tokens, targets, rows), precision=precision)
        scores[split] = _scores(job, inputs, split, rows, outputs)
    heads, encoder = (
        float(np.mean(np.abs(now - then))) for now, then in zip(_weights(model), before, strict=True)
    )
    return Trained(scores["validation"], scores["test"], time.perf_counter() - begun, heads, encoder)


def hide_heads(model: MultiTaskModel, *, seed: int) -> None:
    """Do to heads what a plain Python list does: no training, and the initial weights of `nn.Linear`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for layer in model.heads.modules():
            if isinstance(layer, torch.nn.Linear):
                fresh = torch.nn.Linear(layer.in_features, layer.out_features)
                layer.load_state_dict(fresh.state_dict())
    model.heads.requires_grad_(False)  # otherwise the unused gradients would affect clipping


def batches(
    training: PartDocuments, inputs: UnitInputs, job: Job, *, order: str, epoch: int
) -> Iterator[Batch]:
    """Return the batches of an epoch, of B documents each, in one of `ORDERS`."""
    size, seed = job.settings.training.batch_size, job.unit.draw_seed("order")
    if order == "folders":
        return _by_folder(training, inputs, size)
    return training.training(size, seed=seed, epoch=0 if order == "once" else epoch)


def _by_folder(training: PartDocuments, inputs: UnitInputs, size: int) -> Iterator[Batch]:
    # Tasks of the corpus are ordered by code, so a document's first task is its first folder.
    first = inputs.corpus.matrix()[training.index].argmax(axis=1)  # [n]
    rows = training.index[np.argsort(first, kind="stable")]
    for start in range(0, len(rows), size):
        index = rows[start : start + size]
        ids, mask = training.tokens.pad_rows(index)
        targets = {name: column.batch(index) for name, column in training.targets.items()}
        yield Batch(index, torch.from_numpy(ids), torch.from_numpy(mask), int(mask.sum()), targets)


def _build(job: Job, inputs: UnitInputs) -> MultiTaskModel:
    return MultiTaskModel(
        copy.deepcopy(inputs.encoder.module),
        job.unit.model.heads,
        tasks={task.name: task for task in inputs.corpus.tasks},
        features=job.settings.encoder.features,
        seed=job.unit.draw_seed("heads"),
        dropout=job.settings.encoder.dropout,
    )


def _objective(job: Job) -> Objective:
    settings = job.settings.training
    tasks = {task: Task(task) for task in job.unit.model.tasks}
    return Objective(
        job.unit.model.heads, tasks=tasks, combine=settings.head_loss, head_weights=settings.head_weights
    )


def _weights(model: MultiTaskModel) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the weights of heads and encoder as flat arrays."""

    def flat(module: torch.nn.Module) -> NDArray[np.float32]:
        return np.concatenate([p.detach().cpu().numpy().ravel() for p in module.parameters()])

    return flat(model.heads), flat(model.encoder)


def _scores(job: Job, inputs: UnitInputs, split: str, rows: NDArray, outputs: dict[str, Any]) -> Scores:
    corpus = inputs.corpus
    tasks = {
        name: TaskScores(values, np.asarray(corpus.targets[name])[rows], np.ones(len(rows), bool))
        for name, values in outputs.items()
    }
    return Scores((job.unit.key,), split, tuple(corpus.ids[i] for i in rows), tasks)


def save(path: Path, trained: Trained) -> None:
    """Write a unit's scores to an NPZ file atomically."""
    arrays: dict[str, Any] = {}
    about = {k: getattr(trained, k) for k in ("seconds", "head_shift", "encoder_shift")}
    for scores in (trained.validation, trained.test):
        names = list(scores.tasks)
        about[scores.part] = {"units": scores.units, "ids": scores.ids, "tasks": names}
        arrays[f"{scores.part}_outputs"] = np.stack([scores.tasks[n].outputs for n in names])  # [T, N]
        arrays[f"{scores.part}_targets"] = np.stack([scores.tasks[n].targets for n in names])
    beside = path.with_suffix(".tmp.npz")
    np.savez_compressed(beside, about=json.dumps(about), **arrays)
    beside.replace(path)


def load(path: Path) -> Trained:
    """Return the results in a file of `save`."""
    with np.load(path, allow_pickle=False) as file:
        about = json.loads(str(file["about"]))
        parts = {}
        for split in ("validation", "test"):
            outputs, targets = file[f"{split}_outputs"], file[f"{split}_targets"]
            tasks = {
                name: TaskScores(outputs[i], targets[i], np.ones(outputs.shape[1], bool))
                for i, name in enumerate(about[split]["tasks"])
            }
            parts[split] = Scores(tuple(about[split]["units"]), split, tuple(about[split]["ids"]), tasks)
    return Trained(
        parts["validation"], parts["test"], *(about[k] for k in ("seconds", "head_shift", "encoder_shift"))
    )
