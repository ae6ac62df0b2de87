"""Folds: complete, disjoint by text, stratified, the same every time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtlv.data import catalog
from mtlv.data.folds import folds_digest
from mtlv.data.joined import join
from mtlv.data.options import DataOptions
from mtlv.data.source import Corpus
from mtlv.data.splits import is_plentiful, keep_share, make_folds, units_of
from mtlv.errors import DataError
from mtlv.plan.task import UNKNOWN, Task

PARTS = ("train", "validation", "test")


def made(targets, texts=None, parts=None) -> Corpus:
    targets = np.asarray(targets, dtype=np.int8)
    n = len(targets)
    names = [f"t{i}" for i in range(targets.shape[1])]
    return Corpus(
        "made",
        tuple(Task(name) for name in names),
        tuple(f"d{i}" for i in range(n)),
        tuple(texts) if texts is not None else tuple(f"text {i}" for i in range(n)),
        {name: targets[:, i] for i, name in enumerate(names)},
        parts=parts,
    )


def random_corpus(n=500, rates=(0.3, 0.1, 0.05), seed=0, repeats=0) -> Corpus:
    random = np.random.default_rng(seed)
    targets = random.random((n, len(rates))) < rates
    texts = [f"text {i}" for i in range(n - repeats)] + [f"text {i}" for i in range(repeats)]
    return made(targets, texts)


def check_partition(corpus, fold, *, rows=None):
    together = np.concatenate([fold.part(part) for part in PARTS])
    assert sorted(together) == list(range(len(corpus)) if rows is None else rows)
    texts = [{corpus.texts[i] for i in fold.part(part)} for part in PARTS]
    assert not texts[0] & texts[1]
    assert not texts[0] & texts[2]
    assert not texts[1] & texts[2]
    assert all(np.all(np.diff(fold.part(part)) > 0) for part in PARTS)


@pytest.mark.parametrize("repeats", [0, 100])
@pytest.mark.parametrize(
    ("folds", "scheme"), [(1, "fixed_test"), (4, "fixed_test"), (3, "rotate_test"), (2, "rotate_test")]
)
def test_folds_are_partitions_by_text(folds, scheme, repeats):
    corpus = random_corpus(repeats=repeats)
    result = make_folds(corpus, folds=folds, scheme=scheme)
    assert [fold.index for fold in result] == list(range(folds))
    for fold in result:
        check_partition(corpus, fold)
        assert any("repeat an earlier text" in note for note in fold.notes) == bool(repeats)


def test_fixed_test_has_one_test_set_and_each_other_document_once_in_validation():
    corpus = random_corpus()
    result = make_folds(corpus, folds=4, test_share=0.2)
    assert all(np.array_equal(fold.test, result[0].test) for fold in result)
    held = np.concatenate([fold.validation for fold in result])
    assert sorted([*held, *result[0].test]) == list(range(len(corpus)))


def test_rotate_test_tests_each_document_once():
    corpus = random_corpus()
    result = make_folds(corpus, folds=5, scheme="rotate_test", validation_share=0.1)
    assert sorted(np.concatenate([fold.test for fold in result])) == list(range(len(corpus)))
    assert all(abs(len(fold.validation) / 400 - 0.1) < 0.02 for fold in result)


def test_shares_and_labels_come_out_right_with_many_bare_documents():
    corpus = random_corpus(n=1000, rates=(0.2, 0.1, 0.05))
    bare = ~corpus.matrix().any(axis=1)
    assert 0.6 < bare.mean() < 0.75
    (fold,) = make_folds(corpus, test_share=0.2, validation_share=0.15)
    assert abs(len(fold.test) - 200) <= 5
    assert abs(len(fold.validation) - 120) <= 5
    for part in PARTS:
        rows = fold.part(part)
        assert abs(bare[rows].mean() - bare.mean()) < 0.02
        assert np.abs(corpus.matrix()[rows].mean(axis=0) - corpus.matrix().mean(axis=0)).max() < 0.01


def test_one_label_can_be_stratified_too():
    corpus = random_corpus(n=200, rates=(0.2,))
    (fold,) = make_folds(corpus)
    rate = corpus.matrix().mean()
    assert all(abs(corpus.matrix()[fold.part(part)].mean() - rate) < 0.03 for part in PARTS)


def test_seed_decides():
    corpus = random_corpus()
    first, again, other = (make_folds(corpus, folds=3, seed=seed) for seed in (0, 0, 1))
    assert folds_digest(corpus, first) == folds_digest(corpus, again)
    assert folds_digest(corpus, first) != folds_digest(corpus, other)
    assert len(folds_digest(corpus, first)) == 16
    swapped = [replace(fold, train=fold.test, test=fold.train) for fold in first]
    assert folds_digest(corpus, first) != folds_digest(corpus, swapped), "of the same validation parts"


def test_the_seed_draws_shares_and_folds():
    """Each by itself: one fold is shares alone, and folds of a corpus with its own test part are not."""
    for corpus, folds in ((random_corpus(), 1), (own(), 3)):
        first, again, other = (make_folds(corpus, folds=folds, seed=seed)[0] for seed in (0, 0, 1))
        assert first.validation.tolist() == again.validation.tolist()
        assert first.validation.tolist() != other.validation.tolist()


def own(n=200, repeats=()) -> Corpus:
    random = np.random.default_rng(0)
    parts = tuple(["train"] * (n - 80) + ["validation"] * 30 + ["test"] * 50)
    texts = [f"text {i}" for i in range(n)]
    for copy, original in repeats:
        texts[copy] = texts[original]
    return made(random.random((n, 2)) < 0.3, texts, parts)


def test_own_parts_are_used():
    corpus = own()
    (fold,) = make_folds(corpus)
    parts = np.array(corpus.parts)
    for part in PARTS:
        assert np.array_equal(fold.part(part), np.flatnonzero(parts == part))
    assert fold.notes == ()


def test_training_texts_that_are_tested_are_left_out_and_counted():
    # 0 and 1 repeat a test text, 2 a validation text, and a validation document repeats a test text.
    corpus = own(repeats=[(0, 199), (1, 199), (2, 121), (120, 198)])
    (fold,) = make_folds(corpus)
    check_partition(corpus, fold, rows=[i for i in range(200) if i not in (0, 1, 2, 120)])
    assert "3 documents left out: their text is in the test part" in fold.notes
    assert "1 document left out: their text is in the validation part" in fold.notes
    assert len(fold.test) == 50


def test_near_repeats_of_a_held_out_text_are_left_out_and_counted_and_no_test_document_is():
    corpus = own(repeats=[(0, 199), (1, 198), (120, 197), (130, 196)])
    texts = list(corpus.texts)
    for row, text in ((1, "TEXT  198."), (120, "Text: 197"), (3, "(text 121)"), (4, "text 1.21")):
        texts[row] = text
    corpus = replace(corpus, texts=tuple(texts))
    (fold,) = make_folds(corpus)
    check_partition(corpus, fold, rows=[i for i in range(200) if i not in (0, 1, 3, 120, 130)])
    near = "except for case, spaces or punctuation)"
    assert fold.notes == (
        f"5 documents repeat an earlier text (3 {near}",
        f"4 documents left out: their text is in the test part (2 {near}",
        f"1 document left out: their text is in the validation part (1 {near}",
    )
    assert np.array_equal(fold.test, np.arange(150, 200))
    (whole,) = make_folds(corpus, repeats="keep")
    assert [len(whole.part(part)) for part in PARTS] == [120, 30, 50]
    assert f"4 documents kept, though their text is in the test part (2 {near}" in whole.notes


def spelled(n=120, times=3) -> Corpus:
    """Each text a number of times, in as many ways to write it."""
    ways = ("text {}", "Text {}.", "TEXT  ({})")[:times]
    texts = [way.format(n) for n in range(n // times) for way in ways]
    return made(np.random.default_rng(0).random((n, 2)) < 0.4, texts)


@pytest.mark.parametrize(("folds", "scheme"), [(1, "fixed_test"), (3, "fixed_test"), (3, "rotate_test")])
def test_what_is_drawn_keeps_near_repeats_together(folds, scheme):
    corpus = spelled()
    for fold in make_folds(corpus, folds=folds, scheme=scheme):
        held = [{row // 3 for row in fold.part(part)} for part in PARTS]
        assert sum(map(len, held)) == len(set.union(*held)) == 40
        assert sum(len(fold.part(part)) for part in PARTS) == 120
        near = "(80 except for case, spaces or punctuation)"
        assert fold.notes == (f"80 documents repeat an earlier text and stay in its part {near}",)


@pytest.mark.parametrize(("folds", "scheme"), [(1, "fixed_test"), (3, "fixed_test"), (3, "rotate_test")])
def test_with_kept_repeats_only_exact_ones_are_drawn_together(folds, scheme):
    corpus = spelled()
    others = replace(corpus, texts=tuple(f"{n} is another" for n in range(120)))
    found = make_folds(corpus, folds=folds, scheme=scheme, repeats="keep")
    assert folds_digest(corpus, found) == folds_digest(others, make_folds(others, folds=folds, scheme=scheme))
    assert any("kept, though their text is in the" in note for note in found[0].notes)


def test_which_texts_they_are_changes_no_split():
    corpus = random_corpus(repeats=100)
    others = replace(corpus, texts=tuple(text[::-1] for text in corpus.texts))
    assert folds_digest(corpus, make_folds(corpus)) == folds_digest(others, make_folds(others))


def test_pairs_that_share_one_text_are_other_documents():
    corpus = replace(own(), texts=("premise",) * 200, seconds=own().texts)
    (fold,) = make_folds(corpus)
    check = [len(fold.part(part)) for part in PARTS]
    assert check == [120, 30, 50]
    assert fold.notes == ()
    again = replace(corpus, seconds=("Text 199!", *own().texts[1:]))
    assert len(make_folds(again)[0].train) == 119


def test_own_test_part_with_folds_pools_the_rest():
    corpus = own()
    result = make_folds(corpus, folds=3)
    for fold in result:
        check_partition(corpus, fold)
        assert np.array_equal(fold.test, np.arange(150, 200))
    assert "validation part is pooled" in result[0].notes[0]


def test_rotate_test_sets_the_own_split_aside_and_says_so():
    corpus = own()
    result = make_folds(corpus, folds=2, scheme="rotate_test")
    assert sorted(np.concatenate([fold.test for fold in result])) == list(range(200))
    assert "is ignored" in result[0].notes[0]


def test_own_validation_without_test():
    parts = tuple(["train"] * 100 + ["validation"] * 50)
    corpus = made(np.random.default_rng(0).random((150, 2)) < 0.3, parts=parts)
    (fold,) = make_folds(corpus)
    check_partition(corpus, fold)
    assert set(fold.validation) <= set(range(100, 150))
    assert len(fold.test) == pytest.approx(30, abs=3)


def test_a_rare_label_is_noted_and_one_without_a_training_positive_refused():
    targets = np.zeros((60, 2), dtype=np.int8)
    targets[:30, 0] = 1
    targets[:3, 1] = 1
    (fold, *_) = make_folds(made(targets), folds=4)
    assert fold.notes == ("3 documents of `t1`, fewer than 4 folds",)
    parts = tuple(["train"] * 30 + ["test"] * 30)
    (fold,) = make_folds(made(targets, parts=parts))
    assert fold.notes == (
        "no positives, or a single value, in the test part: t0, t1; scores there say nothing, but count in "
        "means over tasks",
    )
    targets[59] = 1
    assert make_folds(made(targets, parts=parts))[0].notes == ()
    parts = tuple(["test"] * 3 + ["train"] * 57)
    targets[59] = 0
    with pytest.raises(DataError, match=r"no positives in the training part of fold 0 \(got t1: 3 in all\)"):
        make_folds(made(targets, parts=parts))


def test_classes_that_are_tested_but_not_learned_are_noted():
    parts = tuple(["train"] * 60 + ["validation"] * 20 + ["test"] * 20)
    answers = np.arange(100) % 2
    answers[[60, 99]] = 3, 2
    corpus = made(np.ones((100, 1), np.int8), parts=parts)
    task = Task("answer", "multiclass", classes=("no", "yes", "maybe", "never tested"))
    corpus = replace(corpus, tasks=(task,), targets={"answer": answers})
    (fold,) = make_folds(corpus)
    assert fold.notes == ("tested, but without documents in the training part: `answer: maybe`",)


def test_known_labels_are_spread_and_a_label_that_a_part_does_not_know_is_refused():
    targets = np.zeros((120, 2), dtype=np.int8)
    targets[::2, 0] = 1
    targets[:, 1] = UNKNOWN
    targets[:10, 1], targets[10:20, 1] = 1, 0
    (fold,) = make_folds(made(targets), test_share=0.3, validation_share=0.3)
    for value in (1, 0):
        counts = [np.sum(targets[fold.part(part), 1] == value) for part in PARTS]
        assert counts == pytest.approx([5, 2, 3], abs=1)
    parts = tuple((["train"] * 10 + ["validation"] * 5 + ["test"] * 5) * 6)
    said = (
        r"a label is not known of any document \(got t1: validation, t1: test\); fill some of its cells there"
    )
    targets[10:, 1] = UNKNOWN
    with pytest.raises(DataError, match=said):
        make_folds(made(targets, parts=parts))
    targets[10, 1] = targets[15, 1] = 0
    make_folds(made(targets, parts=parts))


def test_a_share_that_leaves_nothing_is_refused():
    with pytest.raises(DataError, match=r"3 of them for the test\); allowed: 200 unique texts or more"):
        make_folds(made(np.ones((3, 1))), test_share=0.99)


def test_a_part_of_which_nothing_is_left_is_named():
    corpus = own(repeats=[(row, 150 + row % 50) for row in range(120)])
    with pytest.raises(
        DataError, match=r"a part of fold 0 is empty \(got train 0, validation 30, test 50, of 200 documents"
    ):
        make_folds(corpus)


@pytest.mark.parametrize("classes", [60, 30, 24])
def test_a_column_of_nearly_as_many_classes_as_documents_is_named(classes):
    task = Task("price", "multiclass", classes=tuple(map(str, range(classes))))
    prices = {"price": np.arange(60) % classes}
    texts = tuple(f"text {n}" for n in range(60))
    corpus = Corpus("made", (task,), texts, texts, prices)
    with pytest.raises(DataError) as raised:
        make_folds(corpus)
    assert str(raised.value) == (
        "corpus `made` cannot be split: a class of `price` has too few documents "
        f"(got {classes} classes in 60 documents); allowed: 3 documents or more of each class, and "
        "better 10; for numbers set `kind: regression`; else merge rare classes."
    )


ALL_PARTS = "corpus `made` is too small for a training, a validation and a test part"


@pytest.mark.parametrize(
    ("n", "change", "said"),
    [
        (1, {}, f"{ALL_PARTS} (got 1 unique text, 1 of them for the test); allowed: 3 unique texts or more."),
        (
            4,
            {"folds": 5},
            f"{ALL_PARTS} with `data.folds: 5` (got 4 unique texts, 1 of them for the test); allowed: "
            "`data.folds` up to 3, or 7 unique texts or more.",
        ),
        (
            2,
            {"folds": 2, "scheme": "rotate_test"},
            f"{ALL_PARTS} with `data.folds: 2` (got 2 unique texts); allowed: 3 unique texts or more.",
        ),
        (
            8,
            {"test_share": 0.9},
            f"{ALL_PARTS} (got 8 unique texts, 8 of them for the test); allowed: 20 unique texts or more.",
        ),
        (
            20,
            {"test_share": 0.5, "validation_share": 0.95},
            "`data.validation_share` leaves no other documents of corpus `made` (got 0.95 of 10 unique texts "
            "that can be in the validation part); allowed: a smaller share, or 20 unique texts or more.",
        ),
    ],
)
def test_too_few_documents_are_refused_with_counts_and_what_is_allowed(n, change, said):
    with pytest.raises(DataError) as raised:
        make_folds(made(np.ones((n, 1))), **change)
    assert str(raised.value) == said


def test_the_number_of_texts_that_is_said_to_be_allowed_is():
    assert len(make_folds(made(np.ones((7, 1))), folds=5)) == 5
    assert len(make_folds(made(np.ones((4, 1))), folds=3)) == 3
    assert len(make_folds(made(np.ones((20, 1))), test_share=0.9, validation_share=0.5)) == 1


@pytest.mark.parametrize("folds", [1, 3, 5])
@pytest.mark.parametrize("scheme", ["fixed_test", "rotate_test"])
def test_a_plentiful_corpus_can_be_split(folds, scheme):
    """Of many corpora around the limit, all that are called plentiful can be split, and some are."""
    if scheme == "rotate_test" and folds == 1:
        return
    how = {"test_share": 0.2, "validation_share": 0.15, "folds": folds, "scheme": scheme}
    plentiful = [
        corpus
        for seed in range(30)
        if is_plentiful(corpus := random_corpus(n=40 + 3 * seed, rates=(0.3, 0.1), seed=seed), **how)
    ]
    assert 3 < len(plentiful) < 30
    assert all(make_folds(corpus, **how) for corpus in plentiful)


def test_few_documents_or_own_parts_are_not_called_plentiful():
    how = {"test_share": 0.2, "validation_share": 0.15, "folds": 1, "scheme": "fixed_test"}
    assert is_plentiful(random_corpus(), **how)
    assert not is_plentiful(random_corpus(rates=(0.3, 0.005)), **how)
    assert not is_plentiful(random_corpus(n=30), **how)
    assert not is_plentiful(random_corpus(rates=(0.5,)), **how | {"validation_share": 0.005})
    assert not is_plentiful(own(), **how)
    copies = made(np.ones((500, 1)), texts=["a text", "another"] * 250)
    assert not is_plentiful(copies, **how)


@pytest.mark.real_data
def test_openi_folds(real_data):
    corpus = catalog.load("openi", DataOptions(path=real_data / "openi"))
    (fold,) = make_folds(corpus)
    check_partition(corpus, fold)
    assert abs(len(fold.test) / len(corpus) - 0.2) < 0.01
    rates = corpus.matrix().mean(axis=0)
    assert np.abs(corpus.matrix()[fold.test].mean(axis=0) - rates).max() < 0.005


@pytest.mark.real_data
def test_hoc_keeps_its_published_parts(real_data):
    corpus = catalog.load("hoc", DataOptions(path=real_data / "hoc"))
    (fold,) = make_folds(corpus)
    assert [len(fold.part(part)) for part in PARTS] == [1295, 186, 371]


def grouped(groups, texts, targets=None, parts=None) -> Corpus:
    targets = np.ones((len(groups), 1)) if targets is None else targets
    return replace(made(targets, texts, parts), groups=tuple(groups))


@pytest.mark.parametrize(
    ("folds", "scheme"), [(1, "fixed_test"), (4, "fixed_test"), (3, "rotate_test"), (2, "rotate_test")]
)
def test_no_group_is_divided_and_a_common_text_does_not_join_them(folds, scheme):
    # 60 abstracts of 5 sentences; all have "Methods.", and every third has a sentence of its own twice.
    groups = [f"abstract {n // 5}" for n in range(300)]
    texts = ["Methods." if n % 5 == 0 else f"text {n - (n % 15 == 4)}" for n in range(300)]
    corpus = grouped(groups, texts, np.random.default_rng(0).random((300, 2)) < 0.3)
    result = make_folds(corpus, folds=folds, scheme=scheme)
    for fold in result:
        held = [{corpus.groups[i] for i in fold.part(part)} for part in PARTS]
        assert sum(map(len, held)) == len(set(groups))
        assert set.union(*held) == set(groups)
        texts_of = [{corpus.texts[i] for i in fold.part(part)} for part in PARTS]
        assert sum(map(len, texts_of)) == len(set(texts)), "no text is in two parts"
        assert "Methods." in texts_of[2]
    assert any("left out: their text is in the" in note for note in result[0].notes)
    assert not any("repeat an earlier text" in note for note in result[0].notes)


def test_groups_are_spread_by_what_any_of_their_documents_has():
    groups = [f"g{n // 4}" for n in range(400)]
    targets = np.zeros((400, 2))
    targets[3::8, 0] = 1  # the last document of every second group
    targets[:, 1] = 1
    (fold,) = make_folds(grouped(groups, [f"t{n}" for n in range(400)], targets))
    for part in PARTS:
        assert targets[fold.part(part), 0].mean() == pytest.approx(1 / 8, abs=0.001)


def test_own_parts_stand_whatever_the_groups():
    corpus = replace(own(), groups=tuple(f"g{n % 7}" for n in range(200)))
    (fold,) = make_folds(corpus)
    for part in PARTS:
        assert np.array_equal(fold.part(part), np.flatnonzero(np.array(corpus.parts) == part))


def test_repeats_may_be_kept_for_an_exact_published_split():
    corpus = own(repeats=[(0, 199), (1, 199), (2, 121), (120, 198)])
    (fold,) = make_folds(corpus, repeats="keep")
    for part in PARTS:
        assert np.array_equal(fold.part(part), np.flatnonzero(np.array(corpus.parts) == part))
    assert "3 documents kept, though their text is in the test part" in fold.notes
    assert "1 document kept, though their text is in the validation part" in fold.notes


def test_near_repeats_of_another_group_are_left_out():
    groups = [f"g{n // 4}" for n in range(200)]
    corpus = grouped(groups, [f"{('text', 'Text:', 'TEXT', '(text)')[n // 50]} {n % 50}" for n in range(200)])
    (fold,) = make_folds(corpus)
    held = [{row % 50 for row in fold.part(part)} for part in PARTS]
    assert not held[0] & held[1]
    assert not held[0] & held[2]
    assert not held[1] & held[2]
    assert any("except for case, spaces or punctuation" in note for note in fold.notes)


def test_groups_follow_their_rows():
    corpus = grouped("aab", ["x", "y", "z"])
    assert corpus.take([2, 0]).groups == ("b", "a")
    assert corpus.digest == replace(corpus, groups=None).digest, (
        "it says what is learned, not how it is divided"
    )


def test_documents_of_a_group_or_of_one_text_are_one_whole():
    assert units_of(grouped("aba", ["x", "x", "y"])) == ("a", "b", "a")
    pairs = replace(made(np.ones((3, 1)), ["premise", "other", "premise"]), seconds=("1", "2", "3"))
    first, second, third = units_of(pairs)
    assert first == third == pairs.ids[0] != second


def test_wholes_of_a_joined_corpus_keep_their_sources_apart():
    one, other = grouped("aab", "xyz"), grouped("abb", "uvw")
    other = replace(other, name="other", tasks=(Task("of other"),), targets={"of other": np.ones(3, np.int8)})
    assert units_of(join([one, other])) == (
        *(f"{one.name}/{g}" for g in "aab"),
        "other/a",
        "other/b",
        "other/b",
    )


def test_a_share_of_the_training_part_is_stratified_and_part_of_a_larger_one():
    corpus = random_corpus(n=600)
    (fold,) = make_folds(corpus)
    rates = corpus.matrix()[fold.train].mean(0)
    larger = set(fold.train)
    for share in (0.8, 0.5, 0.3, 0.1):
        kept = keep_share(corpus, fold, share, 0)
        assert len(kept.train) == pytest.approx(share * len(fold.train), abs=1)
        assert set(kept.train) < larger
        assert np.array_equal(kept.train, np.sort(kept.train))
        assert np.abs(corpus.matrix()[kept.train].mean(0) - rates).max() < 2 / len(kept.train)
        assert np.array_equal(kept.test, fold.test)
        assert np.array_equal(kept.validation, fold.validation)
        assert kept.notes[-1].startswith(f"{len(kept.train)} of {len(fold.train)} training documents")
        larger = set(kept.train)
    assert keep_share(corpus, fold, 1, 0) is fold
    assert set(keep_share(corpus, fold, 0.1, 1).train) != larger, "the seed draws"


def test_a_share_of_the_training_part_divides_no_group_and_needs_a_positive():
    corpus = replace(random_corpus(n=400), groups=tuple(str(n // 4) for n in range(400)))
    (fold,) = make_folds(corpus)
    kept = keep_share(corpus, fold, 0.25, 0)
    groups = {corpus.groups[row] for row in kept.train}
    assert {row for row in fold.train if corpus.groups[row] in groups} == set(kept.train)
    with pytest.raises(DataError, match=r"data\.train_share"):
        keep_share(random_corpus(n=200), make_folds(random_corpus(n=200))[0], 0.02, 0)
