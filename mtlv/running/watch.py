"""Between epochs: validates, keeps the best weights where asked, and tells the listeners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.data.targets import spans_column
from mtlv.evaluation.mixed import yes_no_tasks
from mtlv.plan import Scores
from mtlv.plan.spans import Span
from mtlv.running.job import Job
from mtlv.running.material import Material, Outputs
from mtlv.running.observer import Observer
from mtlv.running.select import value
from mtlv.running.store import EpochRecord
from mtlv.training.hooks import EpochLosses, Hook

if TYPE_CHECKING:
    import torch


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


class Watch(Hook):
    """Hears of each epoch of a unit.

    Args:
        job: the unit.
        model: in training.
        material: that it reads.
        listeners: who hear of it.
    """

    def __init__(self, job: Job, model: Any, material: Material, listeners: Listeners) -> None:
        self.job, self.model, self.material, self.listeners = job, model, material, listeners
        self.records: list[EpochRecord] = []
        self.curve: list[Outputs] = []
        self.values: list[float] = []
        self.best: tuple[int, float, dict[str, torch.Tensor]] | None = None
        self._validation = material.parts(job.unit.model.tasks, job.fold.validation)
        self._tasks = [material.tasks[name] for name in job.unit.model.tasks]
        self._shown = "AP" if len(yes_no_tasks(self._tasks)) == len(self._tasks) else "score"

    @property
    def done(self) -> bool:  # type: ignore[override]
        """Whether so many epochs as the settings allow brought nothing better on validation."""
        patience = self.job.settings.training.patience
        return patience is not None and len(self.values) - 1 - _first_best(self.values) >= patience

    def on_batch(self, documents: int) -> None:
        self.listeners.observer.batch(documents)

    def on_epoch(self, losses: EpochLosses) -> None:
        precision = str(self.job.unit.train["precision"])
        self.curve.append(self.material.outputs(self.model, self._validation, precision=precision))
        when = self.listeners.timestamp_ms(losses.epoch)
        record = EpochRecord(**vars(losses), timestamp_ms=when)
        self.records.append(record)
        scores = self.scores(losses.epoch)
        self._keep_best(scores)
        self.listeners.on_epoch(record, scores)
        self.listeners.observer.epoch(
            self.job.name,
            losses.epoch + 1,
            self.job.settings.training.epochs,
            losses.loss,
            {self._shown: value(scores, self._tasks, "average_precision")},
            losses.documents / losses.seconds,
        )

    def _keep_best(self, scores: Scores) -> None:
        settings = self.job.settings.training
        if settings.select != "best" and settings.patience is None:
            return
        self.values.append(value(scores, self._tasks, settings.select_by))
        if settings.select == "best" and _first_best(self.values) == len(self.values) - 1:
            weights = {name: t.detach().clone() for name, t in self.model.state_dict().items()}
            self.best = (len(self.curve) - 1, self.values[-1], weights)

    def take(self) -> dict[str, Any]:
        """What came of the epochs so far, as tensors and plain values."""
        return {
            "records": [asdict(record) for record in self.records],
            "curve": [{name: _plain(values) for name, values in outputs.items()} for outputs in self.curve],
            "values": self.values,
            "best": self.best,
        }

    def put_back(self, state: Mapping[str, Any]) -> None:
        """Go on from what `take` gave."""
        self.records = [EpochRecord(**record) for record in state["records"]]
        self.curve = [
            {name: _array(values) for name, values in outputs.items()} for outputs in state["curve"]
        ]
        self.values = list(state["values"])
        self.best = state["best"]

    def restore(self) -> int:
        """Put the chosen epoch's weights back and return its number."""
        if self.best is None:
            return len(self.records) - 1
        epoch, _, weights = self.best
        self.model.load_state_dict(weights)
        return epoch

    def scores(self, epoch: int) -> Scores:
        """Of the validation part after `epoch`."""
        rows = self.job.fold.validation
        return self.material.scores(
            self.job.unit.key, "validation", rows, self._validation, self.curve[epoch]
        )


def _first_best(values: list[float]) -> int:
    """The epoch with the highest value; a tie keeps the earlier."""
    return values.index(max(values))


def _plain(values: NDArray) -> Any:
    """As a checkpoint may hold it: a tensor, or lists of spans as lists."""
    import torch

    if values.dtype != object:
        return torch.from_numpy(values)
    return [[list(span) for span in spans] for spans in values]


def _array(values: Any) -> NDArray:
    if not isinstance(values, list):
        return np.asarray(values.numpy())
    return spans_column([[Span(*span) for span in spans] for spans in values])
