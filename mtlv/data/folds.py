"""One split of a corpus, and its checks: empty parts, and labels that are rare or missing in a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlv.data.source import PARTS, Corpus
from mtlv.data.targets import TARGETS
from mtlv.data.texts.lazy import pick
from mtlv.errors import DataError
from mtlv.formatting import list_first, many
from mtlv.seeding import content_key

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Fold:
    """One split of a corpus.

    Args:
        index: 0, 1, ...
        train, validation, test: sorted rows of the corpus; no document is in two of them, and no text unless
            repeats are kept.
        notes: notes for the user: documents left out, labels that are too rare for the folds.
    """

    index: int
    train: Rows
    validation: Rows
    test: Rows
    notes: tuple[str, ...] = ()

    def part(self, name: str) -> Rows:
        """Return the rows of `train`, `validation` or `test`."""
        return {"train": self.train, "validation": self.validation, "test": self.test}[name]


def folds_digest(corpus: Corpus, folds: Sequence[Fold]) -> str:
    """Return 16 hexadecimal digits of the ids in each part of each fold."""
    return content_key([{part: pick(corpus.ids, fold.part(part)) for part in PARTS} for fold in folds])


def check_fold(corpus: Corpus, fold: Fold) -> Fold:
    """Return the fold.

    Raises:
        DataError: a part is empty, knows nothing of a label, or has no positive of one in training.
    """
    if not all(len(fold.part(name)) for name in PARTS):
        _check_classes(corpus)
        raise DataError(
            f"corpus `{corpus.name}` cannot be split: a part of fold {fold.index} is empty",
            got=", ".join(f"{name} {len(fold.part(name))}" for name in PARTS)
            + f", of {many(len(corpus), 'document')}",
            allowed="1 document or more in each",
            then="use more documents, larger shares (`data.train_share`, `data.validation_share`, "
            "`data.test_share`) or fewer `data.folds`",
        )
    known = {name: corpus.known(name) for name in corpus.names}
    unknown = [
        f"{name}: {part}" for part in PARTS for name in known if not known[name][fold.part(part)].any()
    ]
    if unknown:
        raise DataError(
            f"corpus `{corpus.name}`: in a part of fold {fold.index}, a label is not known of any document",
            got=list_first(unknown),
            then="fill some of its cells there, use fewer `data.folds`, or leave the label out",
        )
    bare = corpus.unlearnable(fold.train)
    if bare:
        counts = {name: int(flags.sum()) for name, flags in corpus.strata().items()}
        raise DataError(
            f"corpus `{corpus.name}`: a label has no positives in the training part of fold {fold.index}",
            got=", ".join(f"{name}: {counts[name]} in all" if name in counts else name for name in bare),
            allowed="1 or more there, so some more for the other parts",
            then="use more documents (`data.train_share`), fewer `data.folds`, or leave the label out",
        )
    return fold


def rare(corpus: Corpus, folds: int) -> list[str]:
    """Return a warning for each label that cannot have a positive in every fold."""
    counts = ((name, int(flags.sum())) for name, flags in corpus.strata().items())
    return [f"{many(n, 'document')} of `{name}`, fewer than {folds} folds" for name, n in counts if n < folds]


def unseen(corpus: Corpus, folds: Sequence[Fold]) -> list[str]:
    """Return a warning about classes and types of entities that are tested and cannot be learned."""
    names = [
        f"`{name}`"
        for name, flags in corpus.strata().items()
        if any(flags[fold.test].any() and not flags[fold.train].any() for fold in folds)
    ]
    part = "the training part" if len(folds) == 1 else "the training part of a fold"
    return [f"tested, but without documents in {part}: {list_first(names)}"] if names else []


def untested_warnings(corpus: Corpus, folds: Sequence[Fold]) -> list[str]:
    """Return a warning about tasks whose score is the same (for yes/no, 0) whatever a model learns."""
    missed = {name for fold in folds for name in corpus.unlearnable(fold.test)}
    names = list_first([name for name in corpus.names if name in missed])
    part = "the test part" if len(folds) == 1 else "the test part of a fold"
    problem = f"no positives, or a single value, in {part}: {names}"
    return [f"{problem}; scores there say nothing, but count in means over tasks"] if missed else []


def _check_classes(corpus: Corpus) -> None:
    """Refuse classes of fewer documents than parts: a stratified split then leaves parts empty."""
    for member in corpus.members or (corpus,):
        for task in member.tasks:
            if TARGETS[task.kind].by_class and len(task.classes) * len(PARTS) > member.known(task.name).sum():
                raise DataError(
                    f"corpus `{member.name}` cannot be split: a class of `{task.name}` has too few documents",
                    got=f"{len(task.classes)} classes in {many(len(member), 'document')}",
                    allowed=f"{len(PARTS)} documents or more of each class, and better 10",
                    then="for numbers set `kind: regression`; else merge rare classes",
                )
