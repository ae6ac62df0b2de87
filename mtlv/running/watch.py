"""Between epochs: validates, keeps the best weights where asked, and tells the listeners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.plan import Scores, TaskScores
from mtlv.running.job import Job
from mtlv.running.observer import Observer
from mtlv.running.select import better, macro_average_precision
from mtlv.running.store import EpochRecord
from mtlv.training.hooks import EpochLosses, Hook

if TYPE_CHECKING:
    import torch

    from mtlv.data.source import Corpus


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
    """Hears of each epoch of a unit."""

    def __init__(self, job: Job, model: Any, validation: Any, corpus: Corpus, listeners: Listeners) -> None:
        self.job, self.model, self.validation, self.corpus = job, model, validation, corpus
        self.listeners = listeners
        self.records: list[EpochRecord] = []
        self.curve: list[NDArray[np.float32]] = []
        self.best: tuple[int, dict[str, torch.Tensor]] | None = None
        targets = [np.asarray(corpus.targets[task])[validation.index] for task in job.unit.model.tasks]
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
        scores = scores_of(self.job, self.corpus, "validation", self.outputs(losses.epoch))
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

    def take(self) -> dict[str, Any]:
        """What came of the epochs so far, as tensors and plain values."""
        import torch

        return {
            "records": [asdict(record) for record in self.records],
            "curve": [torch.from_numpy(outputs) for outputs in self.curve],
            "best": self.best,
        }

    def put_back(self, state: Mapping[str, Any]) -> None:
        """Go on from what `take` gave."""
        self.records = [EpochRecord(**record) for record in state["records"]]
        self.curve = [outputs.numpy() for outputs in state["curve"]]
        self.best = state["best"]

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


def scores_of(job: Job, corpus: Corpus, split: str, outputs: dict[str, NDArray[np.float32]]) -> Scores:
    index = getattr(job.fold, split)
    tasks = {
        name: TaskScores(values, np.asarray(corpus.targets[name])[index], np.ones(len(index), bool))
        for name, values in outputs.items()
    }
    return Scores((job.unit.key,), split, tuple(corpus.ids[i] for i in index), tasks)
