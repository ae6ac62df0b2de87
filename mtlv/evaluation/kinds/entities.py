"""Named entities: a predicted one is right if its start, its end and its type are right.

Source: conlleval (Tjong Kim Sang and Buchholz 2000, version of 2004-01-26); BLURB's "F1 entity-level". All
types are counted together (micro average). How an invalid sequence of tags is read is decided before, by
`mtlv.plan.tagging.Tags.decode`: as conlleval and seqeval's default mode read it, not as its strict mode.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mtlv.evaluation.kinds.counts import (
    Counts,
    counted,
    f1,
    f1_of,
    precision,
    precision_of,
    recall,
    recall_of,
)
from mtlv.evaluation.sums import Sums
from mtlv.plan.spans import Span

Rows = Sequence[Collection[Span]]
"""Spans of words for each of N documents."""


def entity_counts(gold: Rows, predicted: Rows) -> Counts:
    """Per document [N, 3]: entities right, predicted, and in the gold standard. Equal ones count once."""
    pairs = ((set(there), set(found)) for there, found in zip(gold, predicted, strict=True))
    return counted([(len(there & found), len(found), len(there)) for there, found in pairs])


def entity_precision(gold: Rows, predicted: Rows) -> float:
    """Entities predicted right / entities predicted."""
    return precision(entity_counts(gold, predicted))


def entity_recall(gold: Rows, predicted: Rows) -> float:
    """Entities predicted right / entities in the gold standard."""
    return recall(entity_counts(gold, predicted))


def entity_f1(gold: Rows, predicted: Rows) -> float:
    """2 · right / (predicted + gold), over all documents and types."""
    return f1(entity_counts(gold, predicted))


def entity_f1_per_type(gold: Rows, predicted: Rows, types: Sequence[str]) -> dict[str, float]:
    """`entity_f1` of the entities of each type alone."""
    return {name: entity_f1(_only(gold, name), _only(predicted, name)) for name in types}


def _only(rows: Rows, name: str) -> Rows:
    return [[span for span in spans if span.type == name] for spans in rows]


def figures(gold: Rows, predicted: Rows) -> dict[str, float]:
    """Entity F1, precision and recall, by name."""
    counts = entity_counts(gold, predicted)
    return {"entity_f1": f1(counts), "entity_precision": precision(counts), "entity_recall": recall(counts)}


def sums(gold: Rows, predicted: Rows) -> dict[str, Sums]:
    """The same figures as functions of sums over documents."""
    counts = entity_counts(gold, predicted)
    return {
        "entity_f1": Sums(counts, f1_of),
        "entity_precision": Sums(counts, precision_of),
        "entity_recall": Sums(counts, recall_of),
    }
