"""Train one unit: the only place where corpus, encoder, loop and scores meet."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import TrainingError
from mtlv.plan import ModelSpec, Task
from mtlv.running.checkpoints import Checkpoints
from mtlv.running.job import Job
from mtlv.running.saver import Saver
from mtlv.running.store import UnitRecord
from mtlv.running.watch import Listeners, Watch, scores_of

if TYPE_CHECKING:
    import torch

    from mtlv.data.source import Corpus
    from mtlv.data.tokens import Tokens
    from mtlv.models.encoder import Encoder
    from mtlv.training.state import Trained


@dataclass(frozen=True)
class Material:
    """What units of a suite share: read once, never changed."""

    corpus: Corpus
    tokens: Tokens
    encoder: Encoder


def train_unit(
    job: Job, material: Material, listeners: Listeners, checkpoints: Checkpoints
) -> tuple[UnitRecord, dict[str, torch.Tensor]]:
    """Train, validate and test one unit; returns its record and the weights that were kept.

    Goes on from the unit's last checkpoint. On the same kind of processor and number of threads everything
    but the times then equals what comes without an interruption, bit for bit.

    Raises:
        TrainingError: a loss is not finite.
        TrackingError: a checkpoint cannot be written, or is of another model.
        DeviceError: the device asked for is not there.
    """
    import torch

    from mtlv.training.memory import keep_freed_memory
    from mtlv.training.optim import resolve_device
    from mtlv.training.predict import predict

    unit = job.unit
    device = resolve_device(job.settings.training.device)
    documents = _documents(material, unit.model)
    if device.type == "cpu":
        keep_freed_memory()
    else:
        torch.cuda.reset_peak_memory_stats(device)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(unit.draw_seed("dropout"))
        model = _build(job, material).to(device)
        training = documents(job.fold.train)
        trained, objective = _optimisation(job, model, len(training))
        watch = Watch(job, model, documents(job.fold.validation), material.corpus, listeners)
        saver = Saver(job, trained, watch, checkpoints)
        _train(job, training, objective, saver, material.corpus)
    chosen = watch.restore()
    outputs = predict(model, documents(job.fold.test), precision=str(unit.train["precision"]))
    record = UnitRecord(
        key=unit.key,
        epochs=tuple(watch.records),
        chosen_epoch=chosen,
        train_seconds=sum(epoch.seconds for epoch in watch.records),
        total_seconds=saver.seconds,
        parameters=sum(p.numel() for p in model.parameters()),
        peak_memory_mb=_peak_memory_mb(device),
        device=_device_name(device),
        validation=scores_of(job, material.corpus, "validation", watch.outputs(chosen)),
        test=scores_of(job, material.corpus, "test", outputs),
        curve=np.stack(watch.curve),
    )
    return record, {name: t.detach().cpu().contiguous() for name, t in model.state_dict().items()}


def _train(job: Job, training: Any, objective: Any, saver: Saver, corpus: Corpus) -> None:
    import torch

    from mtlv.training.finite import LossError
    from mtlv.training.loop import train

    settings, order_seed = job.settings.training, job.unit.draw_seed("order")
    try:
        train(
            saver.trained,
            lambda epoch: training.training(settings.batch_size, seed=order_seed, epoch=epoch),
            objective=objective,
            epochs=settings.epochs,
            precision=str(job.unit.train["precision"]),
            accumulation=settings.accumulation,
            clip_norm=settings.clip_norm,
            hooks=[saver.watch, saver],
            progress=saver.go_on(),
            on_pieces=partial(_tell_pieces, job, saver.watch) if settings.auto_batch else None,
        )
    except torch.cuda.OutOfMemoryError as error:
        raise TrainingError(
            f"`{job.name}`: a batch of {settings.batch_size} documents does not fit the device's memory",
            then="lower `training.batch_size` and raise `training.accumulation` by as much, lower "
            "`data.max_length`, or set `training.auto_batch: true`",
        ) from error
    except LossError as error:
        step, ids = error.batch // settings.accumulation, (corpus.ids[i] for i in error.index)
        where = f"step {step + 1} of epoch {error.epoch + 1} (documents {', '.join(ids)})"
        raise TrainingError(
            f"`{job.name}`: the training loss is not finite in {where}",
            got=error.loss,
            then="lower `training.learning_rate`, or set `training.precision: fp32`",
        ) from error
    finally:
        saver.checkpoints.close()


def _tell_pieces(job: Job, watch: Watch, pieces: int) -> None:
    text = f"{job.name}: a batch does not fit the device's memory and is taken in {pieces} pieces"
    watch.listeners.observer.note(text)


def _documents(material: Material, model: ModelSpec) -> Callable[[NDArray[np.int64]], Any]:
    from mtlv.data.batches import Documents
    from mtlv.data.columns import dense

    targets = dense({task: material.corpus.targets[task] for task in model.tasks})
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


def _optimisation(job: Job, model: Any, documents: int) -> tuple[Trained, Any]:
    from mtlv.training.objective import Objective
    from mtlv.training.optim import adamw, schedule
    from mtlv.training.state import Trained

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
    scheduler = schedule(optimizer, settings.schedule, steps=steps, warmup=settings.warmup)
    trained = Trained(model, optimizer, scheduler)
    return trained, objective.to(trained.device)


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
