"""Metrics of elements of evidence (PICO) by word: a word is correct for an element if both sides have it.

Source: BLURB (Gu et al. 2021, section 4.2, "Macro F1 word-level") for EBM-NLP (Nye et al. 2018): F1 over
words for each element, then the mean over elements. Words of all documents are pooled. Boundaries
of spans do not matter, and a word may belong to several elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mtlv.evaluation.kinds.counts import Counts, f1_of, mean_f1, overlaps
from mtlv.evaluation.kinds.entities import Rows
from mtlv.evaluation.sums import Sums
from mtlv.plan.spans import Span


def word_counts(gold: Rows, predicted: Rows, element: str) -> Counts:
    """Return per document [N, 3] the correct, predicted and true words of one element."""

    def words(spans: Iterable[Span]) -> set[int]:
        return {word for span in spans if span.type == element for word in range(span.start, span.end)}

    return overlaps(map(words, gold), map(words, predicted))


def sums(gold: Rows, predicted: Rows, elements: Sequence[str]) -> dict[str, Sums]:
    """`word_f1_X` of each element X, 2 · right / (predicted + gold) of its words, and their mean.

    Elements that no document has count in the mean, `word_f1_macro`, as well.
    """
    counts = {element: word_counts(gold, predicted, element) for element in elements}
    metrics = {f"word_f1_{element}": Sums(count, f1_of) for element, count in counts.items()}
    return {"word_f1_macro": mean_f1(list(counts.values())), **metrics}
