"""Elements of evidence (PICO), word by word: a word is right for an element if both sides have it there.

Source: BLURB (Gu et al. 2021, section 4.2, "Macro F1 word-level") for EBM-NLP (Nye et al. 2018): F1 over
words for each element, then the mean of the elements. Words of all documents are counted together. Where
spans begin or end does not matter, and a word may belong to several elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mtlv.evaluation.kinds.counts import Counts, counted, f1, f1_of, mean_f1, precision, recall
from mtlv.evaluation.kinds.entities import Rows
from mtlv.evaluation.sums import Sums
from mtlv.plan.spans import Span


def word_counts(gold: Rows, predicted: Rows, element: str) -> Counts:
    """Per document [N, 3]: words of one element right, predicted, and in the gold standard."""
    pairs = ((_words(g, element), _words(p, element)) for g, p in zip(gold, predicted, strict=True))
    return counted([(len(there & found), len(found), len(there)) for there, found in pairs])


def _words(spans: Iterable[Span], element: str) -> set[int]:
    return {word for span in spans if span.type == element for word in range(span.start, span.end)}


def word_precision(gold: Rows, predicted: Rows, element: str) -> float:
    """Words rightly given to an element / words given to it."""
    return precision(word_counts(gold, predicted, element))


def word_recall(gold: Rows, predicted: Rows, element: str) -> float:
    """Words rightly given to an element / words of it."""
    return recall(word_counts(gold, predicted, element))


def word_f1(gold: Rows, predicted: Rows, element: str) -> float:
    """2 · right / (predicted + gold) of one element's words."""
    return f1(word_counts(gold, predicted, element))


def word_f1_macro(gold: Rows, predicted: Rows, elements: Sequence[str]) -> float:
    """Mean of `word_f1` over all `elements`, also those that no document has."""
    return float(np.mean([word_f1(gold, predicted, element) for element in elements]))


def figures(gold: Rows, predicted: Rows, elements: Sequence[str]) -> dict[str, float]:
    """`word_f1_macro` and, for each element X, `word_f1_X`."""
    each = {f"word_f1_{element}": word_f1(gold, predicted, element) for element in elements}
    return {"word_f1_macro": float(np.mean(list(each.values()))), **each}


def sums(gold: Rows, predicted: Rows, elements: Sequence[str]) -> dict[str, Sums]:
    """The same figures as functions of sums over documents."""
    counts = {element: word_counts(gold, predicted, element) for element in elements}
    each = {f"word_f1_{element}": Sums(held, f1_of) for element, held in counts.items()}
    return {"word_f1_macro": mean_f1(list(counts.values())), **each}
