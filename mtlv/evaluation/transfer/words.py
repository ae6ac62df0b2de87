"""Sentences about a transfer matrix: the rule, the pairs, and the expected effect of chance."""

from __future__ import annotations

from collections.abc import Sequence

from mtlv.evaluation.significance import ALPHA, FEWEST
from mtlv.evaluation.transfer import TransferEffect, Transfers
from mtlv.formatting import list_first, many

RULE = (
    "Paired by fold and seed; 95% interval of the mean difference by Student's t. Helps: the interval is "
    f"above 0. Harms: below. Neutral: it contains 0. Unknown: fewer than {FEWEST} pairs, or not learned."
)


def not_learned(transfers: Transfers) -> str:
    """Name the tasks that are in no claim, because a model of their own does not learn them."""
    names = [name for name in transfers.names if name in transfers.unlearned]
    if not names:
        return ""
    why = "no better than a constant answer when learned alone, so nothing is claimed with them"
    return f"Not learned: {list_first(names)}; {why}."


def pairs_text(transfers: Transfers, cells: Sequence[TransferEffect]) -> str:
    """Describe the number of pairs: `3 seeds in each cell`, `3 to 5 seeds in each cell`; or of folds."""
    if not cells:
        return "no cell was measured"
    low, high = min(cell.n for cell in cells), max(cell.n for cell in cells)
    several = len(_folds(transfers)) > 1
    what, averaged = ("fold", " (seeds averaged)") if several else ("seed", "")
    count = many(high, what) if low == high else f"{low} to {many(high, what)}"
    return f"{count}{averaged} in each cell"


def chance(cells: Sequence[TransferEffect]) -> str:
    """Describe how many cells the rule colours, how many by chance alone, and how many remain after Holm."""
    judged = [cell for cell in cells if cell.verdict != "unknown"]
    if not judged and all(cell.n >= FEWEST for cell in cells):
        return "No cell is of a source and a target that were both learned: no verdicts."
    if not judged:
        return f"No cell of learned tasks has the {FEWEST} folds or seeds that the rule needs: no verdicts."
    helping, harming = (sum(cell.verdict == word for cell in judged) for word in ("helps", "harms"))
    kept = sum(cell.p_holm is not None and cell.p_holm <= ALPHA for cell in judged)
    text = (
        f"By the rule, {helping} of {many(len(judged), 'cell')} {'helps' if helping == 1 else 'help'} and "
        f"{harming} {'harms' if harming == 1 else 'harm'}. If no source made any difference, about "
        f"{ALPHA * len(judged):.1f} would be coloured by chance alone (1 in {1 / ALPHA:g}), mostly in the "
        "same rows, because the cells of a row share its baseline. After Holm's correction for all cells, "
        f"{kept} {'remains' if kept == 1 else 'remain'}."
    )
    without = sum(cell.p is None for cell in judged)
    if without:
        text += (
            f" {many(without, 'cell')} {'has' if without == 1 else 'have'} the same difference in every "
            "pair: their intervals have width 0, and they have no p."
        )
    return text


def dependence(transfers: Transfers) -> str:
    """Describe how the pairs differ, and what the intervals therefore do not cover."""
    if len(_folds(transfers)) > 1:
        return (
            "The folds share training documents or a test set, so their differences are dependent, but "
            "the t-test assumes independence: the intervals are too narrow (Nadeau and Bengio, "
            "2003)."
        )
    if len({seed for scores in transfers.after.values() for _, seed in scores}) > 1:
        return (
            "The pairs differ only by seed: the intervals cover the noise of training on one split, not "
            "another choice of documents."
        )
    return ""


def _folds(transfers: Transfers) -> set[int]:
    return {fold for scores in transfers.after.values() for fold, _ in scores}
