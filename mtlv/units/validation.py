"""Validation between epochs: keeps the best weights if requested, and calls the callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.data.targets import spans_column
from mtlv.evaluation.scoring import all_need_thresholds
from mtlv.events import BatchTrained, Callback, EpochEnded
from mtlv.plan import Scores
from mtlv.plan.spans import Span
from mtlv.store.records import EpochRecord
from mtlv.training.hooks import EpochLosses, Hook
from mtlv.units.best_epochs import EpochSelection
from mtlv.units.criteria import value
from mtlv.units.inputs import Outputs, UnitInputs
from mtlv.units.job import Job

if TYPE_CHECKING:
    import torch

    Weights = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class UnitCallbacks:
    """Callbacks of a unit in training.

    Args:
        on_event: called with the events of the unit.
        on_epoch: called after each epoch with its record and validation scores.
        timestamp_ms: first timestamp of an epoch, by number; see `mtlv.store.timestamps`.
        clock: returns seconds; those of units that are trained together are shared among them.
    """

    on_event: Callback
    on_epoch: Callable[[EpochRecord, Scores], None]
    timestamp_ms: Callable[[int], int]
    clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True)
class BestWeights:
    """The epochs whose weights are kept.

    Args:
        epoch: epoch of the model as a whole, from which a later stage starts.
        epochs: epoch of each task.
        weights: weights by epoch.
    """

    epoch: int
    epochs: Mapping[str, int]
    weights: Mapping[int, Mapping[str, torch.Tensor]]


class ValidationHook(Hook):
    """Validates a unit after each epoch.

    Args:
        job: the unit.
        model: model in training.
        inputs: inputs of the unit.
        callbacks: callbacks of the unit.
    """

    def __init__(self, job: Job, model: Any, inputs: UnitInputs, callbacks: UnitCallbacks) -> None:
        self.job, self.model, self.inputs, self.callbacks = job, model, inputs, callbacks
        self.records: list[EpochRecord] = []
        self.curve: list[Outputs] = []
        training, names = job.settings.training, job.unit.model.tasks
        groups = {"model": (tuple(names),), "task": tuple((name,) for name in names)}[training.select_per]
        self.selection = EpochSelection(groups, training.select == "best", training.patience)
        self._validation = inputs.parts(job.unit.model.tasks, job.fold.validation)
        self._tasks = [inputs.tasks[name] for name in job.unit.model.tasks]
        self._of_heads = {head.name: head.tasks for head in job.unit.model.heads}
        self._shown = "AP" if all_need_thresholds(self._tasks) else "score"
        self._recent: list[Weights] = []  # weights after the last epochs, if they are averaged

    @property
    def done(self) -> bool:  # type: ignore[override]
        """Whether validation has not improved for the number of epochs in the settings."""
        return self.selection.done

    def on_batch(self, documents: int) -> None:
        self.callbacks.on_event(BatchTrained(self.job.name, documents))

    def on_epoch(self, losses: EpochLosses) -> None:
        with self._averaged():
            parts, precision = self._validation, self.job.precision
            self.curve.append(self.inputs.outputs(self.model, parts, precision=precision))
            self._judge(self.scores(losses.epoch))
        when = self.callbacks.timestamp_ms(losses.epoch)
        record = EpochRecord(**vars(losses), timestamp_ms=when)
        self.records.append(record)
        scores = self.scores(losses.epoch)
        self.callbacks.on_epoch(record, scores)
        self.callbacks.on_event(
            EpochEnded(
                self.job.name,
                losses.epoch + 1,
                self.job.settings.training.epochs,
                fmean(record.task_losses(self._of_heads)),
                {self._shown: value(scores, self._tasks, "average_precision")},
                losses.documents / losses.seconds,
            )
        )

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Give the model the mean of its weights after the last epochs, and then its own weights again."""
        most = self.job.settings.training.average_epochs
        if most == 1:
            yield
            return
        weights = {name: tensor.cpu() for name, tensor in self._copy().items()}
        self._recent = [*self._recent, weights][-most:]
        self.model.load_state_dict(self._mean_weights())
        try:
            yield
        finally:
            self.model.load_state_dict(weights)

    def _mean_weights(self) -> Weights:
        """Return the mean of the weights after the last epochs, or the model's if none are averaged."""
        recent = self._recent or [self.model.state_dict()]
        return {name: _mean([weights[name] for weights in recent]) for name in recent[-1]}

    def _judge(self, scores: Scores) -> None:
        if self.selection.idle:
            return
        rule, tasks = self.job.settings.training.select_by, self.inputs.tasks
        values = [value(scores, [tasks[name] for name in group], rule) for group in self.selection.groups]
        self.selection.add(values, self._copy)

    def _copy(self) -> dict[str, torch.Tensor]:
        return {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}

    def take(self) -> dict[str, Any]:
        """Return the state as tensors and plain values."""
        return {
            "records": [asdict(record) for record in self.records],
            "curve": [{name: _plain(values) for name, values in outputs.items()} for outputs in self.curve],
            "selection": self.selection.take(),
            "recent": list(self._recent),
        }

    def put_back(self, state: Mapping[str, Any]) -> None:
        """Restore the state from `take`."""
        self.records = [EpochRecord(**record) for record in state["records"]]
        self.curve = [
            {name: _array(values) for name, values in outputs.items()} for outputs in state["curve"]
        ]
        self.selection.put_back(state["selection"])
        self._recent = list(state["recent"])

    def best_weights(self) -> BestWeights:
        """Return the epochs to keep, with their weights."""
        if not self.selection.best:
            last = len(self.records) - 1
            weights = {last: self._mean_weights()}  # not copied: training has ended
            return BestWeights(last, dict.fromkeys(self.job.unit.model.tasks, last), weights)
        return BestWeights(self.selection.epoch, self.selection.epochs, self.selection.weights)

    def scores(self, epoch: int) -> Scores:
        """Return the validation scores after `epoch`."""
        return self._scores(self.curve[epoch])

    def scores_of(self, epochs: Mapping[str, int]) -> Scores:
        """Return the validation scores, each task after its own epoch."""
        return self._scores({name: self.curve[epoch][name] for name, epoch in epochs.items()})

    def _scores(self, outputs: Outputs) -> Scores:
        rows = self.job.fold.validation
        return self.inputs.scores(self.job.unit.key, "validation", rows, self._validation, outputs)


def _mean(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the mean of equal shapes; of equal tensors, such as frozen weights, exactly the first."""
    import torch

    first, *others = tensors
    return first if all(torch.equal(first, other) for other in others) else torch.stack([*tensors]).mean(0)


def _plain(values: NDArray) -> Any:
    """Convert values for a checkpoint: a tensor, or lists of spans as lists."""
    import torch

    if values.dtype != object:
        return torch.from_numpy(values)
    return [[list(span) for span in spans] for spans in values]


def _array(values: Any) -> NDArray:
    if not isinstance(values, list):
        return np.asarray(values.numpy())
    return spans_column([[Span(*span) for span in spans] for spans in values])
