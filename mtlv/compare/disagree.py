"""The test documents on which two runs disagree most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from mtlv.compare.blocks import Block, Disagreement, DocumentRow, Section
from mtlv.compare.comparison import ComparedRun, Comparison
from mtlv.compare.pairs import comparable, tasks_of
from mtlv.compare.pooled import DocumentMeans, by_document

DOCUMENTS = 8  # shown for a pair
SCORES = 6  # tasks of a document that are shown besides its positive ones
MISSING = "The texts of some documents are not at hand; `mtlv compare --data PATH` names the corpus."
OTHER_DATA = "Texts are of the baseline's data; documents of runs on other data are shown without theirs."


def disagreement(comparison: Comparison, runs: Sequence[ComparedRun]) -> list[Disagreement]:
    """For all pairs of `runs` with the same data the documents that differ most; nothing without scores."""
    names = [task.name for task in comparison.tasks]
    means: dict[str, tuple[list[str], DocumentMeans]] = {}
    for run in runs:
        own = [name for name in names if name in tasks_of(run)]
        found = by_document(run, own) if own else None
        if found is not None:
            means[run.key] = own, found
    pairs = {
        (a.key, b.key): _documents(means[a.key][0], means[a.key][1], means[b.key][1])
        for a, b in combinations([run for run in runs if run.key in means], 2)
        if comparable(a, b)
    }
    if not pairs:
        return []
    texts, missing = _texts(comparison, pairs)
    caption = (
        f"The {DOCUMENTS} test documents on which two runs differ most: by the mean over tasks of the "
        "distance between their probabilities, averaged over folds and seeds. Shown are the tasks that "
        "differ most and all that apply."
    )
    return [Disagreement("errors_documents", "Where two runs disagree", caption, pairs, texts, missing)]


def with_texts(section: Section, comparison: Comparison) -> Section:
    """The section with the documents' texts, which may be read after all else is made."""
    return replace(section, blocks=[_told(block, comparison) for block in section.blocks])


def _told(block: Block, comparison: Comparison) -> Block:
    if not isinstance(block, Disagreement):
        return block
    texts, missing = _texts(comparison, block.pairs)
    return replace(block, texts=texts, missing=missing)


def _texts(
    comparison: Comparison, pairs: Mapping[tuple[str, str], Sequence[DocumentRow]]
) -> tuple[dict[str, str], str]:
    """Texts by document, and why some are missing. An id of another corpus may stand for another document."""
    digest = comparison.run(comparison.baseline).data_digest
    own: set[str] = set()
    others: set[str] = set()
    for (key, _), documents in pairs.items():
        (own if comparison.run(key).data_digest == digest else others).update(each.id for each in documents)
    texts = {i: comparison.texts[i] for i in sorted(own - others) if i in comparison.texts}
    if others and texts:
        return texts, OTHER_DATA
    return texts, "" if len(texts) == len(own | others) else MISSING


def _documents(names: Sequence[str], one: DocumentMeans, other: DocumentMeans) -> list[DocumentRow]:
    """The documents of both that differ most."""
    ids, mine, theirs = np.intersect1d(one.ids, other.ids, return_indices=True)
    left, right, truth = one.outputs[mine], other.outputs[theirs], one.targets[mine]
    apart = np.abs(left - right)
    known = ~np.isnan(apart)
    apart = np.where(known, apart, 0.0)
    distance = apart.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    found = []
    for n in np.lexsort((ids, -distance))[:DOCUMENTS]:
        if distance[n] == 0:
            break
        order = np.argsort(-apart[n], kind="stable")
        most = set(order[:SCORES].tolist())
        kept = [t for t in order.tolist() if known[n, t] and (t in most or truth[n, t])]
        scores = [(names[t], float(left[n, t]), float(right[n, t]), bool(truth[n, t])) for t in kept]
        found.append(DocumentRow(str(ids[n]), float(distance[n]), scores))
    return found
