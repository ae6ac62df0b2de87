"""Measures of transferability beside measured transfers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtlv.comparison.blocks import Block, TableBlock, TableColumn, TextBlock
from mtlv.comparison.sections.predicted.untrained import shown
from mtlv.evaluation.predictors import FEWEST
from mtlv.evaluation.transfer import POINTS, TransferEffect, Transfers
from mtlv.evaluation.transfer.predicted import MeasuredTransfer, measured_transfers
from mtlv.formatting import list_first, many

TITLE = "Measures of transferability and measured gains"
CAPTION = (
    "Could the gain be known without training on the target? H-score and LogME of the target's training "
    "documents with the source's encoder, minus those with the published one; LEEP of the source's outputs "
    "for them. Spearman's correlation with the measured gains, within targets over their sources, mean over "
    f"targets, with a 95% interval over targets; none with fewer than {FEWEST} targets of {FEWEST} sources "
    "each. Gains are in points, means over targets: of the source that the measure puts first, of all "
    "sources, and of the one that gained most (chosen on the test set, so partly chance). Only targets with "
    "a class per text, for LEEP also such sources; tasks that are not learned alone are left out."
)
COLUMNS = (
    TableColumn("by", "measure", kind="text"),
    TableColumn("order", "Spearman within targets", kind="text"),
    TableColumn("shown", "order shown", kind="text"),
    TableColumn("named", "gain of its first source", digits=1, signed=True, scale=POINTS),
    TableColumn("average", "of all", digits=1, signed=True, scale=POINTS),
    TableColumn("best", "of the best", digits=1, signed=True, scale=POINTS),
    TableColumn("targets", "targets", digits=0),
    TableColumn("cells", "cells", digits=0),
)


def said_and_came(transfers: Transfers, found: Sequence[TransferEffect], id: str) -> list[Block]:
    """Build a sentence and the table; [] without measures."""
    measured = list(measured_transfers(transfers, found))
    if not measured:
        return []
    rows = [_row(each) for each in measured]
    return [TextBlock(_in_words(measured)), TableBlock(f"{id}_measures", TITLE, CAPTION, COLUMNS, rows)]


def _row(found: MeasuredTransfer) -> dict[str, Any]:
    order = found.order
    said = {"order": str(order), "shown": shown(order)} if order else {"order": None, "shown": "too few"}
    same = ("named", "average", "best", "targets", "cells")
    return {"by": found.measure, **said} | {key: getattr(found, key) for key in same}


def _in_words(measured: Sequence[MeasuredTransfer]) -> str:
    names = " or ".join(each.measure for each in measured)
    orders = {each.measure: each.order for each in measured if each.order is not None}
    if not orders:
        most = many(max(each.targets for each in measured), "target")
        needed = f"that takes {FEWEST} targets with {FEWEST} sources each"
        return f"Whether {names} predicts which source helps cannot be said of {most}: {needed}."
    right = [f"{name} (Spearman {order})" for name, order in orders.items() if order.shown]
    if right:
        return f"Without training on the target, its sources are ordered by {list_first(right)}."
    return f"It is not shown that {names} predicts which source helps a target more."
