"""Transfer between tasks: the matrix, and the best partner of each task."""

from __future__ import annotations

from collections import Counter

from mtlv.comparison.blocks import Block, Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.parts import join_with_and
from mtlv.comparison.sections.transfer.matrix import matrix
from mtlv.evaluation.compared_runs import Comparison
from mtlv.evaluation.partners import NONE_HELPS, Partner, as_records, best_partners, interval_text
from mtlv.evaluation.transfer import POINTS, Transfers, effects, points
from mtlv.evaluation.transfer.detection import transfers_of
from mtlv.evaluation.transfer.words import chance, dependence, not_learned


def build(comparison: Comparison) -> tuple[Section, ...]:
    """Build a section for each transfer matrix among the runs."""
    matrices = transfers_of(comparison)
    encoders = {encoder for encoder, _ in matrices}
    numbers = Counter[str]()
    out = []
    for encoder, transfers in matrices:
        numbers[transfers.wording.id] += 1
        of = encoder if len(encoders) > 1 else ""
        out.append(transfer_section(transfers, of=of, number=numbers[transfers.wording.id]))
    return tuple(section for section in out if section is not None)


def transfer_section(transfers: Transfers, *, of: str = "", number: int = 1) -> Section | None:
    """Build the section; None if no cell was measured.

    If a page has several, `of` is added to the heading, and `number` from 1 makes ids unique.
    """
    cells = effects(transfers)
    if not cells:
        return None
    wording = transfers.wording
    id = wording.id if number == 1 else f"{wording.id}_{number}"
    partners = best_partners(transfers)
    caution = dependence(transfers)
    blocks: list[Block] = [
        TextBlock(f"{_finding(partners, transfers)} {chance(cells)}".lstrip(), "finding"),
        *([TextBlock(text) for text in (not_learned(transfers), caution) if text]),
        matrix(transfers, cells, id),
        _table(transfers, partners, id),
    ]
    title = f"{wording.title}: {of}" if of else wording.title
    intro = (
        f"Gain or loss of each target: models {wording.after}, compared with models {wording.alone}, in the "
        "target's main metric on the test set."
    )
    return Section(id, title, intro, blocks)


def _finding(partners: tuple[Partner, ...], transfers: Transfers) -> str:
    """Describe the largest gain by the rule, and the targets that no partner helps."""
    helped = [partner.best for partner in partners if partner.best and partner.best.verdict == "helps"]
    left = [partner.target for partner in partners if partner.follows == NONE_HELPS]
    parts = []
    if helped:
        best = max(helped, key=lambda cell: cell.mean)
        gain = f"{points(best.mean)} points ({interval_text(best)})"
        parts.append(f"Largest gain: {best.target} with {best.source}, {gain}.")
    if left:
        parts.append(f"No {transfers.wording.partner} helps {join_with_and(left)}.")
    return " ".join(parts)


def _table(transfers: Transfers, partners: tuple[Partner, ...], id: str) -> TableBlock:
    partner = transfers.wording.partner
    return TableBlock(
        f"{id}_partners",
        f"The best {partner} of each target",
        f"The {partner} with the largest mean difference, even if it does not help by the rule, with "
        "the 95% interval of the difference and the p of the paired t-test corrected for all cells of the "
        "matrix (Holm); in points. The largest of several differences is partly chance: in a new training "
        "it would probably be smaller, and it was selected on the same test set on which it is measured.",
        [
            TableColumn("target", "target", "text"),
            TableColumn("baseline", "baseline", digits=1, scale=POINTS),
            TableColumn("partner", f"best {partner}", "text"),
            TableColumn("difference", "difference", digits=1, signed=True, scale=POINTS),
            TableColumn("interval", "95% interval", "text"),
            TableColumn("p_holm", "p after Holm", digits=3),
            TableColumn("n", "pairs", digits=0),
            TableColumn("tried", "tried", digits=0),
            TableColumn("follows", "by the rule", "text"),
        ],
        [
            record | {"interval": interval_text(best.best) or None if best.best else None}
            for best, record in zip(partners, as_records(partners), strict=True)
        ],
    )
