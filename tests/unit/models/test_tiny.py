"""`tiny` is the same encoder in every process: its digest enters the key of every unit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mtlv.models.encoder import load_encoder
from mtlv.models.tiny import SPECIAL, VOCABULARY, _vocabulary, build_tiny

ROOT = Path(__file__).resolve().parents[3]
TEXTS = [f"word{i} and others{i % 7} of the heart" for i in range(50)]


@pytest.fixture(scope="module", autouse=True)
def narrow_tiny():
    """Other processes have the real one."""


def test_two_processes_build_the_same_encoder():
    """Of which each has its own order of sets, unless they are told another one."""
    script = (
        f"from mtlv.models.encoder import load_encoder; print(load_encoder('tiny', texts={TEXTS}).digest)"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == load_encoder("tiny", texts=TEXTS).digest, done.stderr


def test_vocabulary_by_hand():
    found = _vocabulary({"aab": 1, "b": 5, "ca": 1})
    assert list(found) == [*SPECIAL, "b", "a", "c", "##b", "##a", "##c", "aab", "ca"]
    assert list(found.values()) == list(range(len(found)))


def test_vocabulary_is_bounded_and_keeps_room_for_words():
    found = _vocabulary({chr(0x4E00 + i) * 2: 1 for i in range(5000)})
    assert len(found) == VOCABULARY
    assert sum(len(piece) == 2 for piece in found) >= VOCABULARY // 4


def test_any_word_can_be_read():
    _, tokenizer = build_tiny(["The heart, enlarged.", "the heart"])
    assert tokenizer.tokenize("the Heart") == ["the", "heart"]
    assert tokenizer.tokenize("earth") == ["e", "##a", "##r", "##t", "##h"]
    assert tokenizer.tokenize("ß") == ["[UNK]"]
