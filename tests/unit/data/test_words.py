"""Words of texts that nobody has split."""

from __future__ import annotations

from mtlv.data.words import Words, placed_words, split_words


def test_each_sign_is_a_word_and_blanks_are_none() -> None:
    found = split_words("IL-2,\nα_1  is 0.5%")
    assert list(found) == ["IL", "-", "2", ",", "α_1", "is", "0", ".", "5", "%"]
    assert [found.text[start:end] for start, end in found.places] == list(found)
    assert len(split_words(" \t")) == 0


def test_a_part_of_a_text_has_places_in_the_whole() -> None:
    assert split_words("one two three", 4, 7) == Words("one two three", ((4, 7),))


def test_words_are_found_in_their_order() -> None:
    text = "the heart, the lung"
    found = placed_words(["the", "heart,", "the", "lung"], text)
    assert found == Words(text, ((0, 3), (4, 10), (11, 14), (15, 19)))
    assert placed_words(["lung", "heart"], text) is None
    assert placed_words(["the", "the", "the"], text) is None
