"""Whether there are enough different documents of a label, and which of several columns are learned."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtlv.data.tables.column_kinds import FEWEST
from mtlv.data.tables.places import places_of
from mtlv.data.tables.proposals import Learned, Proposals, Units, are_the_same, choose_learned, without
from mtlv.data.tables.rows import Table

COUNT = 40
TEXTS = [f"case {n}" for n in range(COUNT)]
PARTS = [("train", "train", "dev", "test")[n % 4] for n in range(COUNT)]


def label(*rows: int) -> list[int]:
    return [int(n in rows) for n in range(COUNT)]


@pytest.mark.parametrize("flip", [False, True])
def test_different_texts_count_of_those_that_have_a_label_and_those_that_do_not(flip: bool) -> None:
    def few(texts: list, rows: range, **more: list) -> bool:
        values = [value ^ flip for value in label(*rows)]
        return Units(texts, **more).few(values)

    enough, too_few = range(FEWEST), range(FEWEST - 1)
    assert not few(TEXTS, enough)
    assert few(TEXTS, too_few)
    assert few(["Case 0.", "CASE 0", *TEXTS[2:]], enough), "of one text but for case and punctuation"
    assert few([None, *TEXTS[1:]], enough), "without a text"
    assert not few([None, *TEXTS[1:]], range(FEWEST + 1))
    groups = [n // 2 for n in range(COUNT)]
    assert few(TEXTS, enough, groups=groups)
    assert not few(TEXTS, range(2 * FEWEST), groups=groups)


def test_training_and_each_other_part_know_a_label() -> None:
    units = Units(TEXTS, parts=PARTS)
    of_parts = {
        part: [n for n in range(COUNT) if PARTS[n] == part][:FEWEST] for part in ("train", "dev", "test")
    }
    assert not units.few(label(*of_parts["train"]))
    assert units.few(label(*of_parts["test"])), "nothing to learn from"
    assert units.few(label(*of_parts["dev"], *of_parts["test"]))
    values: list[int | None] = list(label(*range(20)))
    for part in ("train", "dev", "test"):
        known = [None if PARTS[n] == part else value for n, value in enumerate(values)]
        assert units.few(known), f"unknown in {part}"
    assert not units.few([None if n % 8 == 7 else value for n, value in enumerate(values)])


def test_texts_that_are_also_in_another_part_are_not_learned_from() -> None:
    rows = [n for n in range(COUNT) if PARTS[n] == "train"][:FEWEST]
    others = [n for n in range(COUNT) if PARTS[n] == "test"]
    texts = list(TEXTS)
    for at, row in zip(others, rows, strict=False):
        texts[at] = texts[row].upper()
    values = label(*rows, *others[:FEWEST])
    assert not Units(TEXTS, parts=PARTS).few(values)
    assert Units(texts, parts=PARTS).few(values)
    assert Units(texts, parts=PARTS).trained.isdisjoint(rows)


def test_columns_say_the_same_if_each_value_of_both_has_one_of_the_other() -> None:
    topic = ["x", "y", "z"] * 4
    assert are_the_same(topic, [f"of {value}" for value in topic])
    assert not are_the_same(topic, ["of x", "others", "others"] * 4)
    assert not are_the_same(["of x", "others", "others"] * 4, topic)
    assert not are_the_same(topic, ["a", "b", "c", "a", "b", "d"] * 2)


def proposals(
    cells: dict[str, list], *, parts: list | None = None, tags: dict[str, str] | None = None
) -> Proposals:
    rows = [{name: column[n] for name, column in cells.items()} for n in range(COUNT)]
    table = Table(Path("t.jsonl"), tuple(cells), tuple(enumerate(rows, start=1)))
    return Proposals(table, cells, tags or {}, Units(TEXTS, parts=parts), are_named=False)


def test_only_labels_that_are_learned_are_uncertain() -> None:
    often = [-1 if n % 4 == 3 else n % 2 for n in range(COUNT)]
    rare = [-1 if n % 4 == 3 else int(n < 2) for n in range(COUNT)]
    (learned,) = proposals(
        {"often": often, "rare": rare, "other": [n % 2 for n in range(1, COUNT + 1)]}
    ).possible()
    assert learned.columns == {"kind": "binary", "labels": ["often", "other"], "uncertain": "unknown"}
    assert learned.uncertain == {"often": COUNT // 4}
    assert learned.rare == {"rare": 2}


def test_tags_are_in_enough_texts_of_training() -> None:
    def is_learned(rows: list[int], parts: list | None = None) -> bool:
        tags = [["B-X", "O"] if n in rows else ["O", "O"] for n in range(COUNT)]
        cells = {"tags": tags, "words": [["a", f"b{n}"] for n in range(COUNT)]}
        return bool(proposals(cells, parts=parts, tags={"tags": "words"}).possible())

    assert is_learned([*range(FEWEST)])
    assert not is_learned([*range(FEWEST - 1)])
    assert is_learned([*range(FEWEST)], PARTS)
    assert not is_learned([n for n in range(COUNT) if PARTS[n] != "train"], PARTS)


def test_of_several_columns_of_whole_numbers_none_is_chosen() -> None:
    cells = {name: [str(n % number) for n in range(COUNT)] for name, number in (("a", 3), ("b", 2), ("c", 4))}
    classes = [
        Learned({"kind": "multiclass", "target": name}, dict.fromkeys(column, FEWEST))
        for name, column in cells.items()
    ]
    assert choose_learned(classes, cells) == []
    assert choose_learned(classes[1:2], cells) == classes[1:2]


def test_a_name_that_another_task_has_is_left_out_with_the_rare_ones() -> None:
    labels = Learned({"kind": "binary", "label_list": "x"}, {"a": 30, "b": 20, "c": 12}, {"d": 3})
    rest = without(labels, {"b", "c", "e"})
    assert (dict(rest.counts), dict(rest.rare)) == ({"a": 30}, {"b": 20, "c": 12, "d": 3})


def test_columns_of_other_values_are_no_places() -> None:
    numbers = [str(n) for n in range(COUNT)]
    assert places_of({"id": numbers, "part": PARTS}, ["text"]) == {"id": "id", "part": "part"}
    assert places_of({"id": [None, *numbers[1:]]}, ["text"]) == {}
    assert places_of({"by": ["train", "test", "bus", "train"] * 10}, ["text"]) == {}
    assert places_of({"by": ["train", "dev"] * 20}, ["text"]) == {}
    patients = [f"p{n % 20}" for n in range(COUNT)]
    assert places_of({"patient": patients}, ["text"]) == {"group": "patient"}
    most = [name if n >= COUNT // 2 else "p0" for n, name in enumerate(f"p{n}" for n in range(COUNT))]
    assert places_of({"patient": most}, ["text"]) == {}, "one of them has half of the rows"


def test_codes_that_hardly_repeat_or_are_few_are_no_groups() -> None:
    def group(count: int, rows: int) -> object:
        return places_of({"key": [f"K{n % count:03d}" for n in range(rows)]}, ["text"]).get("group")

    assert group(count=60, rows=100) == "key"
    assert group(count=97, rows=100) is None, "6% of the rows"
    assert group(count=25, rows=300) is None, "which may be classes"
