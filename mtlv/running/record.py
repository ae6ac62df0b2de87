"""What a child run tells the tracker, by the names in the design: metrics, params, tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mtlv import __version__
from mtlv.evaluation import Metrics
from mtlv.plan import Plan, slugs
from mtlv.running.outcome import Outcome
from mtlv.running.store import UnitRecord
from mtlv.settings import flatten
from mtlv.tracking import Metric
from mtlv.tracking.address import masked

if TYPE_CHECKING:
    from mtlv.running.groups import TaskGroups
    from mtlv.running.resolve import Child, Resolved
    from mtlv.settings import Settings


class Names:
    """Slugs of a plan's heads and tasks, as metric keys have them."""

    def __init__(self, plan: Plan, tasks: Sequence[str]) -> None:
        self.tasks = slugs(tasks)
        self.heads = slugs([head.name for head in plan.heads])
        self.head_of = {task: head.name for head in plan.heads for task in head.tasks}
        self.members = {head.name: head.tasks for head in plan.heads}


def tags(resolved: Resolved, child: Child) -> dict[str, str]:
    """Tags of a child's run; the member's own run has those of its first."""
    settings = resolved.member.settings
    return {
        "mtlv.architecture": settings.architecture.name,
        "mtlv.encoder": settings.encoder.name,
        "mtlv.dataset": settings.data.name,
        "mtlv.grouping": grouping_words(settings, child.groups),
        "mtlv.data_digest": resolved.data,
        "mtlv.version": __version__,
    }


def grouping_words(settings: Settings, groups: TaskGroups | None) -> str:
    """The grouping in a few words; `none` where the architecture has none."""
    section = settings.grouping
    if groups is None:
        return "none"
    k = f"k={groups.grouping.k}"
    return f"given {k}" if section.method == "given" else f"{section.method} {section.features} {k}"


def params(settings: Settings) -> dict[str, str | int | float | bool]:
    """Every setting, flattened; no password of the tracking address."""
    return dict(flatten(without_secrets(settings)))


def without_secrets(settings: Settings) -> Settings:
    """The settings as they may be shown to others."""
    uri = settings.tracking.uri
    if uri is None:
        return settings
    return settings.model_copy(update={"tracking": settings.tracking.model_copy(update={"uri": masked(uri)})})


def unit_metrics(record: UnitRecord, names: Names) -> list[Metric]:
    """What is known of a unit once it has ended. An interrupted one leaves nothing that could stand twice."""
    out = [
        Metric(f"train.heads.loss/{names.heads[head]}", loss, epoch.epoch, epoch.timestamp_ms)
        for epoch in record.epochs
        for head, loss in epoch.heads.items()
    ]
    last = record.epochs[-1]
    out += [
        Metric(f"train.heads.chosen_epoch/{names.heads[head]}", record.chosen_epoch, 0, last.timestamp_ms)
        for head in last.heads
    ]
    return out


def outcome_metrics(found: Outcome, names: Names) -> list[Metric]:
    """Everything that needs all of a plan's models."""
    out: list[Metric] = []
    for step, metrics in enumerate(found.curve):
        epochs = [record.epochs[step] for record in found.records]
        at = (step, max(epoch.timestamp_ms for epoch in epochs))
        out.append(Metric("train/loss", sum(e.loss for e in epochs) / len(epochs), *at))
        out.append(Metric("train/learning_rate", epochs[0].learning_rate, *at))
        out += [Metric(key, value, *at) for key, value in split_figures("val", metrics, names)]
        out += [Metric(key, value, *at) for key, value in _head_figures(metrics, names)]
    end = (0, last_timestamp(found))
    out += [Metric(key, value, *end) for key, value in split_figures("test", found.metrics, names)]
    best = found.curve[found.best_epoch].plan.as_dict()
    out += [Metric(f"best/{name}", value, *end) for name, value in best.items()]
    out.append(Metric("best/epoch", found.best_epoch, *end))
    out += [Metric(key, value, *end) for key, value in found.costs.items()]
    return out


def last_timestamp(found: Outcome) -> int:
    """When the last of a plan's models ended its last epoch, in milliseconds."""
    return max(record.epochs[-1].timestamp_ms for record in found.records)


def split_figures(split: str, metrics: Metrics, names: Names) -> Iterator[tuple[str, float]]:
    """`SPLIT/M` of the plan and `SPLIT.tasks.M/TASK` of each task."""
    for name, value in metrics.plan.as_dict().items():
        yield f"{split}/{name}", value
    for task, figures in metrics.tasks.items():
        for name, value in figures.as_dict().items():
            yield f"{split}.tasks.{name}/{names.tasks[task]}", value


def _head_figures(metrics: Metrics, names: Names) -> Iterator[tuple[str, float]]:
    for head, tasks in names.members.items():
        figures = [metrics.tasks[task] for task in tasks]
        slug = names.heads[head]
        yield f"val.heads.f1_macro/{slug}", sum(f.f1 for f in figures) / len(figures)
        yield (
            f"val.heads.average_precision_macro/{slug}",
            sum(f.average_precision for f in figures) / len(figures),
        )
