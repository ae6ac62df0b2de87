"""Named entities: a predicted one is right if its start, its end and its type are right.

Source: conlleval (Tjong Kim Sang and Buchholz 2000, version of 2004-01-26); BLURB's "F1 entity-level". All
types are counted together (micro average). How an invalid sequence of tags is read is decided before, by
`mtlv.plan.tagging.Tags.decode`: as conlleval and seqeval's default mode read it, not as its strict mode.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mtlv.evaluation.kinds.counts import Counts, counted, f1, f1_of, precision_of, recall_of
from mtlv.evaluation.sums import Sums
from mtlv.plan.spans import Span

Rows = Sequence[Collection[Span]]
"""Spans of words for each of N documents."""


def entity_counts(gold: Rows, predicted: Rows) -> Counts:
    """Per document [N, 3]: entities right, predicted, and in the gold standard. Equal ones count once."""
    pairs = ((set(there), set(found)) for there, found in zip(gold, predicted, strict=True))
    return counted([(len(there & found), len(found), len(there)) for there, found in pairs])


def entity_f1(gold: Rows, predicted: Rows) -> float:
    """2 · right / (predicted + gold), over all documents and types."""
    return f1(entity_counts(gold, predicted))


def sums(gold: Rows, predicted: Rows) -> dict[str, Sums]:
    """Entity F1, precision and recall, by name."""
    counts = entity_counts(gold, predicted)
    return {
        "entity_f1": Sums(counts, f1_of),
        "entity_precision": Sums(counts, precision_of),
        "entity_recall": Sums(counts, recall_of),
    }
