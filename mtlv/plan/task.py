"""Tasks: each is one column of targets of one source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mtlv.errors import PlanError, nearest

UNKNOWN = -1
"""Target of a task with yes/no or classes for a document whose label is not known."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task to learn.

    Args:
        name: unique within a suite, as in the corpus.
        kind: the kind of task (`binary`, ...), which determines training and metrics; see
            `mtlv.models.kinds`.
        source: the corpus of its documents.
        classes: names of the C classes; empty for a yes/no label.
        negative: the classes that mean "nothing here", which benchmarks exclude from F1.
        description: one or two sentences, used to embed the task.
        main_metric: the metric usually reported for the task's corpus.
        weight: factor on the task's loss.
        levels: the label and its ancestors at each level of a hierarchy, from the top; empty without one.
    """

    name: str
    kind: str = "binary"
    source: str = ""
    classes: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    description: str = ""
    main_metric: str = "f1"
    weight: float = 1.0
    levels: tuple[tuple[str, ...], ...] = field(default=(), compare=False)


def select_tasks(tasks: Sequence[Task], names: Sequence[str] | None) -> tuple[Task, ...]:
    """Return the tasks whose name or source is in `names`, in the order of `tasks`; None returns all.

    Raises:
        PlanError: a name is neither a task nor a source.
    """
    if names is None:
        return tuple(tasks)
    known = dict.fromkeys((*(task.source for task in tasks), *(task.name for task in tasks)))
    for name in names:
        if name not in known:
            raise PlanError(
                f"`tasks` names no task and no data set `{name}`",
                allowed=", ".join(known),
                then=nearest(name, known),
            )
    return tuple(task for task in tasks if {task.name, task.source} & set(names))
