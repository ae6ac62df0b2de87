"""Vocabularies learned from texts, and encoders that read them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mtlv
from mtlv.data import catalog
from mtlv.data.options import DataOptions
from mtlv.errors import EncoderError
from mtlv.models.encoder import Encoder, load_encoder
from mtlv.models.own_vocabulary import with_random_weights, with_vocabulary
from mtlv.models.wordpiece import (
    SPECIAL,
    fertility,
    learn_vocabulary,
    splittings,
    tokenizer_of,
)
from mtlv.plan.splitting import Splitting

TEXTS = tuple(
    f"The cardiomegaly of patient {n} is cardiac, with Pneumonia and pneumonic signs" for n in range(40)
)
SIZE = 107  # as many as these texts give
SCRIPT = f"""
from mtlv.models.wordpiece import learn_vocabulary
texts = {TEXTS!r}
print(sorted(learn_vocabulary(texts, {SIZE}, lowercase=True).items(), key=lambda item: item[1]))
"""


def test_equal_texts_give_equal_vocabularies_in_every_process() -> None:
    found = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(mtlv.__file__).parents[1],
        ).stdout
        for _ in range(3)
    ]
    assert len(set(found)) == 1


def test_a_vocabulary_has_special_tokens_characters_and_frequent_pieces() -> None:
    found = learn_vocabulary(TEXTS, SIZE, lowercase=True)
    assert len(found) == SIZE
    assert [found[token] for token in SPECIAL] == list(range(5))
    tokenizer = tokenizer_of(found, lowercase=True, max_length=64)
    assert tokenizer.tokenize("Cardiomegaly") == ["cardiomegaly"]
    assert "".join(tokenizer.tokenize("yellow")).replace("##", "") == "yellow", "spelt in characters"
    assert tokenizer.tokenize("ß") == ["[UNK]"]
    assert tokenizer.convert_ids_to_tokens(tokenizer("is").input_ids) == ["[CLS]", "is", "[SEP]"]
    ids = tokenizer("is", "is").input_ids
    assert tokenizer.convert_ids_to_tokens(ids) == ["[CLS]", "is", "[SEP]", "is", "[SEP]"]
    cased = learn_vocabulary(TEXTS, 100, lowercase=False)
    assert "Pneumonia" in cased or "T" in cased
    assert "T" not in found


@pytest.mark.parametrize("size", [20, 5000])
def test_a_size_that_the_texts_cannot_give_is_refused(size: int) -> None:
    with pytest.raises(
        EncoderError, match=rf"`encoder.vocabulary.size` does not fit .*got {size}\); allowed"
    ):
        learn_vocabulary(TEXTS, size, lowercase=True)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("tiny", texts=["cardio megaly the of is signs", "pneumonia car dio"])


def test_new_pieces_are_the_means_of_the_old_ones_that_spell_them(encoder: Encoder) -> None:
    before = {name: weight.clone() for name, weight in encoder.module.state_dict().items()}
    found = with_vocabulary(encoder, TEXTS, SIZE, lowercase=True)
    new, old = found.tokenizer.get_vocab(), encoder.tokenizer.get_vocab()
    weight = found.module.get_input_embeddings().weight
    known = before["embeddings.word_embeddings.weight"]
    assert torch.equal(weight[new["the"]], known[old["the"]])
    for token in SPECIAL:
        assert torch.equal(weight[new[token]], known[old[token]])
    assert torch.equal(weight[new["##a"]], known[old["##a"]]), "of the same name"
    spelt = [old[piece] for piece in encoder.tokenizer.tokenize("cardiomegaly")]
    assert len(spelt) > 1
    torch.testing.assert_close(weight[new["cardiomegaly"]], known[spelt].mean(0))
    torch.testing.assert_close(weight[new["9"]], known.mean(0)), "spelt by none"
    for name, value in encoder.module.state_dict().items():
        assert torch.equal(value, before[name]), "the given encoder is as it was"
        if "word_embeddings" not in name:
            assert torch.equal(found.module.state_dict()[name], value)
    assert found.module.config.vocab_size == len(weight) == SIZE
    assert found.digest != encoder.digest
    assert found.notes[-1].startswith(f"a vocabulary of {SIZE} pieces: ")
    assert "; before " in found.notes[-1]


def test_a_longer_piece_that_continues_a_word_is_spelt_by_pieces_that_continue_one(encoder: Encoder) -> None:
    found = with_vocabulary(encoder, TEXTS, SIZE, lowercase=True)
    new, old = found.tokenizer.get_vocab(), encoder.tokenizer.get_vocab()
    known = encoder.module.get_input_embeddings().weight
    piece = next(name for name in new if name.startswith("##") and len(name) == 4 and name not in old)
    letters = [old[f"##{letter}"] for letter in piece[2:]]
    torch.testing.assert_close(found.module.get_input_embeddings().weight[new[piece]], known[letters].mean(0))


def test_random_weights_are_equal_in_every_run_and_of_the_same_size(encoder: Encoder) -> None:
    found, again = with_random_weights(encoder), with_random_weights(encoder)
    assert found.digest == again.digest != encoder.digest
    assert found.module.config == encoder.module.config
    assert found.tokenizer is encoder.tokenizer
    weight = found.module.state_dict()["encoder.layer.0.output.dense.weight"]
    assert weight.std() == pytest.approx(found.module.config.initializer_range, rel=0.05)


def test_fertility_by_hand() -> None:
    vocabulary = {piece: n for n, piece in enumerate((*SPECIAL, "heart", "lung", "##s", "is"))}
    tokenizer = tokenizer_of(vocabulary, lowercase=True, max_length=64)
    found = fertility(tokenizer, ["heart is lungs", "unknown lungs"])
    assert found == {"pieces_per_word": 7 / 5, "split_words": 2 / 5, "unknown_words": 1 / 5}


def test_words_that_the_old_vocabulary_splits_are_found_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(*pieces: str) -> Any:
        vocabulary = {piece: n for n, piece in enumerate((*SPECIAL, *pieces))}
        return tokenizer_of(vocabulary, lowercase=True, max_length=64)

    old, new = (
        of("heart", "lung", "##s", "rib", "hi", "##la", "##r"),
        of("heart", "lungs", "rib", "##s", "hilar"),
    )
    texts = ["Ribs, lungs; heart heart heart", "hilar lungs 12"]
    found = splittings(old, new, texts)
    assert found == (
        Splitting("lungs", 2, ("lung", "s"), ("lungs",)),
        Splitting("hilar", 1, ("hi", "la", "r"), ("hilar",)),
        Splitting("ribs", 1, ("rib", "s"), ("rib", "s")),
    )
    monkeypatch.setattr("mtlv.models.wordpiece.MOST_WORDS", 1)
    assert splittings(old, new, texts) == found[:1]


@pytest.mark.slow
@pytest.mark.real_data
def test_words_of_ohsumed_are_split_as_published(real_data: Path) -> None:
    """The second paper prints BERT's pieces of two words, which a vocabulary of the domain keeps whole."""
    corpus = catalog.load(
        "ohsumed", DataOptions(path=real_data / "ohsumed" / "ohsumed-first-20000-docs.tar.gz")
    )
    order = np.random.default_rng(0).permutation(len(corpus))
    held, texts = ([corpus.texts[n] for n in rows] for rows in (order[:400], order[len(order) // 10 :]))
    theirs = load_encoder("minilm").tokenizer
    assert theirs.tokenize("lymphoma") == ["l", "##ym", "##ph", "##oma"]
    assert theirs.tokenize("acetyltransferase") == ["ace", "##ty", "##lt", "##ran", "##sf", "##eras", "##e"]
    own = tokenizer_of(learn_vocabulary(texts, 30_000, lowercase=True), lowercase=True, max_length=512)
    assert own.tokenize("lymphoma") == ["lymphoma"]
    assert own.tokenize("acetyltransferase") == ["acetyltransferase"]
    for tokenizer, pieces, split in ((theirs, 1.259, 0.127), (own, 1.041, 0.028)):
        found = fertility(tokenizer, held)
        assert found["pieces_per_word"] == pytest.approx(pieces, abs=0.02)
        assert found["split_words"] == pytest.approx(split, abs=0.01)
        assert found["unknown_words"] == 0
