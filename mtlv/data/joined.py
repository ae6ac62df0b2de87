"""Several corpora joined to one, so that splits, tokens and scores work for any number of sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from mtlv.data.folds import Fold, Rows
from mtlv.data.repeats import near_of, repeats_of
from mtlv.data.source import PARTS, Corpus
from mtlv.data.targets import TARGETS
from mtlv.data.texts.lazy import chain_lazily
from mtlv.errors import DataError
from mtlv.formatting import many
from mtlv.plan.task import Task


def join(corpora: Sequence[Corpus]) -> Corpus:
    """Join corpora by concatenation; ids are `SOURCE/ID`.

    Raises:
        DataError: a source or a task is there twice.
    """
    names = [corpus.name for corpus in corpora]
    tasks = [task for corpus in corpora for task in corpus.tasks]
    for error in (repeated_names_error("source", names), repeated_tasks_error(tasks)):
        if error:
            raise error
    return Corpus(
        name=" + ".join(names),
        tasks=tuple(tasks),
        ids=chain_lazily([corpus.ids for corpus in corpora], [f"{name}/" for name in names]),
        texts=chain_lazily([corpus.texts for corpus in corpora]),
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


def repeated_names_error(what: str, names: Iterable[str], then: str = "") -> DataError | None:
    """Return the error of names that several sources have; None if there are none."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    thing = f"a {what} is there twice in `data.sources`"
    return DataError(thing, got=", ".join(twice), then=then) if twice else None


def repeated_tasks_error(tasks: Iterable[Task]) -> DataError | None:
    """Return the error of tasks with one name; None if there are none."""
    then = (
        "name one by `columns.task` of its source; a label has the name of its column: rename it in one file"
    )
    return repeated_names_error("task", (task.name for task in tasks), then)


def begins(corpora: Sequence[Corpus]) -> list[int]:
    """Return the first row of each corpus in the joined corpus, and the total number of rows."""
    return [0, *accumulate(map(len, corpora))]


def sources_of(corpus: Corpus) -> list[tuple[Corpus, int, int]]:
    """Return the sources of a corpus, each with its first row and the one after its last."""
    members = corpus.members or (corpus,)
    starts = begins(members)
    return list(zip(members, starts, starts[1:], strict=False))


def merge(corpora: Sequence[Corpus]) -> Corpus:
    """Return corpora of the same documents as one corpus with all tasks, to split them alike."""
    first, *others = corpora
    if not others:
        return first  # which keeps what was computed of its texts
    targets = {name: column for corpus in corpora for name, column in corpus.targets.items()}
    return replace(first, tasks=tuple(task for corpus in corpora for task in corpus.tasks), targets=targets)


def join_folds(
    corpora: Sequence[Corpus], folds: Sequence[Sequence[Fold]], *, repeats: str = "leave_out"
) -> tuple[Fold, ...]:
    """Combine the folds of each corpus to folds of the joined corpus.

    Documents whose text is in the test part of another source are removed from training and
    validation, and those whose text is in another's validation part from training, because corpora share
    abstracts. Within a corpus, its own folds are unchanged. With `repeats: keep`, all documents stay. Texts
    without given labels are left out likewise, and leave out none, because no model is judged by them.

    Args:
        corpora: S corpora.
        folds: folds of each corpus, the same number for each.

    Raises:
        DataError: the rest of a source has no validation or no training documents.
    """
    starts = begins(corpora)
    texts = TextsOfSources(corpora, keep=repeats == "keep")
    made = []
    for index, parts in enumerate(zip(*folds, strict=True)):
        train, validation, test = (
            np.concatenate([part.part(name) + start for part, start in zip(parts, starts, strict=False)])
            for name in PARTS
        )
        notes = [f"{c.name}: {note}" for c, part in zip(corpora, parts, strict=True) for note in part.notes]
        validation, of_validation = texts.without(validation, test, "validation", "test")
        validation_and_test = np.concatenate([validation, test])
        train, of_train = texts.without(train, validation_and_test, "training", "validation or test")
        fold = Fold(index, train, validation, test, (*notes, *of_validation, *of_train))
        _check_left(corpora, starts, fold)
        made.append(fold)
    return tuple(made)


def fold_of_source(fold: Fold, name: str, first: int, end: int) -> Fold:
    """Return the part of a joined fold that is of one source, with the rows of its own corpus."""
    train, validation, test = (
        rows[(rows >= first) & (rows < end)] - first for rows in (fold.train, fold.validation, fold.test)
    )
    notes = (note.removeprefix(f"{name}: ") for note in fold.notes if note.startswith(f"{name}: "))
    return Fold(fold.index, train, validation, test, tuple(notes))


class TextsOfSources:
    """Texts of S sources, to find documents that are also in another source, unless `keep` keeps these."""

    def __init__(self, corpora: Sequence[Corpus], *, keep: bool) -> None:
        self.names = [corpus.name for corpus in corpora]
        self.source = np.repeat(np.arange(len(corpora)), [len(corpus) for corpus in corpora])
        self.texts = repeats_of(corpora)
        self.keep = keep
        self.labelled = np.array([corpus.labelled for corpus in corpora])[self.source]

    def without(self, rows: Rows, other: Rows, part: str, where: str) -> tuple[Rows, list[str]]:
        """Return `rows` without texts of another source in `other`, or all; and a note per source."""
        other = other[self.labelled[other]]
        left: list[Rows] = []
        notes = []
        for number, name in enumerate(self.names):
            of_source, foreign = rows[self.source[rows] == number], other[self.source[other] != number]
            repeated = _are_shared(self.texts.near, of_source, foreign)
            left.append(of_source[~repeated])
            if repeated.any():
                near = near_of(repeated.sum() - _are_shared(self.texts.exact, of_source, foreign).sum())
                there = foreign[_are_shared(self.texts.near, foreign, of_source[repeated])]
                whose = ", ".join(self.names[source] for source in np.unique(self.source[there]))
                done = f"kept in {part}, though" if self.keep else f"left out of {part}:"
                sentence = (
                    f"{many(int(repeated.sum()), 'document')} {done} one of their texts is in the {where} "
                    f"part of {whose}"
                )
                notes.append(f"{name}: {sentence}{near}")
        return rows if self.keep else np.concatenate(left), notes


def _are_shared(texts: Rows, rows: Rows, others: Rows) -> NDArray[np.bool_]:
    """Return whether one of the two texts [N, 2] of each of `rows` is among those of `others`."""
    first, second = np.isin(texts[rows], texts[others]).T
    return first | second


def _check_left(corpora: Sequence[Corpus], starts: Sequence[int], fold: Fold) -> None:
    for corpus, start in zip(corpora, starts, strict=False):
        left = fold_of_source(fold, corpus.name, start, start + len(corpus))
        is_known = all(corpus.known(name)[left.validation].any() for name in corpus.names)
        if not is_known or corpus.unlearnable(left.train):
            raise DataError(
                f"too little of source `{corpus.name}` is left in fold {fold.index}: its other texts are "
                "in other sources' validation or test parts",
                got=f"{len(left.train)} training documents, {len(left.validation)} validation documents",
                then="leave out one of the sources, or set `data.repeats: keep`",
            )
