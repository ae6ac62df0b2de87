"""Logging of a fold run during training: every epoch's metrics go to the tracker immediately."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mtlv.errors import TrackingError
from mtlv.evaluation.metrics import Metrics
from mtlv.plan import Scores, Task
from mtlv.reporting.metrics import (
    MetricNames,
    metrics_of_plan,
    metrics_of_plan_epoch,
    metrics_of_unit,
    metrics_of_unit_epoch,
    text_metrics,
)
from mtlv.reporting.plan_result import PlanResult, at_epoch, evaluate_plan
from mtlv.store.records import EpochRecord, UnitRecord
from mtlv.tracking import Metric, Tracker

if TYPE_CHECKING:
    from mtlv.settings.schema import EvaluationSettings


@dataclass
class LiveRun:
    """Logs the metrics of a plan's models, which are trained in the order of the plan.

    Metrics are logged as soon as they are known; at the end only the missing ones are logged. An epoch of a
    model gives the metrics of that model; an epoch of the last model also completes the plan's metrics of
    that epoch.
    """

    tracker: Tracker
    run: str  # id of the fold run in the tracker
    names: MetricNames  # names of the plan's metrics
    tasks: Sequence[Task]  # all tasks, in the order of the corpus
    models: int  # number of models in the plan
    settings: EvaluationSettings  # the `evaluation` section
    warn: Callable[[str], None]  # called once with a message if the tracker fails while a model is trained
    _ended: list[UnitRecord] = field(default_factory=list)
    _curve: dict[int, Metrics] = field(default_factory=dict)
    _sent: dict[Metric, None] = field(default_factory=dict)
    _failed: bool = False

    @property
    def points(self) -> tuple[Metric, ...]:
        """Return all points logged so far."""
        return tuple(self._sent)

    def epoch(self, epoch: EpochRecord, validation: Scores) -> None:
        """Log an epoch of the model in training. A tracker that fails here must not stop hours of training:
        the points are logged again when the model is finished."""
        points = metrics_of_unit_epoch(epoch, validation, self.names)
        if len(self._ended) == self.models - 1:
            parts = [record.validation_at(epoch.epoch) for record in self._ended]
            self._curve[epoch.epoch] = at_epoch([*parts, validation], self.tasks, self.settings)
            epochs = [*(record.epoch_at(epoch.epoch) for record in self._ended), epoch]
            points += metrics_of_plan_epoch(epochs, epoch.epoch, self._curve[epoch.epoch], self.names)
        if self._failed:
            return
        try:
            self._send(points)
        except TrackingError as error:
            self._failed = True
            self.warn(f"nothing is tracked until this model is finished: {error}")

    def log_finished(self, record: UnitRecord) -> None:
        """Log the next model of the plan, which was trained or found in the store.

        Raises:
            TrackingError: the tracker failed.
        """
        self._failed = False
        self._ended.append(record)
        self._send(metrics_of_unit(record, self.names))

    def texts(
        self, stage: str, record: UnitRecord, *, tasks: Mapping[str, Task], words: Mapping[str, float]
    ) -> None:
        """Log what a model of any stage learned of texts without labels; see `text_metrics`.

        Raises:
            TrackingError: the tracker failed.
        """
        self._send(text_metrics(stage, record, tasks, words))

    def finish(self, earlier: Sequence[UnitRecord] = ()) -> PlanResult:
        """Log and return the results of all models together, with the time of `earlier` stages.

        Raises:
            TrackingError: the tracker failed.
        """
        result = evaluate_plan(
            self._ended, tasks=self.tasks, settings=self.settings, known=self._curve, earlier=earlier
        )
        self._send(metrics_of_plan(result, self.names))
        return result

    def _send(self, points: Iterable[Metric]) -> None:
        new = [point for point in points if point not in self._sent]
        if new:
            self.tracker.metrics(self.run, new)
            self._sent.update(dict.fromkeys(new))
