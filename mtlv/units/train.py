"""Training of one unit: the only place where corpus, encoder, loop and scores meet."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from mtlv.environment import processor
from mtlv.errors import NoRoomError, TrainingError, shorten
from mtlv.events import NoteGiven
from mtlv.formatting import many
from mtlv.registries import BALANCERS, OBJECTIVES
from mtlv.store.checkpoints import Checkpoints
from mtlv.store.records import EpochRecord, UnitRecord
from mtlv.units.checkpointing import CheckpointHook
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job
from mtlv.units.model import model_of, start_from_label_texts
from mtlv.units.validation import BestWeights, UnitCallbacks, ValidationHook

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from mtlv.data.mixing import Mixture
    from mtlv.plan import HeadSpec, Scores, Task
    from mtlv.training.loop import DueStep
    from mtlv.training.state import TrainingState

    TrainedUnit = tuple[UnitRecord, dict[int, dict[str, torch.Tensor]]]

Result = TypeVar("Result")
FULL = "out of memory", "ALLOC_FAILED"  # in errors of CUDA and its libraries
# In errors of Python, PyTorch's allocator, oneDNN and C++ if the process is at a limit.
AT_LIMIT = (
    "can't start new thread",
    "can't allocate memory",
    "could not create a primitive",
    "not enough memory",
    "bad_alloc",
    "Resource temporarily unavailable",
)


def train_unit(
    job: Job,
    inputs: UnitInputs,
    callbacks: UnitCallbacks,
    checkpoints: Checkpoints,
    initial_weights: Mapping[str, torch.Tensor] | None = None,
) -> TrainedUnit:
    """Train, validate and test one unit; return its record and the kept weights, by epoch.

    Resumes from the unit's last checkpoint. On the same kind of processor and number of threads, everything
    except times is equal, bit for bit, to training without an interruption.

    Args:
        job: the unit.
        inputs: inputs of the unit.
        callbacks: callbacks of the unit.
        checkpoints: checkpoints of the unit.
        initial_weights: those of the unit from which it starts; None uses the published encoder.

    Raises:
        PlanError: the initial weights do not match this model.
        TrainingError: a loss is not finite.
        NoRoomError: the device's memory is full.
        TrackingError: a checkpoint cannot be written, or is of another model.
        DeviceError: the requested device is not available.
    """
    return result_of(train_unit_by_steps(job, inputs, callbacks, checkpoints, initial_weights))


def result_of(steps: Generator[DueStep, None, Result]) -> Result:
    """Take all steps of a unit alone, and return what its training returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def train_unit_by_steps(
    job: Job,
    inputs: UnitInputs,
    callbacks: UnitCallbacks,
    checkpoints: Checkpoints,
    initial_weights: Mapping[str, torch.Tensor] | None = None,
) -> Generator[DueStep, None, TrainedUnit]:
    """Train a unit as `train_unit`, and yield each optimizer step when it is due."""
    if inputs.predictions is not None:  # a record without a curve, and with an epoch without a loss
        key, epoch = job.unit.key, EpochRecord(0, 0.0, {}, 0.0, 0.0, 0, callbacks.timestamp_ms(0))
        scores = [
            inputs.align_scores(replace(inputs.predictions, units=(key,), part=part), job.fold.part(part))
            for part in ("validation", "test")
        ]
        return UnitRecord(key, (epoch,), 0, {}, 0.0, 0.0, 0, 0.0, "", scores[0], scores[1], ()), {}
    inputs = _add_masking(job, inputs)
    with need_room(job):
        device = device_for(job)
        with _seeded_draws(job, device):
            model = _build(job, inputs, initial_weights).to(device)
            graphs = _graphs_suit(job, model, device)
            mixture = _mixture(job, inputs, multiple=model.multiple if graphs else 1)
            trained, objective = _optimisation(job, model, inputs, mixture)
            validation = ValidationHook(job, model, inputs, callbacks)
            checkpointing = CheckpointHook(job, trained, validation, checkpoints)
            yield from _train(mixture, objective, checkpointing, graphs=graphs)
        chosen = validation.best_weights()
        record = _record(checkpointing, chosen, device)
        return record, {epoch: _copy_to_cpu(weights) for epoch, weights in chosen.weights.items()}


@contextmanager
def need_room(job: Job) -> Iterator[None]:
    """Convert all errors of PyTorch and Python about a full memory, or a limit of this process."""
    import torch

    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, torch.cuda.OutOfMemoryError) or _names_one(error, FULL):
            raise NoRoomError(
                f"`{job.name}`: it does not fit in the device's memory",
                got=shorten(str(error)),
                then="stop other processes on the device, lower `execution.processes` or "
                "`training.batch_size`, or use a smaller encoder",
            ) from error
        if isinstance(error, MemoryError) or _names_one(error, AT_LIMIT):
            raise NoRoomError(
                f"`{job.name}`: this process got no more memory or threads",
                got=shorten(str(error) or type(error).__name__),
                then="lower `execution.processes`, `execution.threads` or `training.batch_size`, use a "
                "smaller encoder, or raise the limit (`ulimit -v`, `ulimit -u`, the memory of the job)",
            ) from error
        raise


def _names_one(error: Exception, words: Sequence[str]) -> bool:
    return any(word in str(error) for word in words)


def device_for(job: Job) -> torch.device:
    """Prepare and return the device of a unit."""
    import torch

    from mtlv.training.memory import keep_freed_memory
    from mtlv.training.optim import resolve_device

    device = resolve_device(job.settings.training.device)
    if device.type == "cpu":
        keep_freed_memory()
    else:
        torch.cuda.reset_peak_memory_stats(device)
    return device


@contextmanager
def _seeded_draws(job: Job, device: torch.device) -> Iterator[None]:
    """Use the unit's own seed for random numbers, without affecting other generators."""
    import torch

    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(job.unit.draw_seed("dropout"))
        yield


def _record(checkpointing: CheckpointHook, chosen: BestWeights, device: torch.device) -> UnitRecord:
    """Return the record of the unit."""
    validation = checkpointing.validation
    # before the time is measured
    test = _test(checkpointing.job, validation.model, validation.inputs, chosen)
    return UnitRecord(
        key=checkpointing.job.unit.key,
        epochs=tuple(validation.records),
        chosen_epoch=chosen.epoch,
        chosen_epochs=dict(chosen.epochs),
        train_seconds=sum(epoch.seconds for epoch in validation.records),
        total_seconds=checkpointing.seconds,
        parameters=sum(p.numel() for p in validation.model.parameters() if p.requires_grad),
        peak_memory_mb=_peak_memory_mb(device),
        device=_device_name(device),
        validation=validation.scores_of(chosen.epochs),
        test=test,
        curve=tuple(validation.scores(epoch).outputs for epoch in range(len(validation.curve))),
    )


def _test(job: Job, model: Any, inputs: UnitInputs, chosen: BestWeights) -> Scores:
    """Return the test scores, for each task with the weights of its own epoch."""
    unit, outputs = job.unit, dict[str, Any]()
    for epoch in dict.fromkeys(chosen.epochs.values()):
        names = {name for name, its in chosen.epochs.items() if its == epoch}
        # heads are run whole
        heads = [head for head in unit.model.heads if not names.isdisjoint(head.tasks)]
        parts = inputs.parts([name for head in heads for name in head.tasks], job.fold.test)
        model.load_state_dict(chosen.weights[epoch])
        predicted = inputs.outputs(model, parts, precision=job.precision)
        outputs |= {name: predicted[name] for name in names}
    parts = inputs.parts(unit.model.tasks, job.fold.test)
    return inputs.scores(unit.key, "test", job.fold.test, parts, outputs)


def _copy_to_cpu(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return weights on the CPU, each in separate memory for files: T5 has an embedding with two names."""
    copies: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, tensor in weights.items():
        copy = tensor.detach().cpu().contiguous()
        copies[name] = copy.clone() if copy.data_ptr() in seen else copy
        seen.add(copy.data_ptr())
    return copies


def _train(
    mixture: Mixture, objective: Any, checkpointing: CheckpointHook, *, graphs: bool
) -> Iterator[DueStep]:
    import torch

    from mtlv.models.fast.graphs import Graphed
    from mtlv.training.loop import train_by_steps
    from mtlv.training.state import LossError

    job, validation = checkpointing.job, checkpointing.validation
    settings, order_seed = job.settings.training, job.unit.draw_seed("order")
    tell = partial(_tell, job.name, validation.callbacks)

    def tell_pieces(pieces: int) -> None:
        tell(f"a batch does not fit in the device's memory and is split into {pieces} pieces")

    try:
        yield from train_by_steps(
            checkpointing.trained,
            lambda epoch: mixture.training(seed=order_seed, epoch=epoch),
            objective=objective,
            epochs=settings.epochs,
            precision=job.precision,
            accumulation=settings.accumulation * mixture.per_step,
            clip_norm=settings.clip_norm,
            hooks=[validation, checkpointing],
            progress=checkpointing.go_on(),
            on_pieces=tell_pieces if settings.auto_batch else None,
            graphed=partial(Graphed, tell=tell) if graphs else None,
            clock=validation.callbacks.clock,
        )
    except torch.cuda.OutOfMemoryError as error:
        raise NoRoomError(
            f"`{job.name}`: a batch of {max(mixture.sizes)} documents does not fit in the device's memory",
            then="lower `training.batch_size` and raise `training.accumulation` accordingly, lower "
            "`data.max_length`, or set `training.auto_batch: true`",
        ) from error
    except LossError as error:
        ids = validation.inputs.ids(error.index)
        where = f"step {error.step + 1} of epoch {error.epoch + 1} (documents {', '.join(ids)})"
        raise TrainingError(
            f"`{job.name}`: the training loss is not finite in {where}",
            got=error.loss,
            then="lower `training.learning_rate`, or set `training.precision: fp32`",
        ) from error
    finally:
        checkpointing.checkpoints.close()


def _graphs_suit(job: Job, model: Any, device: torch.device) -> bool:
    """Whether the steps of a unit are recorded as CUDA graphs: on a GPU.

    Not if a pass is repeated, with the same dropout masks or other embeddings, which was not tested with
    graphs, and with pooled windows, whose number differs from batch to batch.
    """
    from mtlv.training.objective import looks_ahead

    settings = job.settings.training
    balancer = BALANCERS[settings.objective.name]
    repeated = settings.gradient_checkpointing or looks_ahead(OBJECTIVES[settings.head_loss], balancer)
    fixed = not repeated and not model.is_perturbed and job.settings.data.window_pooling is None
    return settings.cuda_graphs and fixed and device.type == "cuda"


def _tell(name: str, callbacks: UnitCallbacks, text: str) -> None:
    callbacks.on_event(NoteGiven(f"{name}: {shorten(text)}"))


def _add_masking(job: Job, inputs: UnitInputs) -> UnitInputs:
    """Return inputs that mask pieces of texts that are learned, by the settings of the unit's stage."""
    if not any(source.masked for source in inputs.corpus.members or (inputs.corpus,)):
        return inputs
    from mtlv.data.masking import Masking, Pieces

    pieces = Pieces.of(inputs.encoder.tokenizer, len(inputs.encoder.module.get_input_embeddings().weight))
    settings = job.settings.training
    masking = Masking(pieces, epochs=settings.epochs, **settings.masking.model_dump(exclude={"adversarial"}))
    return replace(inputs, masking=masking)


def _mixture(job: Job, inputs: UnitInputs, *, multiple: int = 1) -> Mixture:
    """Return the training batches of a unit, whose lengths are multiples of `multiple`."""
    from mtlv.data.mixing import DRAWS, Mixture

    settings, batch_sizes = job.settings.training, job.settings.data.batch_sizes
    tasks = job.unit.model.tasks
    sizes = tuple(batch_sizes.get(name, settings.batch_size) for name in inputs.sources(tasks))
    parts, taught = inputs.parts(tasks, job.fold.train, known=True), inputs.teacher_outputs
    parts = tuple(
        replace(
            part,
            multiple=multiple,
            teacher_outputs={name: taught[name] for name in part.targets if name in taught},
        )
        for part in parts
    )
    return Mixture(parts, sizes, DRAWS[settings.draw](settings.temperature, settings.epochs))


def _build(job: Job, inputs: UnitInputs, initial_weights: Mapping[str, torch.Tensor] | None) -> Any:
    """Build the unit's model, with new heads and the initial weights."""
    from mtlv.models.layers import compute_twice
    from mtlv.models.transfer_weights import take_over

    model: Any = model_of(job, inputs)
    if job.settings.training.gradient_checkpointing:
        compute_twice(model.encoder)

    def targets(task: str) -> torch.Tensor:
        (part,) = inputs.parts([task], job.fold.train)
        return part.targets[task].batch(part.index)

    model.use_targets(targets)
    if initial_weights is not None:  # also of the heads, so that these keep what they were adapted to
        take_over(model, initial_weights, job.carry)
    if job.settings.heads.start == "label_texts" and job.carry == "encoder":
        start_from_label_texts(model, inputs)
    return model


def _optimisation(job: Job, model: Any, inputs: UnitInputs, mixture: Mixture) -> tuple[TrainingState, Any]:
    from mtlv.training.balancing import balancer_of, terms
    from mtlv.training.objective import Objective
    from mtlv.training.optim import make_optimizer, rate_factors, schedule
    from mtlv.training.state import TrainingState
    from mtlv.training.teaching import NO_TEACHER, teaching

    settings, heads = job.settings.training, job.unit.model.heads
    chosen, teach = settings.objective, settings.teach
    steps = -(-mixture.batches // (settings.accumulation * mixture.per_step)) * settings.epochs
    optimizer = make_optimizer(
        model,
        learning_rate=settings.rate,
        weight_decay=settings.weight_decay,
        name=settings.optimizer,
        factors=rate_factors(model, heads=settings.rates.heads, layers=settings.rates.layers),
    )
    make = balancer_of(chosen.name, chosen.per, heads)
    seed = job.unit.draw_seed("objective")
    balancer = make(terms(chosen.per, heads), seed=seed, learning_rate=chosen.learning_rate)
    is_by_rarity = settings.head_weights == "rarity"
    weights = _weigh_rare(heads, inputs, job.fold.train) if is_by_rarity else settings.head_weights
    objective = Objective(
        heads,
        tasks=_weight_tasks(inputs.tasks, settings.task_weights or {}),
        combine=settings.head_loss,
        head_weights=weights,
        together=mixture.draw.together,
        teaching=NO_TEACHER if teach is None else teaching(teach.gold, teach.temperature, steps=steps),
        balancer=balancer,
        per_task=chosen.per == "task" and not balancer.plain,
    )
    scheduler = schedule(optimizer, settings.schedule, steps=steps, warmup=settings.warmup)
    trained = TrainingState(model, optimizer, scheduler, balancer)
    return trained, objective.to(trained.device)


def _weigh_rare(heads: Sequence[HeadSpec], inputs: UnitInputs, train: NDArray[np.int64]) -> dict[str, float]:
    """Return the weight of each head, by its first task, so that those of rare labels weigh more.

    It is one over the effective number of documents, (1 - b^n) / (1 - b) with b = 0.999, for the mean number
    n of training documents of the head's labels, or classes. The mean weight is 1.
    Formula: Cui et al. 2019, arXiv:1901.05555, eq. 2, for heads instead of classes.
    """
    weights = []
    for head in heads:
        tasks = [inputs.tasks[name] for name in head.tasks]
        strata = [inputs.targets[t.kind].strata(t, inputs.corpus.targets[t.name]) for t in tasks]
        counts = [flags[train].sum() for of_task in strata for flags in of_task.values()]
        weights.append(1 / (1 - 0.999 ** max(float(np.mean(counts or len(train))), 1)))
    return {head.tasks[0]: weight / np.mean(weights) for head, weight in zip(heads, weights, strict=True)}


def _weight_tasks(tasks: Mapping[str, Task], weights: Mapping[str, float]) -> dict[str, Task]:
    """Return tasks with their own weights or those of their source."""
    return {
        name: replace(task, weight=weights.get(name, weights.get(task.source, task.weight)))
        for name, task in tasks.items()
    }


def _peak_memory_mb(device: torch.device) -> float:
    """Return the peak memory of the unit; on a CPU that of the process, which cannot be reset."""
    import torch

    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def _device_name(device: torch.device) -> str:
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{processor()} ({many(torch.get_num_threads(), 'thread')})"
