"""The best partner of each task: the source with the largest mean difference, and its verdict by the rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mtlv.evaluation.transfer import (
    TransferEffect,
    Transfers,
    baseline_mean,
    effects,
    numbers,
    points,
)

NONE_HELPS, TOO_FEW, UNMEASURED = "no partner helps", "too few pairs to say", "not measured"
NOT_LEARNED = "not learned"


@dataclass(frozen=True)
class Partner:
    """A target and its source with the largest mean difference; on ties the first column.

    Tasks that were not learned alone are no sources, and have none.
    """

    target: str  # name of the target
    baseline: float | None  # mean score of the target alone, a fraction
    best: TransferEffect | None  # effect of the best source; None if no source was measured
    helping: tuple[str, ...]  # sources that help by the rule, largest difference first
    tried: int  # number of measured sources
    judged: int  # number of sources with enough pairs for the rule
    # false if sources were measured, but the target or all of them were not learned alone
    learned: bool = True

    @property
    def follows(self) -> str:
        """Conclusion by the rule, as text."""
        if not self.learned:
            return NOT_LEARNED
        if self.best is None:
            return UNMEASURED
        if not self.judged:
            return TOO_FEW
        if not self.helping:
            return NONE_HELPS
        if self.best.source in self.helping:
            return "helps"
        return f"{self.best.verdict}; {self.helping[0]} helps"


def best_partners(transfers: Transfers) -> tuple[Partner, ...]:
    """Return one partner per target, in the order of the rows."""
    cells = effects(transfers)
    return tuple(
        _partner(transfers, target, [cell for cell in cells if cell.target == target])
        for target in transfers.targets
    )


def _partner(transfers: Transfers, target: str, measured: Sequence[TransferEffect]) -> Partner:
    cells = [cell for cell in measured if transfers.judges(cell.source, target)]
    ranked = sorted(cells, key=lambda cell: -cell.mean)  # stable: equal ones stay in the order of the columns
    return Partner(
        target,
        baseline_mean(transfers, target),
        ranked[0] if ranked else None,
        tuple(cell.source for cell in ranked if cell.verdict == "helps"),
        len(cells),
        sum(cell.verdict != "unknown" for cell in cells),
        learned=bool(cells) or not measured,
    )


def as_records(partners: Sequence[Partner]) -> list[dict[str, Any]]:
    """Return plain records: scores and differences as fractions with all digits, None for unknown values."""
    records = []
    for partner in partners:
        best = numbers(partner.best)
        record = {key: best[key] for key in ("after", "difference", "low", "high", "p", "p_holm")}
        record |= {"n": best["n"] or 0, "tried": partner.tried, "follows": partner.follows}
        source = partner.best and partner.best.source
        records.append({"target": partner.target, "baseline": partner.baseline, "partner": source, **record})
    return records


def interval_text(cell: TransferEffect) -> str:
    """Format the interval in points: `−0.4 to +2.1`; empty if there is none."""
    return "" if cell.low is None or cell.high is None else f"{points(cell.low)} to {points(cell.high)}"
