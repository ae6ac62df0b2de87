"""Places of three entities and more in one text, whose offsets are in units that most of them agree on."""

from __future__ import annotations

import pytest

from mtlv.data.standoff.losses import Losses
from mtlv.data.standoff.marks import Mark
from mtlv.data.standoff.offsets import FROM_ONE, WrittenEntity, place_marks

TEXT = "\n😀😀 é\n\nfever, mild rash, severe cough"  # each unit has other offsets of every name
NAMES = ("fever", "rash", "cough")
UNITS = {
    "UTF-16 code units": lambda text: len(text.encode("utf-16-le")) // 2,
    "bytes of UTF-8": lambda text: len(text.encode()),
    "characters, an end of line as two": lambda text: len(text) + text.count("\n"),
    FROM_ONE: lambda text: len(text) + 1,
    "": len,
}


def at(name: str, unit: str = "") -> WrittenEntity:
    """Return an entity at the offsets of its name in TEXT."""
    start = TEXT.index(name)
    count = UNITS[unit]
    return WrittenEntity([(count(TEXT[:start]), count(TEXT[: start + len(name)]))], name, name.upper(), name)


def names_of(marks: tuple[Mark, ...]) -> list[str]:
    return [TEXT[mark.start : mark.end] for mark in marks]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("other", UNITS)
def test_the_unit_of_most_entities_is_taken_and_the_others_are_left_out(unit: str, other: str) -> None:
    """Two of three entities are in one unit, the first one in another."""
    losses = Losses()
    marks = place_marks(TEXT, [at("fever", other), at("rash", unit), at("cough", unit)], losses)
    assert names_of(marks) == [*["fever"] * (unit == other), "rash", "cough"]
    assert len(losses.wrong) == losses.read.total() == int(unit != other)
    counts = {event: types.total() for event, types in losses.count.items()}
    wrong = {"entities left out: another text is at their offsets": 1} if unit != other else {}
    assert counts == wrong | ({f"entities have offsets in {unit}": len(marks)} if unit else {})


def test_of_equals_characters_are_taken() -> None:
    entities = [at("fever"), at("rash", "bytes of UTF-8")]
    assert names_of(place_marks(TEXT, entities, Losses())) == ["fever"]


def test_an_offset_within_a_character_is_wrong() -> None:
    entities = [at(name, "UTF-16 code units") for name in NAMES]
    within = WrittenEntity([(2, 3)], "😀", "FACE", "line 4")
    losses = Losses()
    assert names_of(place_marks(TEXT, [*entities, within], losses)) == list(NAMES)
    assert [str(error)[:8] for error in losses.wrong] == ["`line 4`"]


def test_parts_may_be_in_any_order_and_are_joined_over_white_space_alone() -> None:
    text = "left and right knee\n  pain, then rash"
    places = {
        name: (text.index(name), text.index(name) + len(name)) for name in text.replace(",", "").split()
    }
    parted = [places["knee"], places["pain"], places["left"]]
    joined = [places["pain"], places["knee"]]
    entities = [
        WrittenEntity(parted, "left knee pain", "A", "1", ("T1", "T9")),
        WrittenEntity(joined, "knee pain", "B", "2", ("T2",)),
        WrittenEntity([places["rash"]], "rash", "C", "3", ("T3",)),
    ]
    losses = Losses()
    assert place_marks(text, entities, losses) == (
        Mark(0, places["pain"][1], "A", ("T1", "T9")),
        Mark(places["knee"][0], places["pain"][1], "B", ("T2",)),
        Mark(*places["rash"], "C", ("T3",)),
    )
    assert {event: dict(types) for event, types in losses.count.items()} == {
        "entities in several parts, read from the first to the last": {"A": 1}
    }
