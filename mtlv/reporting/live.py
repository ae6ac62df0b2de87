"""Logging during training: every epoch's metrics of a fold run, and the means of its member."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING

from mtlv.errors import TrackingError
from mtlv.evaluation.metrics import Metrics
from mtlv.plan import Scores, Task
from mtlv.reporting.member_result import FACTORS
from mtlv.reporting.metrics import (
    MetricNames,
    chosen_epochs,
    metrics_of_plan,
    metrics_of_plan_epoch,
    metrics_of_unit_epoch,
    text_metrics,
)
from mtlv.reporting.plan_result import PlanResult, at_epoch, evaluate_plan
from mtlv.store.records import EpochRecord, UnitRecord
from mtlv.tracking import Metric, Tracker

if TYPE_CHECKING:
    from mtlv.settings.schema import EvaluationSettings

MEAN_CURVES = (
    "train/loss",
    "val/score",
    "val/f1_macro",
    "val/f1_micro",
    "val/average_precision_macro",
    "val.tasks.f1/",
    "train.heads.loss/",
    "val.heads.",
    *FACTORS,
)
"""Prefixes of metrics whose means over the fold runs are logged in their member's run, per epoch."""
WRITE_INTERVAL_SECONDS = 5.0  # minimum seconds between two calls for a member's run while a model trains


@dataclass
class LiveMember:
    """Logs the curves of a member to its own run while its fold runs train.

    MLflow keeps and draws every value of a step, so only one is logged: the mean of a curve over the fold
    runs, when the last of them has that epoch. From the first epoch on, `running/loss` and `running/score`
    are the means of the last epochs of all models trained so far; their step counts the epochs of all models.
    """

    tracker: Tracker
    run: str  # id of the member's run in the tracker
    fold_runs: int
    curves: tuple[str, ...]  # prefixes of the curves whose means are logged
    _epochs: int = 0  # epochs of the finished models
    # losses and scores of the tasks in the last epoch of each model
    _last: dict[object, tuple[Sequence[float], Sequence[float]]] = field(default_factory=dict)
    _points: dict[tuple[str, int], dict[str, Metric]] = field(default_factory=dict)
    _waiting: list[Metric] = field(default_factory=list)
    _sent: set[Metric] = field(default_factory=set)
    _next: float = 0.0  # earliest time of the next call

    def add_epoch(self, model: object, epoch: EpochRecord, losses: list[float], scores: list[float]) -> None:
        """Add the losses and the validation scores of the tasks of a model after an epoch."""
        self._last[model] = losses, scores
        for key, part in (("running/loss", 0), ("running/score", 1)):
            values = [value for of_model in self._last.values() for value in of_model[part]]
            if values := [value for value in values if not math.isnan(value)]:
                step = self._epochs + epoch.epoch
                self._waiting.append(Metric(key, fmean(values), step, epoch.timestamp_ms))

    def end_model(self, record: UnitRecord) -> None:
        """Count the epochs of a finished model."""
        self._epochs += len(record.epochs)

    def add(self, fold_run: str, points: Iterable[Metric]) -> None:
        """Add points of a fold run."""
        for point in points:
            if point.key.startswith(self.curves):
                at_step = self._points.setdefault((point.key, point.step), {})
                at_step[fold_run] = point
                if len(at_step) == self.fold_runs:
                    self._waiting.append(_mean(at_step.values()))

    def write(self, *, now: bool = False) -> None:
        """Log what is known, at most every few seconds unless `now`.

        Raises:
            TrackingError: the tracker failed.
        """
        if now or time.monotonic() >= self._next:
            new = [point for point in dict.fromkeys(self._waiting) if point not in self._sent]
            if new:
                self.tracker.metrics(self.run, new)
            self._sent.update(new)
            self._waiting, self._next = [], time.monotonic() + WRITE_INTERVAL_SECONDS

    def finish(self) -> None:
        """Log the means of those heads and epochs, too, that only some fold runs have.

        Raises:
            TrackingError: the tracker failed.
        """
        rest = (points for points in self._points.values() if len(points) < self.fold_runs)
        self._waiting += map(_mean, map(dict.values, rest))
        self.write(now=True)


def _mean(points: Collection[Metric]) -> Metric:
    """Return the mean of points of one key and step."""
    first, *_ = points
    end = max(point.timestamp_ms for point in points)
    return Metric(first.key, fmean(point.value for point in points), first.step, end)


@dataclass
class LiveRun:
    """Logs the metrics of a plan's models, which are trained in the order of the plan.

    Metrics are logged as soon as they are known; at the end only the missing ones are logged. An epoch of a
    model gives the metrics of that model; an epoch of the last model also completes the plan's metrics of
    that epoch.
    """

    tracker: Tracker
    run: str  # id of the fold run in the tracker
    member: LiveMember  # logs the curves of its member
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
        points = self._epoch_points(epoch, validation)
        if len(self._ended) == self.models - 1:
            parts = [record.validation_at(epoch.epoch) for record in self._ended]
            self._curve[epoch.epoch] = at_epoch([*parts, validation], self.tasks, self.settings)
            epochs = [*(record.epoch_at(epoch.epoch) for record in self._ended), epoch]
            points += metrics_of_plan_epoch(epochs, epoch.epoch, self._curve[epoch.epoch], self.names)
        if self._failed:
            return
        try:
            self._send(points)
            self.member.write()
        except TrackingError as error:
            self._failed = True
            self.warn(f"nothing is tracked until this model is finished: {error}")

    def log_finished(self, record: UnitRecord) -> None:
        """Log the next model of the plan, which was trained or found in the store.

        Raises:
            TrackingError: the tracker failed.
        """
        self._failed = False
        epochs = record.epochs[: len(record.curve)]  # none if it was not trained here
        points = [self._epoch_points(e, record.validation_at(e.epoch)) for e in epochs]
        self._ended.append(record)
        self.member.end_model(record)
        self._send([*chain.from_iterable(points), *chosen_epochs(record, self.names)])
        self.member.write(now=True)

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
        self.member.write(now=True)
        return result

    def _epoch_points(self, epoch: EpochRecord, validation: Scores) -> list[Metric]:
        """Return the metrics of an epoch of the model in training, and add it to those of the member."""
        points = metrics_of_unit_epoch(epoch, validation, self.names)
        scores = [point.value for point in points if point.key.startswith("val.tasks.")]
        losses = epoch.task_losses(self.names.members)
        self.member.add_epoch((self.run, len(self._ended)), epoch, losses, scores)
        return points

    def _send(self, points: Iterable[Metric]) -> None:
        new = [point for point in points if point not in self._sent]
        if new:
            self.tracker.metrics(self.run, new)
            self._sent.update(dict.fromkeys(new))
            self.member.add(self.run, new)
