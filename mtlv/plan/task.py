"""What is learned: one column of targets of one source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtlv.errors import PlanError, nearest


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to learn.

    Args:
        name: unique within a suite, as the corpus spells it.
        kind: how it is learned and scored (`binary`, ...); see `mtlv.models.kinds`.
        source: the corpus that its documents come from.
        classes: names of the C classes; empty for a yes/no label.
        negative: those of the classes that say "nothing here", which benchmarks leave out of F1.
        description: one or two sentences, used to embed the task.
        main_metric: the metric that the task's corpus is usually judged by.
        weight: factor on the task's loss.
    """

    name: str
    kind: str = "binary"
    source: str = ""
    classes: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    description: str = ""
    main_metric: str = "f1"
    weight: float = 1.0


def select_tasks(tasks: Sequence[Task], wanted: Sequence[str] | None) -> tuple[Task, ...]:
    """The tasks that are named, or whose source is, in their own order; None is all.

    Raises:
        PlanError: a name is neither a task's nor a source's.
    """
    if wanted is None:
        return tuple(tasks)
    known = dict.fromkeys((*(task.source for task in tasks), *(task.name for task in tasks)))
    for name in wanted:
        if name not in known:
            raise PlanError(
                f"`tasks` names no task and no data set `{name}`",
                allowed=", ".join(known),
                then=nearest(name, known),
            )
    return tuple(task for task in tasks if {task.name, task.source} & set(wanted))
