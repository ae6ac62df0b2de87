"""Which texts are the same: whatever their case, blanks or punctuation, not with other numbers or symbols."""

from __future__ import annotations

import numpy as np
import pytest

from mtlv.data.repeats import plain, repeats_of
from mtlv.data.source import Corpus
from mtlv.plan.task import Task


def corpus(texts: list[str], seconds: list[str] | None = None, name: str = "made") -> Corpus:
    return Corpus(
        name,
        (Task(name),),
        tuple(map(str, range(len(texts)))),
        tuple(texts),
        {name: np.zeros(len(texts), np.int8)},
        seconds=None if seconds is None else tuple(seconds),
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The heart is large.", "the HEART  is\tlarge"),
        ("No effusion , no mass .", "No effusion, no mass."),
        ("“Straße”", "STRASSE"),
        ("COX-2 (inhibitor)", "cox 2 inhibitor"),
        ("a\u00a0b", "a b"),
        ("co\u00adoperate", "cooperate"),
        ("ﬁne, cafe\u0301", "fine café"),
        ("１．５ mg", "1.5 mg"),
        ("10\N{EN DASH}20 mg", "10-20 mg"),
        ("p<.05", "p < .05"),
        ("T=\N{MINUS SIGN}5", "t = -5"),
        ("5% of them", "5 % of them."),
        ("5°C", "5 °C"),
        ("It was 5.", "it was 5"),
        ("snake_case", "snake case"),
    ],
)
def test_case_blanks_and_punctuation_make_no_other_text(one: str, other: str) -> None:
    assert plain(one) == plain(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.5 mg", "15 mg"),
        ("1.5 mg", "1 5 mg"),
        ("1,000", "1.000"),
        (".5 mg", "5 mg"),
        ("-5 °C", "5 °C"),
        ("(-.5)", "(.5)"),
        ("10² cells", "102 cells"),
        ("1/2", "1 2"),
        ("12:30", "12 30"),
        ("5 %", "5"),
        ("CD4+ cells", "CD4- cells"),
        ("p < 0.05", "p > 0.05"),
        ("कि", "का"),
        ("good 😀", "good 😡"),
        ("cooperate", "co operate"),
        ("...", "?!"),
        ("...", ""),
        (" ", "."),
    ],
)
def test_numbers_symbols_and_bare_punctuation_are_other_texts(one: str, other: str) -> None:
    assert plain(one) != plain(other)


def test_what_is_left_is_words_numbers_and_symbols_with_a_blank_between() -> None:
    assert plain("(-.5 | COX-2,  1.5/2.)") == "-.5 | cox 2 1.5/2"


def test_texts_are_numbered_as_they_come_exactly_and_nearly() -> None:
    found = repeats_of([corpus(["b", "a", "B.", "b", "..", "!"])])
    assert found.exact.tolist() == [[n, n] for n in (0, 1, 2, 0, 3, 4)]
    assert found.near.tolist() == [[n, n] for n in (0, 1, 0, 0, 2, 3)]
    assert found.documents.exact.tolist() == [0, 1, 2, 0, 3, 4]
    assert found.documents.near.tolist() == [0, 1, 0, 0, 2, 3]


def test_a_pair_is_the_same_where_both_of_its_texts_are() -> None:
    found = repeats_of([corpus(["p", "p", "P!", "q", "h"], ["h", "g", "H", "h", "p"])]).documents
    assert found.near.tolist() == [0, 1, 0, 2, 3]
    assert found.exact.tolist() == [0, 1, 2, 3, 4]


def test_texts_of_several_corpora_have_the_same_numbers() -> None:
    found = repeats_of([corpus(["p"], ["h"]), corpus(["H.", "h", "x"], name="other")])
    assert found.near.tolist() == [[0, 1], [1, 1], [1, 1], [2, 2]]
    assert found.exact.tolist() == [[0, 2], [1, 1], [2, 2], [3, 3]]
