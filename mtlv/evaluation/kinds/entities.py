"""Metrics of entities, whole and by word.

A whole entity is correct if its start, end and type are. Source: conlleval (Tjong Kim Sang and Buchholz
2000, version of 2004-01-26); BLURB's "F1 entity-level". All types are pooled (micro average). Invalid
sequences of tags are decoded before, by `mtlv.plan.tagging.Tags.decode`, like in conlleval and in seqeval's
default mode, not its strict mode.

A word is correct for an element of evidence (PICO) if both sides have it. Source: BLURB (Gu et al. 2021,
section 4.2, "Macro F1 word-level") for EBM-NLP (Nye et al. 2018): F1 over words for each element, then the
mean over elements. Words of all documents are pooled. Boundaries of spans do not matter, and a word may
belong to several elements.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mtlv.evaluation.kinds.counts import Counts, f1_of, mean_f1, overlaps, precision_of, recall_of
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


def word_sums(gold: Rows, predicted: Rows, elements: Sequence[str]) -> dict[str, Sums]:
    """`word_f1_X` of each element X, 2 · right / (predicted + gold) of its words, and their mean.

    Elements that no document has count in the mean, `word_f1_macro`, as well.
    """
    counts = {}
    for element in elements:
        words = [
            [{word for s in spans if s.type == element for word in range(s.start, s.end)} for spans in rows]
            for rows in (gold, predicted)
        ]
        counts[element] = overlaps(*words)
    metrics = {f"word_f1_{element}": Sums(count, f1_of) for element, count in counts.items()}
    return {"word_f1_macro": mean_f1(list(counts.values())), **metrics}
