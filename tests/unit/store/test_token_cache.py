"""Tokens in the store: made once, for exactly what is read, and never in the way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtlv.data.source import Corpus
from mtlv.models.encoder import Encoder, load_encoder
from mtlv.plan import Task
from mtlv.store.garbage import leftovers
from mtlv.store.local import Store
from mtlv.store.token_cache import TokenCache
from mtlv.units import input_cache as module
from mtlv.units.input_cache import tokens_of

TEXTS = ("the heart is large", "the lungs are clear", "no fracture of the spine is seen")


@pytest.fixture
def corpus() -> Corpus:
    targets = {"a": np.array([0, 1, 1], np.int8)}
    return Corpus("made", (Task("a"),), tuple("123"), TEXTS, targets)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("tiny", texts=TEXTS)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Documents of each tokenisation."""
    found: list[int] = []
    plain = module.tokenize_documents

    def counted(texts: list, *args: object, **more: object) -> Iterator[module.Tokens]:
        found.append(len(texts))
        return plain(texts, *args, **more)

    monkeypatch.setattr(module, "tokenize_documents", counted)
    return found


def test_a_corpus_is_tokenised_once(corpus: Corpus, encoder: Encoder, made: list, tmp_path: Path) -> None:
    first = tokens_of(encoder, corpus, 16, kept=TokenCache(tmp_path))
    second = tokens_of(encoder, corpus, 16, kept=TokenCache(tmp_path))
    assert made == [3]
    assert second.ids.tolist() == first.ids.tolist() == tokens_of(encoder, corpus, 16).ids.tolist()
    assert second.truncated == first.truncated


def test_other_texts_lengths_and_tokenizers_are_other_tokens(
    corpus: Corpus, encoder: Encoder, made: list, tmp_path: Path
) -> None:
    kept = TokenCache(tmp_path)
    other = load_encoder("tiny", texts=TEXTS[:1])
    for given in (
        (encoder, corpus, 16),
        (encoder, corpus, 6),
        (encoder, replace(corpus, texts=TEXTS[::-1]), 16),
        (other, corpus, 16),
    ):
        tokens_of(*given, kept=kept)
    assert len(made) == len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize(
    "harm",
    [lambda c: c[:-4], lambda c: b"", lambda c: c.replace(b'"pad": 0', b'"pad": 1')],
    ids=["cut", "empty", "another pad"],
)
def test_a_damaged_file_is_made_again_with_one_line(
    corpus: Corpus, encoder: Encoder, made: list, tmp_path: Path, harm: Callable[[bytes], bytes]
) -> None:
    said: list[str] = []
    kept = TokenCache(tmp_path, said.append)
    wanted = tokens_of(encoder, corpus, 16, kept=kept)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    assert not said
    assert harm(whole) != whole
    del wanted
    path.unlink()
    path.write_bytes(harm(whole))
    for _ in range(2):
        found = tokens_of(encoder, corpus, 16, kept=kept)
        assert (found.ids.tolist(), found.pad) == (tokens_of(encoder, corpus, 16).ids.tolist(), 0)
    assert len(said) == 1
    assert said[0].startswith(f"the file of tokens {path} is damaged (")
    assert said[0].endswith("it is created again")
    assert path.read_bytes() == whole


def test_where_nothing_can_be_written_tokens_are_in_memory(
    corpus: Corpus, encoder: Encoder, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert len(tokens_of(encoder, corpus, 16, kept=TokenCache(tmp_path / "file"))) == 3


def test_clean_lists_tokens_that_nobody_asked_for(corpus: Corpus, encoder: Encoder, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    tokens_of(encoder, corpus, 16, kept=TokenCache(store.tokens))
    asked = TokenCache(store.tokens)
    tokens_of(encoder, corpus, 8, kept=asked)
    assert leftovers(store) == []
    (found,) = leftovers(store, set(), asked)
    assert found.why == "tokens that none of the configs needs"
    half = store.tokens / ".x.tokens-y"
    half.write_bytes(b"x")
    assert leftovers(store) == []  # it may just be written
    os.utime(half, (0, 0))
    (found,) = leftovers(store)
    assert found.path == half
