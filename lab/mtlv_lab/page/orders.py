"""The order of measured groups: predicted from the others, by their sizes, and with another seed."""

from __future__ import annotations

from mtlv.comparison.blocks import TableBlock, TableColumn
from mtlv.comparison.parts import of_run
from mtlv_lab.predicted import Validated
from mtlv_lab.predictors import FEWEST, REPEATED, SIZE, RankCorrelation

TITLE = "The order of measured groups"
CAPTION = (
    "A task's validation scores in the measured groups are compared with their predictions from the other "
    f"groups, and with the {SIZE} in the group. Spearman's correlation within tasks, mean over tasks, with a "
    "95% interval over tasks. AUC of sign: of two groups of a task, one with a score above the task's mean "
    "and one without, how often the first is predicted higher; mean over tasks, with its interval. All tasks "
    f"of a group share the {SIZE}, and the luck of their model, so its interval is too narrow for a verdict."
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


def orders(found: Validated, id: str) -> list[TableBlock]:
    """Build the table; [] with too few tasks, or groups of a task."""
    known = _known(found)
    if not known:
        return []
    own, chosen = of_run(found.run), found.random_choice is not None
    rows = [
        own
        | {"by": name, "order": str(order), "shown": _shown(name, order)}
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
    return [TableBlock(f"{id}_orders", TITLE, caption, columns, rows)]


def repeated_in_words(found: Validated) -> str:
    """Say how groups are ordered if they are trained again; "" if they were not."""
    known = _known(found)
    return (
        f"Trained again, the groups are ordered with Spearman {known[REPEATED]}." if REPEATED in known else ""
    )


def _known(found: Validated) -> dict[str, RankCorrelation]:
    return {name: each.order for name, each in found.predictors.items() if each.order is not None}


def _shown(name: str, order: RankCorrelation) -> str:
    if name == SIZE:
        return ""
    return "yes" if order.shown else "no"  # where nothing can be predicted, a correlation is below 0
