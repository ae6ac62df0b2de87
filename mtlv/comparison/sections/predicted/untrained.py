"""Scores of measured groups, predicted without training any group: a row per feature."""

from __future__ import annotations

from mtlv.comparison.blocks import TableBlock, TableColumn
from mtlv.comparison.sections.parts import of_run
from mtlv.evaluation.predicted import Validated
from mtlv.evaluation.predictors import FEWEST, REPEATED, SIZE, RankCorrelation
from mtlv.formatting import list_first

TITLE = "Predicted without training groups"
CAPTION = (
    "Can it be known before any group is trained which groups are good for a task? Its validation scores in "
    "the measured groups are compared with how near the group's other tasks are to it by each feature (minus "
    f"their mean distance), with its gain by rank_probe, and with the {SIZE} in the group. Spearman's "
    "correlation within tasks, mean over tasks, with a 95% interval over tasks. Reversed: the nearer, or the "
    "more, the lower the scores. AUC of sign: of two groups of a task, one with a score above the task's "
    "mean and one without, how often the first is predicted higher; mean over tasks, with its interval. "
    "Beside it, the prediction from the other measured groups. task_vectors and leep need models of each "
    "task alone in grouping.from, gradient_affinity models with a gradient probe. All tasks of a group "
    f"share the {SIZE}, and the luck of their model, so its interval is too narrow for a verdict."
)
OF_REGRET = (
    " Regret: the mean validation score over tasks of the best random partition, minus that of the random "
    "partition that is predicted to be best. The best was lucky, too, so compare with the regret of chance, "
    f"a partition drawn at random. There is none where fewer than {FEWEST} partitions have a prediction for "
    "every task."
)
OF_REPEATED = (
    f" {REPEATED.capitalize()}: the scores of each group's first model, compared with the means of its other "
    "models. An order that training again does not repeat cannot be predicted either, so compare the "
    "predictors with this row."
)
CHANCE = "chance"


def untrained(found: Validated, id: str) -> list[TableBlock]:
    """Build the table; [] with too few tasks, or groups of a task."""
    known = _known(found)
    if not known:
        return []
    own, chosen = of_run(found.run), found.random_choice is not None
    rows = [
        own
        | {"by": name, "order": str(order), "shown": _shown(found, name, order)}
        | {"sign": str(found.predictors[name].sign or ""), "regret": found.predictors[name].regret}
        for name, order in known.items()
    ]
    rows.append(own | {"by": CHANCE, "order": "0", "sign": "0.5", "regret": found.random_choice, "shown": ""})
    columns = [
        TableColumn("by", "predicted by", kind="text"),
        TableColumn("order", "Spearman within tasks", kind="text"),
        TableColumn("shown", "order shown", kind="text"),
        TableColumn("sign", "AUC of sign", kind="text"),
        *([TableColumn("regret", "regret", digits=4)] if chosen else []),
    ]
    caption = CAPTION + OF_REPEATED * (REPEATED in known) + OF_REGRET * chosen
    return [TableBlock(f"{id}_untrained", TITLE, caption, columns, rows)]


def untrained_in_words(found: Validated) -> str:
    """Say which features order the scores of measured groups; "" if none was computed."""
    known, besides = _known(found), {SIZE, REPEATED, found.first.feature}
    features = {name: order for name, order in known.items() if name not in besides}
    said = []
    if features:
        right = [f"{name} (Spearman {order})" for name, order in features.items() if order.shown]
        none = f"none of {list_first(list(features))} orders the measured scores"
        found_by = f"the measured scores are ordered by {list_first(right)}" if right else none
        said.append(f"Before groups are trained, {found_by}.")
    if REPEATED in known:
        said.append(f"Trained again, the groups are ordered with Spearman {known[REPEATED]}.")
    return " ".join(said)


def _known(found: Validated) -> dict[str, RankCorrelation]:
    return {name: each.order for name, each in found.predictors.items() if each.order is not None}


def _shown(found: Validated, name: str, order: RankCorrelation) -> str:
    if name == SIZE:
        return ""
    if name == found.first.feature:  # predictions from the other groups are below 0 by chance
        return "yes" if order.shown else "no"
    return shown(order)


def shown(rank: RankCorrelation) -> str:
    """Say whether an order is shown."""
    if rank.interval.high < 0:
        return "reversed"
    return "yes" if rank.shown else "no"
