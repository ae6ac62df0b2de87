"""Time of a unit, from a few of its steps on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray

from mtlv.events import EpochEnded, Event, UnitTime
from mtlv.store.checkpoints import Checkpoints
from mtlv.store.records import EpochRecord
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks

TRIAL_OPERATIONS = 4e11  # of the steps of a trial: a second or two of two cores
TRIAL_STEPS = 2  # at most; at least 1
TRIAL_EPOCHS = 2  # all but the last, which is measured, warm up and compute the outputs of frozen layers


@dataclass(frozen=True)
class TokenTime:
    """Seconds of a unit.

    Args:
        train, predict: for a token of training, and of prediction.
        first: for a token of the first of all units, besides: the outputs of frozen layers.
        busy: share of the time in which this process had all its cores; the rest was of others.
    """

    train: float
    predict: float
    first: float = 0.0
    busy: float = 1.0

    def under_load(self, load: float) -> TokenTime:
        """Return the times if a second of work takes `load` seconds."""
        ratio = self.busy * load
        return TokenTime(self.train * ratio, self.predict * ratio, self.first * ratio, 1 / load)

    def of_unit(self, kind: str, job: Job, inputs: UnitInputs) -> UnitTime:
        """Return the time of a unit."""
        tasks, fold = job.unit.model.tasks, job.fold
        training = _count_tokens(inputs, tasks, fold.train, known=True) * self.train
        epoch = training + _count_tokens(inputs, tasks, fold.validation) * self.predict
        test = _count_tokens(inputs, tasks, fold.test) * self.predict
        return UnitTime(kind, job.settings.training.epochs, epoch, test)


def operations(inputs: UnitInputs, documents: int) -> float:
    """Return roughly the floating-point operations of training on documents."""
    module = inputs.encoder.module
    weights = sum(part.numel() for part in module.parameters()) - module.get_input_embeddings().weight.numel()
    return 6.0 * weights * documents * float(inputs.tokens.lengths.mean())


def measure(job: Job, inputs: UnitInputs) -> TokenTime:
    """Train a unit like `job` on a few documents, and return how long tokens take.

    Changes no random state and keeps nothing.

    Raises:
        MtlvError: as for `train_unit`.
    """
    import torch

    from mtlv.training.optim import resolve_device

    trial, records, ends = _shorten(job, inputs), list[EpochRecord](), list[tuple[float, float]]()

    def note_end(event: Event) -> None:
        if isinstance(event, EpochEnded):
            ends.append((perf_counter(), process_time()))

    def keep(record: EpochRecord, _: object) -> None:
        records.append(record)

    with TemporaryDirectory() as folder:
        callbacks = UnitCallbacks(note_end, keep, lambda epoch: epoch)
        train_unit(trial, inputs, callbacks, Checkpoints(Path(folder)))
    last = records[-1]
    epoch, processor = (after - before for before, after in zip(*ends[-2:], strict=True))
    predicted = _count_tokens(inputs, job.unit.model.tasks, trial.fold.validation)
    first = (records[0].seconds - last.seconds) / last.tokens if inputs.below is not None else 0.0
    on_cpu = resolve_device(job.settings.training.device).type == "cpu"
    busy = min(1.0, processor / (epoch * torch.get_num_threads())) if on_cpu else 1.0
    predict = (epoch - last.seconds) / predicted
    return TokenTime(last.seconds / last.tokens, predict, max(0.0, first), busy)


def _shorten(job: Job, inputs: UnitInputs) -> Job:
    """Return a unit that differs in its documents and epochs, and has no teachers."""
    size = job.settings.training.batch_size * job.settings.training.accumulation
    steps = int(TRIAL_OPERATIONS / operations(inputs, size))
    count = size * max(1, min(TRIAL_STEPS, steps))
    training = job.settings.training.model_copy(
        update={"epochs": TRIAL_EPOCHS, "patience": None, "teach": None, "class_weights": None}
    )
    settings = job.settings.model_copy(update={"training": training})
    parts = inputs.parts(job.unit.model.tasks, job.fold.train, known=True)
    train = np.sort(np.concatenate([_spread(inputs.documents(part.index), count) for part in parts]))
    parts = inputs.parts(job.unit.model.tasks, job.fold.validation)
    predicted = np.sort(np.concatenate([_spread(inputs.documents(part.index), count) for part in parts]))
    fold = replace(job.fold, train=train, validation=predicted, test=predicted)
    return replace(job, settings=settings, fold=fold, start_job=None, teachers=())


def _spread(rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return at most `count` rows, at equal distances."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int))]


def _count_tokens(
    inputs: UnitInputs, tasks: Sequence[str], rows: NDArray[np.int64], *, known: bool = False
) -> int:
    lengths = inputs.tokens.lengths
    return sum(int(lengths[part.index].sum()) for part in inputs.parts(tasks, rows, known=known))
