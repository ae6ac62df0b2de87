"""Division of a training part, so that a model can predict documents that it has not learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mtlv.data.folds import Fold
from mtlv.data.joined import TextsOfSources, sources_of
from mtlv.data.source import Corpus
from mtlv.data.splits import units_of
from mtlv.errors import PlanError
from mtlv.seeding import seed_from


def inner_folds(corpus: Corpus, fold: Fold, parts: int) -> tuple[Fold, ...]:
    """Divide the training part of a fold into parts of about equal size, one for each inner fold to test on.

    Inner folds train on the other parts, and keep the validation part. Documents that belong together, by
    their group or text, stay together. The division depends only on the documents of each source. Documents
    whose text is also in the part to test on, in another source or but for case, spaces and punctuation, are
    left out of training.

    Args:
        corpus: N documents, of one source or several.
        fold: a fold of it.
        parts: number of parts.

    Raises:
        PlanError: a source has fewer training documents.
    """
    units = units_of(corpus)
    part = np.zeros(len(corpus), np.int64)
    for source, first, end in sources_of(corpus):
        rows = fold.train[(fold.train >= first) & (fold.train < end)]
        distinct = sorted({units[row] for row in rows}, key=lambda unit: (seed_from("crossfit", unit), unit))
        if len(distinct) < parts:
            raise PlanError(
                "`training.teach.crossfit` is above the number of different training documents of "
                f"`{source.name}`",
                got=parts,
                allowed=f"2 to {len(distinct)}, or null",
            )
        at = {unit: number % parts for number, unit in enumerate(distinct)}
        part[rows] = [at[units[row]] for row in rows]
    texts, folds = TextsOfSources(corpus.members or (corpus,), keep=False), []
    near = texts.texts.documents.near * len(texts.names) + texts.source  # within a source
    for number in range(parts):
        test = fold.train[part[fold.train] == number]
        train = fold.train[~np.isin(near[fold.train], near[test])]
        train, _ = texts.without(train, test, "training", "test")
        folds.append(replace(fold, train=np.sort(train), test=test))
    return tuple(folds)
