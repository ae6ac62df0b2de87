"""Inner folds: every training document is held out once, with all that belong to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtlv.data.folds import Fold
from mtlv.data.joined import begins, join, join_folds
from mtlv.data.source import Corpus
from mtlv.data.splits import make_folds, units_of
from mtlv.errors import PlanError
from mtlv.plan import Task
from mtlv.planning.crossfit import inner_folds


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_each_document_is_held_out_once_and_never_with_its_mates_elsewhere(
    one_corpus_per_kind: list[Corpus], parts: int
) -> None:
    first, *rest = one_corpus_per_kind
    corpora = [replace(first, groups=tuple(f"file {n // 2}" for n in range(len(first)))), *rest]
    corpus = join(corpora)
    (fold,) = join_folds(corpora, [make_folds(each) for each in corpora])
    found = inner_folds(corpus, fold, parts)
    assert len(found) == parts
    assert np.concatenate([each.test for each in found]).tolist() != fold.train.tolist()
    assert sorted(np.concatenate([each.test for each in found]).tolist()) == fold.train.tolist()
    units = units_of(corpus)
    for each in found:
        assert sorted([*each.train, *each.test]) == fold.train.tolist()
        assert np.array_equal(each.validation, fold.validation)
        assert {units[row] for row in each.train}.isdisjoint(units[row] for row in each.test)
    for start, end in zip(begins(corpora), begins(corpora)[1:], strict=False):
        sizes = [int(((each.test >= start) & (each.test < end)).sum()) for each in found]
        assert max(sizes) - min(sizes) <= 2, "documents of a file stay together"
        assert min(sizes) >= 1


def test_no_teacher_learned_a_text_that_it_judges() -> None:
    """Texts that differ in case and punctuation, and those of another source, are left out of training."""
    texts = [f"case {n} of heart" for n in range(12)]
    near = [text.upper() + "." for text in texts]
    labels = {"a": np.arange(24, dtype=np.int8) % 2}
    first = Corpus("one", (Task("a", source="one"),), tuple(map(str, range(24))), (*texts, *near), labels)
    others = (*texts[:6], *(f"rib {n}" for n in range(18)))
    second = Corpus("two", (Task("b", source="two"),), first.ids, others, {"b": labels["a"]})
    corpus, rows = join([first, second]), np.arange(48)
    fold = Fold(0, rows, rows[:0], rows[:0])
    found = inner_folds(corpus, fold, 3)
    assert sorted(np.concatenate([each.test for each in found]).tolist()) == rows.tolist()
    plain = [text.upper().rstrip(".") for text in corpus.texts]
    for each in found:
        assert {plain[row] for row in each.train}.isdisjoint(plain[row] for row in each.test)
        assert each.train.tolist() == sorted(each.train)
        own = {row for row in rows.tolist() if plain[row] not in {plain[row] for row in each.test}}
        assert set(each.train.tolist()) == own, "no other document is left out"


def test_another_source_changes_nothing(one_corpus_per_kind: list[Corpus]) -> None:
    def held_out(corpora: list[Corpus]) -> list[set[str]]:
        corpus = join(corpora)
        (fold,) = join_folds(corpora, [make_folds(each) for each in corpora], repeats="keep")
        own = corpora[0].name
        return [
            {corpus.ids[row] for row in each.test if corpus.ids[row].startswith(f"{own}/")}
            for each in inner_folds(corpus, fold, 3)
        ]

    assert held_out(one_corpus_per_kind[1:3]) == held_out(one_corpus_per_kind[1:])


def test_parts_follow_neither_the_order_nor_the_names_of_documents() -> None:
    """Every third document has the same class, in the order of the corpus and of the groups' names."""
    count, parts = 120, 3
    classes = np.arange(count, dtype=np.int64) % parts
    task = Task("a", "multiclass", "one", classes=("x", "y", "z"))
    texts = tuple(f"case {n} of heart" for n in range(count))
    names = tuple(f"g{n:03d}" for n in range(count))
    corpus = Corpus("one", (task,), tuple(map(str, range(count))), texts, {"a": classes}, groups=names)
    rows = np.arange(count)
    folds = inner_folds(corpus, Fold(0, rows, rows[:0], rows[:0]), parts)
    for fold in folds:
        assert len(fold.test) == count // parts
        assert np.bincount(classes[fold.test], minlength=parts).min() >= 5
        assert np.bincount(np.arange(parts).repeat(count // parts)[fold.test]).min() >= 5, "no blocks"
    turned = np.random.default_rng(0).permutation(count)
    others = inner_folds(corpus.take(turned), Fold(0, rows, rows[:0], rows[:0]), parts)
    assert [set(turned[fold.test]) for fold in others] == [set(fold.test) for fold in folds]


def test_more_parts_than_documents_are_refused(one_corpus_per_kind: list[Corpus]) -> None:
    corpus = one_corpus_per_kind[2]
    (fold,) = make_folds(corpus)
    few = replace(fold, train=fold.train[:4])
    assert len(inner_folds(corpus, few, 4)) == 4
    with pytest.raises(
        PlanError, match=r"above the number of different training documents of `sts` \(got 5\)"
    ):
        inner_folds(corpus, few, 5)
