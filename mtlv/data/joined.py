"""Several corpora as one: the same splits, tokens and scores serve any number of sources."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from mtlv.data.source import Corpus
from mtlv.data.splits import Fold
from mtlv.data.targets import TARGETS
from mtlv.errors import DataError


def join(corpora: Sequence[Corpus]) -> Corpus:
    """One corpus of several, one after another; ids are `SOURCE/ID`.

    Raises:
        DataError: a source or a task stands twice.
    """
    names = [corpus.name for corpus in corpora]
    tasks = [task for corpus in corpora for task in corpus.tasks]
    for what, held in (("source", names), ("task", [task.name for task in tasks])):
        twice = sorted({name for name in held if held.count(name) > 1})
        if twice:
            raise DataError(f"a {what} stands twice in `data.sources`", got=", ".join(twice))
    return Corpus(
        name=" + ".join(names),
        tasks=tuple(tasks),
        ids=tuple(f"{corpus.name}/{id_}" for corpus in corpora for id_ in corpus.ids),
        texts=tuple(text for corpus in corpora for text in corpus.texts),
        targets={
            task.name: np.concatenate(
                [corpus.targets.get(task.name, TARGETS[task.kind].none(len(corpus))) for corpus in corpora]
            )
            for task in tasks
        },
        generated=any(corpus.generated for corpus in corpora),
        notes=tuple(f"{corpus.name}: {note}" for corpus in corpora for note in corpus.notes),
        members=tuple(corpora),
    )


def begins(corpora: Sequence[Corpus]) -> list[int]:
    """The first row of each corpus in the one that `join` makes of them, and the number of all rows."""
    return [0, *accumulate(map(len, corpora))]


def join_folds(
    corpora: Sequence[Corpus], folds: Sequence[Sequence[Fold]], *, repeats: str = "leave_out"
) -> tuple[Fold, ...]:
    """Folds of the joined corpus from those of each corpus.

    A document whose text stands in the test part of any source is left out of training and validation, and
    one of the validation part out of training: corpora share abstracts. With `repeats: keep` they stay.

    Args:
        corpora: S corpora.
        folds: of each; all have as many.
    """
    starts = begins(corpora)
    held = [text for corpus in corpora for text in corpus.texts]
    made = []
    for index, parts in enumerate(zip(*folds, strict=True)):
        rows = {
            name: np.concatenate(
                [part.part(name) + start for part, start in zip(parts, starts, strict=False)]
            )
            for name in ("train", "validation", "test")
        }
        validation, left_out = _without(rows["validation"], rows["test"], held)
        train, more = _without(rows["train"], np.concatenate([rows["test"], rows["validation"]]), held)
        notes = [f"{c.name}: {note}" for c, part in zip(corpora, parts, strict=True) for note in part.notes]
        keep = repeats == "keep"
        if left_out + more:
            done = "kept, though" if keep else "left out:"
            notes.append(f"{left_out + more} documents {done} their text is in another source's part")
        if keep:
            validation, train = rows["validation"], rows["train"]
        made.append(Fold(index, train, validation, rows["test"], tuple(notes)))
    return tuple(made)


def _without(
    rows: NDArray[np.int64], others: NDArray[np.int64], texts: Sequence[str]
) -> tuple[NDArray[np.int64], int]:
    known = {texts[row] for row in others}
    kept = np.array([row for row in rows if texts[row] not in known], np.int64)
    return kept, len(rows) - len(kept)
