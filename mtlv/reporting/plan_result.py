"""What a plan's models came to together: gathered, thresholds fitted on validation, then scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtlv.evaluation import Metrics, Thresholds, fit_thresholds, grid_values
from mtlv.evaluation.mixed import evaluate_all, yes_no_tasks
from mtlv.plan import Scores, Task, gather
from mtlv.store.local import EpochRecord, UnitRecord

if TYPE_CHECKING:
    from mtlv.settings.schema import EvaluationSettings


@dataclass(frozen=True)
class PlanResult:
    """One child run's results.

    Args:
        validation: scores of the kept weights, all tasks.
        test: likewise.
        thresholds: fitted on `validation`.
        metrics: of the test part at those thresholds.
        curve: of the validation part, epoch by epoch, each at thresholds fitted on that epoch's scores.
        records: of the plan's models, in its order.
        earlier: of the stages before.
    """

    validation: Scores
    test: Scores
    thresholds: Thresholds
    metrics: Metrics
    curve: tuple[Metrics, ...]
    records: tuple[UnitRecord, ...]
    earlier: tuple[UnitRecord, ...] = ()

    @property
    def costs(self) -> dict[str, float]:
        """What all models of the plan cost together; seconds, documents per second, MB, weights.

        Stages before are told by themselves: several members may share them.
        """
        seconds = sum(record.train_seconds for record in self.records)
        before = sum(record.train_seconds for record in self.earlier)
        return ({"time/earlier_stages_seconds": before} if self.earlier else {}) | {
            "time/train_seconds": seconds,
            "time/total_seconds": sum(record.total_seconds for record in self.records),
            "cost/documents_per_second": sum(record.documents for record in self.records) / seconds,
            "cost/peak_memory_mb": max(record.peak_memory_mb for record in self.records),
            "cost/parameters": float(sum(record.parameters for record in self.records)),
        }

    @property
    def best_epoch(self) -> int:
        """The first epoch with the highest figure that counts on validation: macro F1 of yes/no tasks."""
        values = [metrics.plan.main for metrics in self.curve]
        return values.index(max(values))


def outcome(
    records: Sequence[UnitRecord],
    *,
    tasks: Sequence[Task],
    settings: EvaluationSettings,
    known: Mapping[int, Metrics],
    earlier: Sequence[UnitRecord] = (),
) -> PlanResult:
    """Gather, fit and score. Test targets enter only where the figures of the test part are computed.

    Args:
        records: one per model, in the plan's order.
        tasks: all, in the corpus's order.
        settings: the `evaluation` section.
        known: epochs whose validation figures were computed while the last model trained.
        earlier: of the stages before.
    """
    curve = {epoch: known.get(epoch) for epoch in range(max(len(record.curve) for record in records))}
    validation = gather([record.validation for record in records])
    test = gather([record.test for record in records])
    thresholds = _fit(validation, tasks, settings)
    return PlanResult(
        validation,
        test,
        thresholds,
        evaluate_all(test, tasks, thresholds.values),
        tuple(
            found or at_epoch([record.validation_at(epoch) for record in records], tasks, settings)
            for epoch, found in curve.items()
        ),
        tuple(records),
        tuple(earlier),
    )


def _fit(validation: Scores, tasks: Sequence[Task], settings: EvaluationSettings) -> Thresholds:
    names = yes_no_tasks(tasks)
    if not names:
        return Thresholds({}, settings.threshold)
    grid = grid_values(settings.grid.start, settings.grid.stop, settings.grid.step)
    return fit_thresholds(validation, names, scope=settings.threshold, fixed=settings.fixed, grid=grid)


def at_epoch(parts: Sequence[Scores], tasks: Sequence[Task], settings: EvaluationSettings) -> Metrics:
    """Figures of a plan's models after one epoch, at thresholds fitted on the same validation scores."""
    scores = gather(parts)
    return evaluate_all(scores, tasks, _fit(scores, tasks, settings).values)


def plan_loss(epochs: Sequence[EpochRecord]) -> float:
    """Mean training loss of a plan's models in one epoch."""
    return sum(epoch.loss for epoch in epochs) / len(epochs)
