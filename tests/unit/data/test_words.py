"""Words of texts that nobody has split, and the rule by which others split theirs."""

from __future__ import annotations

import time

import pytest

from mtlv.data.words import (
    RULES,
    RUNS,
    WHITESPACE,
    Agreement,
    Words,
    best_rule,
    place_words,
    prose_of,
    split_words,
)


def test_each_sign_is_a_word_and_blanks_are_none() -> None:
    found = split_words("IL-2,\nα_1  is 0.5%")
    assert list(found) == ["IL", "-", "2", ",", "α_1", "is", "0", ".", "5", "%"]
    assert [found.text[start:end] for start, end in found.places] == list(found)
    assert len(split_words(" \t")) == 0


def test_a_part_of_a_text_has_places_in_the_whole() -> None:
    assert split_words("one two three", 4, 7) == Words("one two three", ((4, 7),))


def test_words_are_found_in_their_order() -> None:
    text = "the heart, the lung"
    found = place_words(["the", "heart,", "the", "lung"], text)
    assert found == Words(text, ((0, 3), (4, 10), (11, 14), (15, 19)))
    assert place_words(["lung", "heart"], text) is None
    assert place_words(["the", "the", "the"], text) is None


SENTENCES = {  # each has words that the rules before it split otherwise
    "runs": ["IL - 2 ( fast ) , mg / kg .", "He ' s 5 % better ."],
    "inner": ["IL-2 ( fast ) , mg / kg .", "He's 0.5 % better , no . 5 ."],
    "edges": ["IL-2 ( fast ) , mg/kg .", "p<0.05 % better , no . 5 ."],
    "abbreviations": ["IL-2 ( fast ) , mg/kg .", "The patient no. 5 is better . He went ."],
    "treebank": ["IL-2 ( fast ) , ca n't .", "Mr. Smith 's no. 5 is better ."],
    "marks": ["CD4+ ( fast ) , Ca2+ .", "p<0.05 and 5% are better , IFN- or -II ."],
    "characters": ["阿 司 匹 林 引 起 头 痛 。", "肺 炎 。"],
    "whitespace": ["IL-2 (fast), mg/kg.", "He's better: no."],
}


@pytest.mark.parametrize("rule", SENTENCES)
def test_the_rule_that_made_words_is_recognized_and_makes_them_again(rule: str) -> None:
    documents = [tuple(sentence.split()) for sentence in SENTENCES[rule]]
    assert best_rule((words, None) for words in documents) == Agreement(rule, 1.0)
    for words in documents:
        assert tuple(split_words(prose_of(words), rule=rule)) == words


def test_the_share_counts_documents_that_a_rule_splits_exactly_so() -> None:
    usual, other = ("IL-2", "and", "p53", "."), ("no", "reaction-", "at", "all", "-", ".")
    assert best_rule([(usual, None)] * 3 + [(other, None)]) == Agreement("inner", 0.75)
    assert best_rule([]).rule == RUNS


def test_words_are_compared_in_the_text_that_they_are_from() -> None:
    words = ("IL", "-", "2", "binds")
    assert best_rule([(words, "IL-2 binds")]).share == 1
    text = "see (IL-2)"
    assert best_rule([(("see", "(IL-2)"), text)]) == Agreement(WHITESPACE, 1.0)
    assert best_rule([(words, "another text")]).rule == RUNS  # then as without a text


def test_prose_has_no_spaces_before_punctuation_within_brackets_and_quotes() -> None:
    quoted = """He said , " IL - 2 is fast " ( or " not " ) ; 5 % : it 's so ."""
    words = quoted.split()
    assert prose_of(words) == 'He said, "IL-2 is fast" (or "not"); 5%: it\'s so.'
    assert prose_of(["肺", "炎", "。", "IL-2"]) == "肺炎。 IL-2"
    assert prose_of([]) == ""


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "text", ["a" + ")" * 50_000, "(" * 50_000 + "a", "a." * 25_000, "a" * 50_000, ". " * 25_000]
)
def test_long_texts_are_split_in_time(rule: str, text: str) -> None:
    began = time.perf_counter()
    words = split_words(text, rule=rule)
    assert "".join(words) == text.replace(" ", "")
    assert time.perf_counter() - began < 2
