"""Training, validation and test parts: multi-label stratified, without the same text in two parts.

If a corpus has groups of documents (`Corpus.groups`: sentences of an abstract), whole groups are
drawn. A text in two groups does not merge them, because one sentence common to all abstracts would merge all
of them. Instead it is removed from training, as for a corpus's own parts with a common text. Texts are
compared without case, spaces and punctuation (`mtlv.data.repeats`); pairs are equal if both texts are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from mtlv.data.folds import Fold, Rows, check_fold, rare, unseen, untested_warnings
from mtlv.data.repeats import first_rows, near_of, number_values, repeats_of
from mtlv.data.source import PARTS, Corpus
from mtlv.data.texts.lazy import chain_lazily, pick
from mtlv.errors import DataError
from mtlv.formatting import many
from mtlv.seeding import seed_from

# Increase it when the same settings give another split, so that stored splits are made again.
DIVIDING = 3
FEWEST_HALVED = 16  # texts or groups that are divided into stratified halves
PLENTY = 5  # expected documents of a part, and with a label in training, from which none can be without


def make_folds(
    corpus: Corpus,
    *,
    test_share: float = 0.2,
    validation_share: float = 0.15,
    folds: int = 1,
    scheme: str = "fixed_test",
    repeats: str = "leave_out",
    seed: int = 0,
) -> tuple[Fold, ...]:
    """Split a corpus; the same arguments always give the same folds.

    With one fold: test (the corpus's own, else `test_share` of all), validation (its own, else
    `validation_share` of the rest), training. With k folds of `fixed_test`: one test part, the rest in k
    folds, each in turn the validation part (the thesis's procedure). With k folds of `rotate_test`: all
    documents in k folds, each in turn the test part, and `validation_share` of the others for validation.

    Args:
        corpus: N documents.
        test_share, validation_share: fractions in (0, 1).
        folds: 1 or more; `rotate_test` needs 2.
        scheme: `fixed_test` or `rotate_test`.
        repeats: `leave_out` removes training documents whose text is in validation or test, and validation
            documents whose text is in the test; `keep` keeps them, to reproduce a published split exactly.
            Drawn parts keep equal texts together, or with `keep` exactly equal ones.
        seed: seed of the split.

    Raises:
        DataError: too few documents, an empty part, or a label without positives in training.
    """
    texts = _Texts(corpus, seed, keep=repeats == "keep")
    _check_number(texts, folds, scheme, test_share)
    if scheme == "rotate_test":
        made = _rotate(texts, folds, validation_share)
    elif folds == 1:
        made = _one(texts, test_share, validation_share)
    else:
        made = _fixed(texts, folds, test_share)
    notes = (*texts.notes, *rare(corpus, folds), *unseen(corpus, made), *untested_warnings(corpus, made))
    return tuple(check_fold(corpus, replace(fold, notes=notes)) for fold in made)


def is_plentiful(
    corpus: Corpus, *, test_share: float, validation_share: float, folds: int, scheme: str
) -> bool:
    """Return whether `make_folds` cannot fail for a lack of documents, without splitting.

    A stratified part has what its share of documents would have, give or take one or two. A corpus with
    parts of its own may lack anything in one of them.
    """
    if corpus.parts is not None:
        return False
    fold = 1 / folds if folds > 1 else validation_share
    shares = (test_share, fold) if scheme == "fixed_test" else (fold, validation_share)
    texts = _Texts(corpus, 0)
    train = math.prod(1 - share for share in shares)
    fewest = min(texts.targets.sum(axis=0, dtype=int), default=0)
    return len(texts.targets) * min(*shares, train) >= PLENTY and fewest * train >= PLENTY


class _Texts:
    """The units of a corpus (U) that are split: its groups, or else its unique texts.

    With `keep`, a text may be in two parts; only exact repeats are then kept together.
    """

    def __init__(self, corpus: Corpus, seed: int, *, keep: bool = False) -> None:
        self.text = repeats_of([corpus]).documents
        same = self.text.exact if keep else self.text.near
        self.of_row = same if corpus.groups is None else number_values(corpus.groups)
        self.name, self.unit = corpus.name, "unique text" if corpus.groups is None else "group"
        self.targets = _of_units(np.stack(list(corpus.strata().values()), axis=1), self.of_row, corpus)
        self.seed = seed
        self.keep = keep
        self.notes: list[str] = []
        self.parts = None if corpus.parts is None else np.array(corpus.parts)
        if corpus.groups is None:
            self._note_repeats(same)

    def _note_repeats(self, same: Rows) -> None:
        repeated, exactly = (len(same) - 1 - int(numbers.max()) for numbers in (same, self.text.exact))
        if repeated:
            repeat, stay = ("repeats", "stays") if repeated == 1 else ("repeat", "stay")
            drawn = f" and {stay} in its part" if self.parts is None else ""
            near = near_of(repeated - exactly)
            self.notes.append(f"{many(repeated, 'document')} {repeat} an earlier text{drawn}{near}")

    def of_parts(self, *parts: str) -> Rows:
        """Return the rows in these parts of the corpus's own split."""
        if self.parts is None:
            return np.array([], dtype=np.int64)
        return np.flatnonzero(np.isin(self.parts, parts))

    def without(self, rows: Rows, other: Rows, name: str) -> Rows:
        """Return `rows` without those whose text is in `other`, or all of them; note their number."""
        exactly, repeated = (np.isin(n[rows], n[other]) for n in (self.text.exact, self.text.near))
        if repeated.any():
            done = "kept, though" if self.keep else "left out:"
            near = near_of(repeated.sum() - exactly.sum())
            documents = many(int(repeated.sum()), "document")
            self.notes.append(f"{documents} {done} their text is in the {name} part{near}")
        return rows if self.keep else rows[~repeated]

    def share(self, rows: Rows, share: float, purpose: str) -> tuple[Rows, Rows]:
        """Return (the rest, `share` of the units) of `rows`, both stratified."""
        from iterstrat.ml_stratifiers import MultilabelStratifiedShuffleSplit

        units = np.unique(self.of_row[rows])
        if math.ceil(share * len(units)) >= len(units):
            key = purpose.split()[0]
            least = math.ceil(round(1 / (1 - share), 6))
            raise DataError(
                f"`data.{key}_share` leaves no other documents of corpus `{self.name}`",
                got=f"{share:g} of {many(len(units), self.unit)} that can be in the {purpose} part",
                allowed=f"a smaller share, or {least} {self.unit}s or more",
            )
        split = MultilabelStratifiedShuffleSplit(
            n_splits=1, test_size=share, random_state=seed_from(self.seed, purpose)
        )
        rest, taken = next(split.split(units, self._strata(units)))
        return self._separate(rows, units[rest], units[taken], purpose)

    def folds(self, rows: Rows, number: int, purpose: str) -> list[tuple[Rows, Rows]]:
        """Return `count` pairs (the rest, the fold) of `rows`, stratified."""
        from iterstrat.ml_stratifiers import MultilabelStratifiedKFold

        units = np.unique(self.of_row[rows])
        if len(units) < number:
            raise DataError(
                f"`data.folds` is above the number of {self.unit}s of corpus `{self.name}` that can be in a "
                f"{purpose} part",
                got=number,
                allowed=len(units),
            )
        split = MultilabelStratifiedKFold(
            n_splits=number, shuffle=True, random_state=seed_from(self.seed, "folds")
        )
        pairs = split.split(units, self._strata(units))
        return [
            self._separate(rows, units[rest], units[fold], f"{purpose} {index}")
            for index, (rest, fold) in enumerate(pairs)
        ]

    def first(self, units: Rows, number: int) -> Rows:
        """Return some of the units, stratified; fewer are among more."""
        from iterstrat.ml_stratifiers import MultilabelStratifiedShuffleSplit

        if number >= len(units):
            return units
        seed = seed_from(self.seed, "train share", len(units))
        if len(units) < FEWEST_HALVED:
            return np.random.default_rng(seed).permutation(units)[:number]
        split = MultilabelStratifiedShuffleSplit(n_splits=1, test_size=0.5, random_state=seed)
        one, other = (units[half] for half in next(split.split(units, self._strata(units))))
        if number <= len(one):
            return self.first(one, number)
        return np.concatenate([one, self.first(other, number - len(one))])

    def _separate(self, rows: Rows, rest: Rows, taken: Rows, name: str) -> tuple[Rows, Rows]:
        """Return the rows of two sets of units; with groups, the first without texts of the second."""
        second = self._rows(rows, taken)
        return self.without(self._rows(rows, rest), second, name), second

    def _rows(self, rows: Rows, units: Rows) -> Rows:
        return rows[np.isin(self.of_row[rows], units)]

    def _strata(self, units: Rows) -> NDArray[np.int8]:
        """Return targets and a column for "no label", so that unlabelled documents are also spread evenly."""
        targets = self.targets[units]
        return np.concatenate([targets, ~targets.any(axis=1, keepdims=True)], axis=1).astype(np.int8)


def keep_share(corpus: Corpus, fold: Fold, share: float, seed: int) -> Fold:
    """Return a fold with a share of its training documents, stratified; a smaller share is part of a larger.

    Raises:
        DataError: no document is left, or a label without positives in training.
    """
    if share == 1:
        return fold
    texts = _Texts(corpus, seed)
    units = np.unique(texts.of_row[fold.train])
    rows = texts.of_row[fold.train]
    train = fold.train[np.isin(rows, texts.first(units, round(share * len(units))))]
    note = f"{len(train):,} of {many(len(fold.train), 'training document')} kept (data.train_share)"
    return check_fold(corpus, replace(fold, train=train, notes=(*fold.notes, note)))


def group_same_documents(corpora: Sequence[Corpus]) -> list[list[int]]:
    """Return the numbers of the corpora, those of the same documents together: columns of one table."""
    numbers: dict[tuple[object, ...], list[int]] = {}
    for number, corpus in enumerate(corpora):
        texts = tuple(digests.tobytes() for digests in corpus.digests)
        numbers.setdefault((texts, corpus.parts, corpus.groups, corpus.labelled), []).append(number)
    return list(numbers.values())


def followers(corpora: Sequence[Corpus]) -> dict[int, int]:
    """Return, by its number, the corpus whose texts are those of a corpus of relations."""
    entities = [
        n for n, corpus in enumerate(corpora) if corpus.words is not None and corpus.groups is not None
    ]
    followed = {}
    for number, corpus in enumerate(corpora):
        if corpus.mentions is not None and corpus.groups is not None and corpus.parts is None:
            texts = {*corpus.groups}
            fitting = [n for n in entities if texts <= {*(corpora[n].groups or ())}]
            if fitting:
                followed[number] = fitting[0]
    return followed


def follow(corpus: Corpus, leader: Corpus, folds: Sequence[Fold]) -> list[Fold]:
    """Return folds in which each group of a corpus is in the part in which another corpus has it.

    Raises:
        DataError: a part has no documents, or not what is needed to learn.
    """
    made = []
    for fold in folds:
        parts = {group: part for part in PARTS for group in pick(leader.groups or (), fold.part(part))}
        of = np.array([parts.get(group, "") for group in corpus.groups or ()])
        train, validation, test = (np.flatnonzero(of == part) for part in PARTS)
        made.append(check_fold(corpus, Fold(fold.index, train, validation, test)))
    return made


def units_of(corpus: Corpus) -> Sequence[str]:
    """Return the unit of each of N documents: its group; without groups the first document with its text.

    Documents of one unit are dependent: a test part has as many independent documents as units.
    """
    if corpus.members:  # columns of one table are of the same documents
        same = group_same_documents(corpus.members)
        firsts = {number: corpus.members[numbers[0]] for numbers in same for number in numbers}
        tables = [firsts[number] for number in range(len(firsts))]
        return chain_lazily([units_of(one) for one in tables], [f"{one.name}/" for one in tables])
    if corpus.groups is not None:
        return corpus.groups
    first, which = first_rows(corpus.digests[0])
    return pick(corpus.ids, first[which])


def _of_units(flags: NDArray[np.bool_], of_row: Rows, corpus: Corpus) -> NDArray[np.int8]:
    """Return flags of units [U, S] from documents [N, S]: any document of a group, the first of a text."""
    _, first = np.unique(of_row, return_index=True)
    of_units = flags[first]
    if corpus.groups is not None:
        np.logical_or.at(of_units, of_row, flags)
    return of_units.astype(np.int8)


def _test_part(texts: _Texts, share: float) -> tuple[Rows, Rows]:
    """Return (all other rows, the test part), which is the corpus's own if it has one."""
    test = texts.of_parts("test")
    if len(test):
        return texts.without(texts.of_parts("train", "validation"), test, "test"), test
    return texts.share(np.arange(len(texts.of_row)), share, "test")


def _one(texts: _Texts, test_share: float, validation_share: float) -> list[Fold]:
    rest, test = _test_part(texts, test_share)
    validation = rest[np.isin(rest, texts.of_parts("validation"))]
    if len(validation):
        train = texts.without(np.setdiff1d(rest, validation), validation, "validation")
    else:
        train, validation = texts.share(rest, validation_share, "validation")
    return [Fold(0, train, validation, test)]


def _fixed(texts: _Texts, folds: int, test_share: float) -> list[Fold]:
    rest, test = _test_part(texts, test_share)
    if len(texts.of_parts("validation")):
        texts.notes.append("the corpus's own validation part is pooled with training for the folds")
    return [
        Fold(i, train, validation, test)
        for i, (train, validation) in enumerate(texts.folds(rest, folds, "validation"))
    ]


def _rotate(texts: _Texts, folds: int, validation_share: float) -> list[Fold]:
    if texts.parts is not None:
        texts.notes.append("the corpus's own split is ignored: `rotate_test` pools all documents")
    made = []
    for index, (rest, test) in enumerate(texts.folds(np.arange(len(texts.of_row)), folds, "test")):
        train, validation = texts.share(rest, validation_share, f"validation {index}")
        made.append(Fold(index, train, validation, test))
    return made


def _check_number(texts: _Texts, folds: int, scheme: str, test_share: float) -> None:
    """Refuse a corpus that has too few texts or groups for parts that are drawn."""
    rotates = scheme == "rotate_test"
    if texts.parts is not None and not rotates:
        return  # some parts are not drawn

    def tested(number: int) -> int:
        return 0 if rotates else math.ceil(round(test_share * number, 6))

    units, needed = int(texts.of_row.max()) + 1, 3 if rotates else 2
    if units - tested(units) >= max(folds, needed):
        return
    least = next(n for n in count(3) if n - tested(n) >= max(folds, needed))
    most = units - tested(units)
    fewer = f"`data.folds` up to {most}, or " if folds > most >= needed else ""
    with_folds = f" with `data.folds: {folds}`" if folds > 1 else ""
    raise DataError(
        f"corpus `{texts.name}` is too small for a training, a validation and a test part{with_folds}",
        got=many(units, texts.unit) + (f", {tested(units)} of them for the test" if not rotates else ""),
        allowed=f"{fewer}{least} {texts.unit}s or more",
    )
