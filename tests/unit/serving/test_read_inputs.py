"""Rows as a task reads them: those that cannot be read are left out, and named by their fault."""

from __future__ import annotations

import pytest

from mtlv.errors import DataError
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.serving.inputs import MENTIONS, SECOND, WORDS, InputSchema
from mtlv.serving.read_inputs import Query, QueryDocuments, read_documents
from mtlv.serving.texts import InputTexts

LINES = (2, 3, 5, 6, 7, 9)  # of rows in a file with blank lines
PAIRS = InputSchema(max_length=9, reads=(SECOND,))
TAGS = InputSchema(max_length=9, reads=(WORDS,), rule="inner")
MARKED = InputSchema(
    max_length=9, reads=(MENTIONS,), shown="dummy", roles=("Drug", "Sign", "Place"), mentions=3
)


def read(schema: InputSchema, texts: tuple[object, ...], **more: tuple[object, ...]) -> QueryDocuments:
    return read_documents(Query(InputTexts(texts, LINES[: len(texts)], "line", more), schema, "task"))


def test_documents_keep_their_rows_and_second_texts() -> None:
    seconds = ("A", "B", None, "D", 5, "F")
    result = read(PAIRS, ("a", None, "c", "d", "e", "f"), text_pair=seconds)
    assert result.rows.tolist() == [0, 3, 5]
    assert {row: (document.text, document.second) for row, document in result.documents.items()} == {
        0: ("a", "A"),
        3: ("d", "D"),
        5: ("f", "F"),
    }
    corpus = result.corpus([Task("task")])
    assert (corpus.ids, corpus.texts, corpus.seconds) == (("0", "3", "5"), ("a", "d", "f"), ("A", "D", "F"))


def test_each_kind_of_fault_has_a_note_with_its_lines() -> None:
    seconds = ("A", "B", None, "D", 5, None)
    result = read(PAIRS, (None, 3, "c", "d", "e", "f"), text_pair=seconds)
    assert result.rows.tolist() == [3]
    beginnings = [note.split(";")[0] for note in result.notes]
    assert beginnings == [
        "1 empty answer: there is no text at line 2.",
        "1 empty answer: the input is not text at line 3 (got 3)",
        "2 empty answers: task `task` needs `text_pair`, which is missing at line 5",
        "1 empty answer: `text_pair` of task `task` at line 7 (got 5)",
    ]
    assert "also at line 9" in result.notes[2]


def test_rows_without_any_text_are_empty_and_others_an_error() -> None:
    result = read(PAIRS, (None, "", " \n"))
    assert (result.rows.tolist(), len(result.notes)) == ([], 1)
    with pytest.raises(DataError, match="there is no text at line 2") as raised:
        read(PAIRS, (None, "b", 7))
    assert "needs `text_pair`" in str(raised.value)
    assert "the input is not text at line 5" in str(raised.value)


def test_words_are_given_or_split_by_the_rule_of_training_in_their_rows() -> None:
    texts = ("IL-2 binds", "no fever, no rash", "x", None, "a-b c", "an end.")
    cells = (None, ["no", "fever", ",", "no rash"], ["y"], ["z"], None, '["an", "end", "."]')
    result = read(TAGS, texts, words=cells)
    assert result.rows.tolist() == [0, 1, 4, 5]
    assert [list(words) for words in result.words(6)] == [
        ["IL-2", "binds"],
        ["no", "fever", ",", "no rash"],
        [],
        [],
        ["a-b", "c"],
        ["an", "end", "."],
    ]
    assert result.split == 2
    (note,) = (note for note in result.notes if "no text" not in note)
    assert note.startswith("1 empty answer: `words` of task `task` at line 5 (got y)")


@pytest.mark.parametrize(
    ("mentions", "allowed"),
    [
        ([[0, 1, "Drug"]] * 4, "got 4 entities"),
        ([[0, 1, "Drug"], [2, 3, "Sign"], [4, 12, "Place"]], "places in its text of 11 characters"),
        ([[0, 1, "Drug"], [2, 2, "Sign"]], "places in its text"),
        ([[0, 1, "Drug"], [2, 3, "Gene"]], "the roles Drug, Sign, Place"),
        ([[0, 1, "Drug"], [2, 3]], "a role with each"),
    ],
)
def test_entities_of_other_places_or_roles_are_named(mentions: list, allowed: str) -> None:
    good = [[0, 1, "Drug"], [2, 3, "Sign"], [4, 11, "Place"]]
    result = read(MARKED, ("a b at home",) * 3, mentions=(good, mentions, good))
    assert result.rows.tolist() == [0, 2]
    (note,) = result.notes
    assert "at line 3" in note
    assert allowed in note
    spans = tuple(Span(*place) for place in good)
    assert result.corpus([Task("task")]).mentions == (spans, spans)


def test_entities_that_a_text_shows_are_in_the_order_of_their_roles() -> None:
    text = "in @Place$ @Sign$ by @Drug$"
    result = read(MARKED, (text, "no entity"))
    assert result.rows.tolist() == [0]
    mentions = result.documents[0].mentions or ()
    assert [(text[a:b], role) for a, b, role in mentions] == [
        ("@Drug$", "Drug"),
        ("@Sign$", "Sign"),
        ("@Place$", "Place"),
    ]


def test_faults_of_one_column_that_allow_other_things_have_a_note_each() -> None:
    good, outside, unknown = ([[0, 1, "Drug"]], [[0, 99, "Drug"]], [[0, 1, "Gene"]])
    mentions = (outside, unknown, good, unknown, outside)
    notes = read(MARKED, ("a b",) * 5, mentions=mentions).notes
    assert [note.partition("allowed: ")[2].split()[0] for note in notes] == ["places", "the"]
    assert "at line 2; also at line 7" in notes[0]
    assert "at line 3; also at line 6" in notes[1]
