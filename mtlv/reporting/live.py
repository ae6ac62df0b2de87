"""A child run as it trains: every epoch's figures go to the tracker as soon as they are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mtlv.errors import TrackingError
from mtlv.evaluation import Metrics
from mtlv.plan import Scores, Task
from mtlv.reporting.metrics import MetricNames, outcome_metrics, plan_epoch, unit_epoch, unit_metrics
from mtlv.reporting.plan_result import PlanResult, at_epoch, outcome
from mtlv.store.local import EpochRecord, UnitRecord
from mtlv.tracking import Metric, Tracker

if TYPE_CHECKING:
    from mtlv.settings.schema import EvaluationSettings


@dataclass
class LiveRun:
    """Tells the tracker of a plan's models, which train one after another, in the plan's order.

    What is known early is sent early, and at the end only what was not sent yet. A model's epoch tells what
    concerns that model; an epoch of the plan's last model completes the plan's figures of that epoch.

    Args:
        tracker: where to.
        run: the child's run.
        names: of its plan.
        tasks: all, in the corpus's order.
        models: how many the plan has.
        settings: the `evaluation` section.
        warn: hears once of a tracker that fails while a model trains.
    """

    tracker: Tracker
    run: str
    names: MetricNames
    tasks: Sequence[Task]
    models: int
    settings: EvaluationSettings
    warn: Callable[[str], None]
    _ended: list[UnitRecord] = field(default_factory=list)
    _curve: dict[int, Metrics] = field(default_factory=dict)
    _sent: dict[Metric, None] = field(default_factory=dict)
    _failed: bool = False

    @property
    def points(self) -> tuple[Metric, ...]:
        """All that was told so far."""
        return tuple(self._sent)

    def epoch(self, epoch: EpochRecord, validation: Scores) -> None:
        """A model in training has ended `epoch`. A tracker that fails here must not end hours of training:
        the points follow when the model is done."""
        points = unit_epoch(epoch, validation, self.names)
        if len(self._ended) == self.models - 1:
            parts = [record.validation_at(epoch.epoch) for record in self._ended]
            self._curve[epoch.epoch] = at_epoch([*parts, validation], self.tasks, self.settings)
            epochs = [*(record.epoch_at(epoch.epoch) for record in self._ended), epoch]
            points += plan_epoch(epochs, epoch.epoch, self._curve[epoch.epoch], self.names)
        if self._failed:
            return
        try:
            self._send(points)
        except TrackingError as error:
            self._failed = True
            self.warn(f"nothing is tracked until this model is done: {error}")

    def ended(self, record: UnitRecord) -> None:
        """The next model of the plan is done, or was found in the store.

        Raises:
            TrackingError: the tracker fails.
        """
        self._failed = False
        self._ended.append(record)
        self._send(unit_metrics(record, self.names))

    def finish(self, earlier: Sequence[UnitRecord] = ()) -> PlanResult:
        """What all models came to together.

        Args:
            earlier: of the stages before, whose time counts.

        Raises:
            TrackingError: the tracker fails.
        """
        found = outcome(
            self._ended, tasks=self.tasks, settings=self.settings, known=self._curve, earlier=earlier
        )
        self._send(outcome_metrics(found, self.names))
        return found

    def _send(self, points: Iterable[Metric]) -> None:
        new = [point for point in points if point not in self._sent]
        if new:
            self.tracker.metrics(self.run, new)
            self._sent.update(dict.fromkeys(new))
