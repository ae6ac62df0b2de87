"""Train one unit: the only place where corpus, encoder, loop and scores meet."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.plan import ModelSpec, Scores, Task, TaskScores, Unit
from mtlv.running.observer import Observer
from mtlv.running.select import better, macro_average_precision
from mtlv.running.store import EpochRecord, UnitRecord
from mtlv.training.hooks import EpochLosses, Hook

if TYPE_CHECKING:
    import torch

    from mtlv.data.source import Corpus
    from mtlv.data.splits import Fold
    from mtlv.data.tokens import Tokens
    from mtlv.models.encoder import Encoder
    from mtlv.settings.schema import Settings


@dataclass(frozen=True)
class Job:
    """A unit with the settings of its suite member and its fold; `name` is what people read."""

    unit: Unit
    settings: Settings
    fold: Fold
    name: str = ""

    @property
    def documents(self) -> int:
        """Documents times epochs, the work to do."""
        return len(self.fold.train) * self.settings.training.epochs


@dataclass(frozen=True)
class Listeners:
    """Who hears of a unit in training.

    Args:
        observer: shows it.
        on_epoch: gets each epoch as it ends, with the scores of the validation part after it.
        timestamp_ms: when an epoch, by number, was told first; see `mtlv.running.ledger`.
    """

    observer: Observer
    on_epoch: Callable[[EpochRecord, Scores], None]
    timestamp_ms: Callable[[int], int]


@dataclass(frozen=True)
class Material:
    """What units of a suite share: read once, never changed."""

    corpus: Corpus
    tokens: Tokens
    encoder: Encoder


def train_unit(
    job: Job, material: Material, listeners: Listeners
) -> tuple[UnitRecord, dict[str, torch.Tensor]]:
    """Train, validate and test one unit; returns its record and the weights that were kept.

    Raises:
        TrainingError: the loss is not finite.
        DeviceError: the device asked for is not there.
    """
    import torch

    from mtlv.training.loop import train
    from mtlv.training.memory import keep_freed_memory
    from mtlv.training.optim import resolve_device
    from mtlv.training.predict import predict

    begun = time.perf_counter()
    settings, unit = job.settings.training, job.unit
    device, precision = resolve_device(settings.device), str(unit.train["precision"])
    documents = _documents(material, unit.model)
    if device.type == "cpu":
        keep_freed_memory()
    else:
        torch.cuda.reset_peak_memory_stats(device)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(unit.draw_seed("dropout"))
        model = _build(job, material).to(device)
        training = documents(job.fold.train)
        order_seed = unit.draw_seed("order")
        parts = _optimisation(job, model, len(training))
        watch = _Watch(job, model, documents(job.fold.validation), material.corpus, listeners)
        train(
            model,
            lambda epoch: training.training(settings.batch_size, seed=order_seed, epoch=epoch),
            **parts,
            epochs=settings.epochs,
            precision=precision,
            accumulation=settings.accumulation,
            clip_norm=settings.clip_norm,
            hooks=[watch],
        )
    chosen = watch.restore()
    outputs = predict(model, documents(job.fold.test), precision=precision)
    record = UnitRecord(
        key=unit.key,
        epochs=tuple(watch.records),
        chosen_epoch=chosen,
        train_seconds=sum(epoch.seconds for epoch in watch.records),
        total_seconds=time.perf_counter() - begun,
        parameters=sum(p.numel() for p in model.parameters()),
        peak_memory_mb=_peak_memory_mb(device),
        device=_device_name(device),
        validation=_scores(job, material.corpus, "validation", watch.outputs(chosen)),
        test=_scores(job, material.corpus, "test", outputs),
        curve=np.stack(watch.curve),
    )
    return record, {name: t.detach().cpu().contiguous() for name, t in model.state_dict().items()}


def _documents(material: Material, model: ModelSpec) -> Callable[[NDArray[np.int64]], Any]:
    from mtlv.data.batches import Documents

    targets = {task: np.asarray(material.corpus.targets[task]) for task in model.tasks}
    return lambda index: Documents(material.tokens, targets, index)


def _build(job: Job, material: Material) -> Any:
    from mtlv.models.multitask import MultiTaskModel

    return MultiTaskModel(
        copy.deepcopy(material.encoder.module),
        job.unit.model.heads,
        tasks=_tasks(material.corpus),
        features=job.settings.encoder.features,
        seed=job.unit.draw_seed("heads"),
        dropout=job.settings.encoder.dropout,
    )


def _tasks(corpus: Corpus) -> dict[str, Task]:
    return {task.name: task for task in corpus.tasks}


def _optimisation(job: Job, model: Any, documents: int) -> dict[str, Any]:
    from mtlv.training.objective import Objective
    from mtlv.training.optim import adamw, schedule

    settings = job.settings.training
    batches = -(-documents // settings.batch_size)
    steps = -(-batches // settings.accumulation) * settings.epochs
    optimizer = adamw(model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay)
    objective = Objective(
        job.unit.model.heads,
        tasks={task: Task(task) for task in job.unit.model.tasks},
        combine=settings.head_loss,
        head_weights=settings.head_weights,
    )
    return {
        "objective": objective.to(next(model.parameters()).device),
        "optimizer": optimizer,
        "scheduler": schedule(optimizer, settings.schedule, steps=steps, warmup=settings.warmup),
    }


class _Watch(Hook):
    """Validates after each epoch, keeps the best weights where asked, and tells the listeners."""

    def __init__(self, job: Job, model: Any, validation: Any, corpus: Corpus, listeners: Listeners) -> None:
        self.job, self.model, self.validation, self.corpus = job, model, validation, corpus
        self.listeners = listeners
        self.records: list[EpochRecord] = []
        self.curve: list[NDArray[np.float32]] = []
        self.best: tuple[int, dict[str, torch.Tensor]] | None = None
        targets = [validation.targets[task][validation.index] for task in job.unit.model.tasks]
        self._targets = np.stack(targets, axis=1)  # [n, T]

    def on_batch(self, documents: int) -> None:
        self.listeners.observer.batch(documents)

    def on_epoch(self, losses: EpochLosses) -> None:
        from mtlv.training.predict import predict

        outputs = predict(self.model, self.validation, precision=str(self.job.unit.train["precision"]))
        self.curve.append(np.stack([outputs[task] for task in self.job.unit.model.tasks], axis=1))
        when = self.listeners.timestamp_ms(losses.epoch)
        record = EpochRecord(**vars(losses), timestamp_ms=when)
        self.records.append(record)
        self._keep_best()
        scores = _scores(self.job, self.corpus, "validation", self.outputs(losses.epoch))
        self.listeners.on_epoch(record, scores)
        self.listeners.observer.epoch(
            self.job.name,
            losses.epoch + 1,
            self.job.settings.training.epochs,
            losses.loss,
            {"AP": macro_average_precision(self.curve[-1], self._targets)},
            losses.documents / losses.seconds,
        )

    def _keep_best(self) -> None:
        settings, now = self.job.settings.training, len(self.curve) - 1
        if settings.select != "best":
            return
        if self.best is None or better(
            self.curve[now], self.curve[self.best[0]], self._targets, settings.select_by
        ):
            self.best = (now, {name: t.detach().clone() for name, t in self.model.state_dict().items()})

    def restore(self) -> int:
        """Put the chosen epoch's weights back and return its number."""
        if self.best is None:
            return len(self.records) - 1
        epoch, weights = self.best
        self.model.load_state_dict(weights)
        return epoch

    def outputs(self, epoch: int) -> dict[str, NDArray[np.float32]]:
        """Validation scores of `epoch` by task."""
        return {task: self.curve[epoch][:, i] for i, task in enumerate(self.job.unit.model.tasks)}


def _scores(job: Job, corpus: Corpus, split: str, outputs: dict[str, NDArray[np.float32]]) -> Scores:
    index = getattr(job.fold, split)
    tasks = {
        name: TaskScores(values, np.asarray(corpus.targets[name])[index], np.ones(len(index), bool))
        for name, values in outputs.items()
    }
    return Scores((job.unit.key,), split, tuple(corpus.ids[i] for i in index), tasks)


def _peak_memory_mb(device: torch.device) -> float:
    """Of the unit on CUDA; on a processor of the process up to now, which has no mark to reset."""
    import torch

    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def _device_name(device: torch.device) -> str:
    import torch

    return (
        torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"cpu ({torch.get_num_threads()} threads)"
    )
