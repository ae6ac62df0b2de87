"""Several corpora as one: what stands held out in one source is not learned from another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from mtlv.data.folds import Fold
from mtlv.data.joined import join, join_folds, merge
from mtlv.data.source import PARTS, Corpus
from mtlv.data.splits import group_same_documents, make_folds, units_of
from mtlv.errors import DataError
from mtlv.plan.spans import Span
from mtlv.plan.task import Task

HELD = "one of their texts is in the validation or test part of"
SIZES = {"train": 6, "validation": 3, "test": 3}


def source(name: str, *, pairs: bool = True, **texts: Sequence[str | tuple[str, str]]) -> Corpus:
    """A corpus with parts of its own: `texts` of a part come first, those that are made up after them."""
    rows: list[tuple[str, str, str]] = []
    for part, count in SIZES.items():
        given = [(text, text) if isinstance(text, str) else text for text in texts.get(part, ())]
        made = [(f"{name} {part} {n}", f"{name} second {part} {n}") for n in range(count - len(given))]
        rows += [(part, *text) for text in (*given, *made)]
    parts, firsts, seconds = zip(*rows, strict=True)
    return Corpus(
        name,
        (Task(f"{name} task", source=name),),
        tuple(map(str, range(len(rows)))),
        firsts,
        {f"{name} task": np.arange(len(rows)) % 2},
        parts=parts,
        seconds=seconds if pairs else None,
    )


def joined(*corpora: Corpus, repeats: str = "leave_out") -> Fold:
    (fold,) = join_folds(corpora, [make_folds(each, repeats=repeats) for each in corpora], repeats=repeats)
    return fold


def sizes(fold: Fold, corpora: Sequence[Corpus]) -> dict[str, dict[str, int]]:
    """Of each source, the documents in each part."""
    ids = join(corpora).ids
    held = {part: [ids[row].split("/")[0] for row in fold.part(part)] for part in PARTS}
    return {each.name: {part: held[part].count(each.name) for part in PARTS} for each in corpora}


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_any_text_of_a_held_out_document_is_left_out_of_another_source(first: bool, pairs: bool) -> None:
    one = source("one", test=[("premise", "claim")])
    other = source("other", pairs=pairs, train=["premise" if first else "claim"])
    for corpora in ([one, other], [other, one]):
        fold = joined(*corpora)
        assert sizes(fold, corpora) == {"one": SIZES, "other": SIZES | {"train": 5}}
        assert fold.notes == (f"other: 1 document left out of training: {HELD} one",)


def test_a_name_that_two_have_is_refused() -> None:
    one, two = source("one"), source("two")
    with pytest.raises(DataError, match=r"a source is there twice in `data.sources` \(got one\)\.$"):
        join([one, one, two])
    with pytest.raises(DataError, match=r"a task is .* \(got one task\); name one by `columns.task`"):
        join([one, replace(one, name="other"), two])


@pytest.mark.parametrize("pair", [("premise", "new"), ("new", "premise")])
def test_either_text_of_a_training_pair_counts(pair: tuple[str, str]) -> None:
    corpora = [source("one", pairs=False, validation=["premise"]), source("other", train=[pair])]
    assert sizes(joined(*corpora), corpora)["other"] == SIZES | {"train": 5}


def test_pairs_of_one_corpus_that_share_a_text_stay_where_its_own_split_has_them() -> None:
    one = source(
        "one", train=[("p", "a"), ("q", "h")], validation=[("p", "b")], test=[("p", "c"), ("r", "h")]
    )
    corpora = [one, source("other", pairs=False)]
    fold = joined(*corpora)
    assert sizes(fold, corpora) == {"one": SIZES, "other": SIZES}
    assert fold.notes == ()


def test_a_note_names_the_sources_whose_parts_they_are_and_counts_those_that_are_not_exact() -> None:
    corpora = [
        source("one", train=["shared", "Shared twice."], validation=["held"]),
        source("two", pairs=False, test=["shared", "shared twice", "held"]),
        source("three", pairs=False, validation=["SHARED  TWICE"]),
        source("four", pairs=False),
    ]
    fold = joined(*corpora)
    left = {"one": SIZES | {"train": 4, "validation": 2}, "three": SIZES | {"validation": 2}}
    assert sizes(fold, corpora) == {"two": SIZES, "four": SIZES} | left
    near = "(1 except for case, spaces or punctuation)"
    assert fold.notes == (
        "one: 1 document left out of validation: one of their texts is in the test part of two",
        f"three: 1 document left out of validation: one of their texts is in the test part of two {near}",
        f"one: 2 documents left out of training: {HELD} two {near}",
    )


def test_all_sources_that_hold_a_text_are_named() -> None:
    corpora = [
        source("one", train=["shared"]),
        source("two", test=["Shared"]),
        source("three", validation=["shared"]),
    ]
    note = joined(*corpora, repeats="keep").notes[-1]
    assert note == f"one: 1 document kept in training, though {HELD} two, three"


def test_what_was_left_out_of_validation_holds_nothing_out() -> None:
    corpora = [
        source("one", validation=[("shared", "mine")]),
        source("two", test=["shared"]),
        source("three", train=["mine"]),
    ]
    assert sizes(joined(*corpora), corpora)["three"] == SIZES


def test_kept_repeats_stay_in_every_part_and_are_counted() -> None:
    corpora = [source("one", train=["a"], validation=["b"]), source("two", pairs=False, test=["A", "b"])]
    fold = joined(*corpora, repeats="keep")
    assert sizes(fold, corpora) == {"one": SIZES, "two": SIZES}
    assert [note.split(":")[0].split(" document")[0] for note in fold.notes] == ["one"] * 2
    assert all("though one of their texts" in note for note in fold.notes)


@pytest.mark.parametrize("part", ["train", "validation"])
def test_a_source_of_which_nothing_is_left_is_refused(part: str) -> None:
    texts = [f"text {n}" for n in range(SIZES[part])]
    corpora = [source("one", **{part: texts}), source("two", pairs=False, test=texts[:3])]
    corpora += [source("three", pairs=False, test=texts[3:])]
    with pytest.raises(
        DataError, match=r"too little of source `one` is left in fold 0.*`data.repeats: keep`"
    ):
        joined(*corpora)


def test_a_source_that_has_no_positive_left_is_refused() -> None:
    one = source("one", train=["only positive"])
    targets = np.zeros(len(one), np.int64)
    targets[0] = 1
    one = replace(one, targets={"one task": targets})
    with pytest.raises(DataError, match="too little of source `one`"):
        joined(one, source("two", test=["only positive"]))


def test_the_digest_covers_second_texts_and_mentions_and_stays_where_there_are_none() -> None:
    pair, single = source("one"), source("two", pairs=False)
    assert pair.seconds is not None
    changed = replace(pair, seconds=("another", *pair.seconds[1:]))
    assert join([pair, single]).digest != join([changed, single]).digest
    marks = [tuple((Span(n, 1 + n),) for _ in pair.texts) for n in range(2)]
    one, other = (join([replace(pair, seconds=None, mentions=each), single]) for each in marks)
    assert one.digest != other.digest
    again = join([replace(pair, seconds=None), single])
    assert again.digest == replace(again, members=()).digest


def test_columns_of_one_table_are_known_by_texts_parts_and_groups() -> None:
    one, other = source("one"), source("other")
    alike = replace(other, texts=one.texts, seconds=one.seconds)
    parts = replace(alike, parts=one.parts[::-1])
    groups = replace(alike, groups=tuple(f"file {n // 2}" for n in range(len(one))))
    others = replace(alike, seconds=one.seconds[::-1])
    assert group_same_documents([one, alike, other, parts, groups, others, alike]) == [
        [0, 1, 6],
        [2],
        [3],
        [4],
        [5],
    ]


def test_a_lone_corpus_is_not_copied_to_be_split() -> None:
    """A copy would read and compare all its texts again."""
    one, other = source("one"), source("other")
    assert merge([one]) is one
    both = merge([one, other])
    assert both.names == ("one task", "other task")
    assert both.targets.keys() == {"one task", "other task"}


def test_columns_of_one_table_have_the_same_whole_documents() -> None:
    one, other = source("one", pairs=False), source("other", pairs=False)
    alike = replace(other, name="alike", texts=one.texts)
    found = list(units_of(replace(join([one, other]), members=(one, alike, other))))
    size = len(one)
    assert found[:size] == found[size : 2 * size]
    assert set(found[:size]).isdisjoint(found[2 * size :])
