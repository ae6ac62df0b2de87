"""Tokens on disk: every field comes back, and what is torn is not read."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from mtlv.data import tokens as module
from mtlv.data.columns import RaggedColumn
from mtlv.data.token_file import DamagedTokens, read_tokens, write_tokens
from mtlv.data.tokens import NO_WORD, Tokens, tokenise
from mtlv.models.tiny import build_tiny
from mtlv.plan.spans import Span

TEXTS = [f"the heart is {'very ' * (n % 7)}large in case {n}" for n in range(50)]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return build_tiny(TEXTS)[1]


def read(tokenizer: PreTrainedTokenizerFast, kind: str) -> Tokens:
    how = {"max_length": 12, "pad": 0}
    if kind == "words":
        return tokenise([text.split() for text in TEXTS], tokenizer, **how)
    if kind == "pairs":
        return tokenise(TEXTS, tokenizer, seconds=TEXTS[::-1], **how)
    if kind == "mentions":
        return tokenise(TEXTS, tokenizer, mentions=[(Span(4, 9, "X"),)] * len(TEXTS), **how)
    return tokenise(TEXTS, tokenizer, **how, overlap=1 if kind == "windows" else None)


KINDS = ("texts", "words", "pairs", "mentions", "windows")


def same(one: Tokens, other: Tokens) -> None:
    for field in fields(Tokens):
        ours, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(theirs, RaggedColumn):
            assert ours.fill == theirs.fill
            np.testing.assert_array_equal(ours.flat, theirs.flat, strict=True)
            np.testing.assert_array_equal(ours.offsets, theirs.offsets, strict=True)
        elif isinstance(theirs, np.ndarray):
            np.testing.assert_array_equal(ours, theirs, strict=True)
        else:
            assert ours == theirs


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_comes_back(tokenizer: PreTrainedTokenizerFast, kind: str, tmp_path: Path) -> None:
    made = read(tokenizer, kind)
    write_tokens(tmp_path / "a.tokens", [made])
    found = read_tokens(tmp_path / "a.tokens")
    assert found is not None
    assert isinstance(found.ids, np.memmap)
    same(found, made)
    index = np.array([3, 0, 49])
    for ours, theirs in zip(found.pad_rows(index), made.pad_rows(index), strict=True):
        assert ours.tolist() == theirs.tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["a.tokens"]
    with pytest.raises(ValueError, match="read-only"):
        found.ids[0] = 1


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_written_as_one(
    tokenizer: PreTrainedTokenizerFast, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(tokenizer, kind)
    write_tokens(tmp_path / "a.tokens", [whole])
    parts: list[Tokens] = []
    monkeypatch.setattr(module, "CHUNK", 7)
    monkeypatch.setattr(module, "join_tokens", lambda given: parts.extend(given) or whole)
    read(tokenizer, kind)
    assert len(parts) == 8
    monkeypatch.undo()
    write_tokens(tmp_path / "b.tokens", iter(parts))
    assert (tmp_path / "b.tokens").read_bytes() == (tmp_path / "a.tokens").read_bytes()
    found = read_tokens(tmp_path / "b.tokens")
    assert found is not None
    same(found, whole)


def test_a_call_of_the_tokenizer_has_few_characters(
    tokenizer: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []

    def heard(texts: list[str], **how: object) -> object:
        calls.append(texts)
        return tokenizer(texts, **how)

    monkeypatch.setattr(module, "CHARACTERS", 100)
    tokenise(TEXTS, heard, max_length=12, pad=0)
    assert [text for call in calls for text in call] == TEXTS
    assert len(calls) > 10
    assert all(sum(map(len, call[:-1])) < 100 <= sum(map(len, call)) for call in calls[:-1])


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_do_not_show(
    tokenizer: PreTrainedTokenizerFast, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(tokenizer, kind)
    monkeypatch.setattr(module, "CHUNK", 7)
    same(read(tokenizer, kind), whole)


def test_a_damaged_file_is_not_read(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    path = tmp_path / "a.tokens"
    write_tokens(path, [read(tokenizer, "pairs")])
    content = path.read_bytes()
    for size in (0, 5, 20, 60, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(DamagedTokens):
            read_tokens(path)
    path.write_bytes(content[:-3] + b"\x07" + content[-2:])
    with pytest.raises(DamagedTokens, match="its checksum does not match"):
        read_tokens(path)


def test_every_changed_byte_of_a_header_is_found(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    """Also in what says how the arrays are read: the id that pads, their types."""
    path = tmp_path / "a.tokens"
    write_tokens(path, [read(tokenizer, "pairs")])
    content = path.read_bytes()
    end = content.index(b"}}") + 2
    for at in range(end):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(DamagedTokens):
            read_tokens(path)


def test_a_file_that_is_not_there_is_none_and_no_damage(tmp_path: Path) -> None:
    assert read_tokens(tmp_path / "none") is None


def test_documents_without_words_are_kept(tmp_path: Path) -> None:
    words = RaggedColumn.of([(), ()], fill=NO_WORD)
    made = Tokens(np.array([5, 6], np.int32), np.array([0, 1, 2]), 0, 0, words=words)
    write_tokens(tmp_path / "a.tokens", [made])
    found = read_tokens(tmp_path / "a.tokens")
    assert found is not None
    same(found, made)


def test_nothing_is_left_of_what_could_not_be_written(tmp_path: Path) -> None:
    made = Tokens(np.array([5], np.int32), np.array([0, 1]), 0, 0)
    (tmp_path / "a.tokens").mkdir()
    with pytest.raises(OSError, match=r"a\.tokens"):
        write_tokens(tmp_path / "a.tokens", [made])
    assert [path.name for path in tmp_path.iterdir()] == ["a.tokens"]
