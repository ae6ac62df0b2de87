"""Scores of measured groups, predicted without training: a row per feature."""

from __future__ import annotations

from mtlv.comparison.blocks import TableBlock, TableColumn
from mtlv.comparison.sections.parts import of_run
from mtlv.evaluation.predicted import SIZE, RankCorrelation, Validated
from mtlv.formatting import enumerated

TITLE = "Predicted without training"
CAPTION = (
    "Can it be known before any model is trained which groups are good for a task? Its validation scores in "
    "the measured groups are compared with how near the group's other tasks are to it by each feature (minus "
    f"their mean distance), and with the {SIZE} in the group. Spearman's correlation within tasks, mean over "
    "tasks, with a 95% interval over tasks. Reversed: the nearer, or the more, the lower the scores. Beside "
    "it, the prediction from the other measured groups. task_vectors and leep need models of each task "
    "alone, gradient_affinity those with a probe."
)


def untrained(found: Validated, id: str) -> list[TableBlock]:
    """Build the table; [] with too few tasks, or groups of a task."""
    known = _known(found)
    if not known:
        return []
    rows = [
        of_run(found.run) | {"by": name, "order": str(rank), "shown": shown(rank)}
        for name, rank in {found.first.feature: found.on_others, **known}.items()
        if rank is not None
    ]
    columns = [
        TableColumn("by", "predicted by", kind="text"),
        TableColumn("order", "Spearman within tasks", kind="text"),
        TableColumn("shown", "order shown", kind="text"),
    ]
    return [TableBlock(f"{id}_untrained", TITLE, CAPTION, columns, rows)]


def untrained_in_words(found: Validated) -> str:
    """Say which features order the scores of measured groups; "" if none was computed."""
    features = {name: rank for name, rank in _known(found).items() if name != SIZE}
    if not features:
        return ""
    right = [f"{name} (Spearman {rank})" for name, rank in features.items() if rank.shown]
    if right:
        return f"Before groups are trained, the measured scores are ordered by {enumerated(right)}."
    return f"Before groups are trained, none of {enumerated(list(features))} orders the measured scores."


def _known(found: Validated) -> dict[str, RankCorrelation]:
    return {name: rank for name, rank in found.untrained.items() if rank is not None}


def shown(rank: RankCorrelation) -> str:
    """Say whether an order is shown."""
    if rank.interval.high < 0:
        return "reversed"
    return "yes" if rank.shown else "no"
