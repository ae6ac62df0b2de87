"""Documents and pairs of texts with three and more paragraphs, entities and relations."""

from __future__ import annotations

from mtlv.data.standoff.losses import Losses
from mtlv.data.standoff.marks import Mark, MarkedText, Relation, documents, paragraphs
from mtlv.data.standoff.relations import relation_examples

TEXT = "one two\n\nthree four\n\nfive six\n\nseven eight nine"


def mark(first: str, last: str = "", type_: str = "X", *names: str) -> Mark:
    return Mark(TEXT.index(first), TEXT.index(last or first) + len(last or first), type_, names)


def marked(*marks: Mark, relations: tuple[Relation, ...] = ()) -> MarkedText:
    return MarkedText("a", TEXT, paragraphs(TEXT), marks, relations)


def test_a_long_entity_joins_paragraphs_also_after_a_short_one() -> None:
    """The entity that begins last may end first."""
    sentences = list(documents(marked(mark("one", "five", "LONG"), mark("two"), mark("eight")), Losses()))
    assert [(sentence.id, " ".join(sentence.words)) for sentence in sentences] == [
        ("a.1", "one two three four five six"),
        ("a.4", "seven eight nine"),
    ]
    assert [tuple(sentence.spans) for sentence in sentences] == [((0, 5, "LONG"),), ((1, 2, "X"),)]


def pairs(text: MarkedText) -> list[tuple[str, str, str]]:
    return [
        (*(example.text[span.start : span.end] for span in example.mentions or ()), example.answer)
        for example in relation_examples([("", text)], Losses())
    ]


def test_mentions_of_one_concept_are_no_pair() -> None:
    marks = [mark("seven", "", "C", "D1"), mark("eight", "", "C", "D1"), mark("nine", "", "C", "D2")]
    relation = Relation("Binds", "D1", "D2", is_directed=False)
    assert pairs(marked(*marks, relations=(relation,))) == [("eight", "nine", "Binds")]


def test_pairs_of_four_entities_have_places_of_their_own_documents() -> None:
    names = ("two", "three", "four", "seven", "nine")
    marks = [mark(name, "", "AB"[at % 2], f"T{at}") for at, name in enumerate(names)]
    relations = Relation("R", "T1", "T2"), Relation("S", "T4", "T3"), Relation("T", "T4", "T3")
    losses = Losses()
    examples = relation_examples([("", marked(*marks, relations=relations))], losses)
    assert [
        (
            example.id,
            *(example.text[span.start : span.end] for span in example.mentions or ()),
            example.answer,
        )
        for example in examples
    ] == [
        ("a.2.9.14.B-15.19.A", "three", "four", "R"),
        ("a.4.31.36.B-43.47.A", "seven", "nine", "S (reversed)"),
    ]
    assert {example.group for example in examples} == {"a"}
    assert losses.count == {"relations left out: an earlier one is of the same entities": {"T": 1}}


def test_an_entity_that_is_marked_three_times_has_the_relations_of_each() -> None:
    marks = [mark("seven", "", "A", f"T{at}") for at in range(3)] + [mark("nine", "", "B", "T3")]
    for name in ("T0", "T1", "T2"):
        relation = Relation("R", name, "T3")
        assert pairs(marked(*marks, relations=(relation,))) == [("seven", "nine", "R")]


def test_relations_without_a_direction_are_one_class_in_both_orders() -> None:
    types = {"one": "A", "two": "B", "seven": "A", "nine": "B"}
    marks = [mark(name, "", type_, name) for name, type_ in types.items()]
    ends = (("one", "two"), ("nine", "seven"))
    for is_directed, second in ((False, "R"), (True, "R (reversed)")):
        relations = tuple(Relation("R", *names, is_directed=is_directed) for names in ends)
        assert pairs(marked(*marks, relations=relations)) == [("one", "two", "R"), ("seven", "nine", second)]
