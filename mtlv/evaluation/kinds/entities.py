"""Metrics of named entities: a prediction is correct if its start, end and type are correct.

Source: conlleval (Tjong Kim Sang and Buchholz 2000, version of 2004-01-26); BLURB's "F1 entity-level". All
types are pooled (micro average). Invalid sequences of tags are decoded before, by
`mtlv.plan.tagging.Tags.decode`, like in conlleval and in seqeval's default mode, not its strict mode.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mtlv.evaluation.kinds.counts import Counts, f1_of, overlaps, precision_of, recall_of
from mtlv.evaluation.sums import Sums
from mtlv.plan.spans import Span

Rows = Sequence[Collection[Span]]
"""Spans of words for each of N documents."""


def entity_counts(gold: Rows, predicted: Rows) -> Counts:
    """Return per document [N, 3] the correct, predicted and true entities; duplicates count once."""
    return overlaps(map(set, gold), map(set, predicted))


def entity_f1(gold: Rows, predicted: Rows) -> float:
    """Return 2 · correct / (predicted + true), over all documents and types."""
    return sums(gold, predicted)["entity_f1"].value


def sums(gold: Rows, predicted: Rows) -> dict[str, Sums]:
    """Entity F1, precision and recall, by name."""
    counts = entity_counts(gold, predicted)
    return {
        "entity_f1": Sums(counts, f1_of),
        "entity_precision": Sums(counts, precision_of),
        "entity_recall": Sums(counts, recall_of),
    }
