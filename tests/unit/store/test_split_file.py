"""Splits that are written and read back."""

import json
from dataclasses import replace

import numpy as np
import pytest

from mtlv.data.folds import folds_digest
from mtlv.data.source import PARTS, Corpus
from mtlv.data.splits import make_folds
from mtlv.plan.task import Task
from mtlv.store.split_file import load_folds, save_folds


def random_corpus(n=500, seed=0):
    random = np.random.default_rng(seed)
    targets = {name: (random.random(n) < rate).astype(np.int8) for name, rate in (("a", 0.3), ("b", 0.1))}
    ids, texts = ([f"{what} {i}" for i in range(n)] for what in ("d", "text"))
    return Corpus("made", tuple(map(Task, targets)), tuple(ids), tuple(texts), targets)


def test_saved_folds_come_back(tmp_path):
    corpus = random_corpus()
    folds = make_folds(corpus, folds=3)
    path = tmp_path / "splits" / "folds.json"
    save_folds(path, corpus, folds)
    back = load_folds(path, pytest.fail)
    assert folds_digest(corpus, back) == folds_digest(corpus, folds)
    assert back[1].notes == folds[1].notes
    assert all(np.array_equal(a.part(p), b.part(p)) for a, b in zip(folds, back, strict=True) for p in PARTS)
    saved = json.loads(path.read_text())
    row = int(folds[0].validation[0])
    assert saved["folds"][0]["documents"][row] == "v"
    assert [file.name for file in path.parent.iterdir()] == ["folds.json"]


def test_saved_folds_leave_out_what_was_left_out(tmp_path):
    corpus = random_corpus()
    (fold,) = make_folds(corpus)
    fold = replace(fold, train=fold.train[3:])
    save_folds(tmp_path / "f.json", corpus, (fold,))
    (back,) = load_folds(tmp_path / "f.json", pytest.fail)
    assert back.train.tolist() == fold.train.tolist()


@pytest.mark.parametrize("place", [5, 300, 700, 1200, -30])
def test_a_flipped_bit_moves_a_split_aside(tmp_path, place):
    corpus = random_corpus()
    path = tmp_path / "f.json"
    save_folds(path, corpus, make_folds(corpus, folds=3))
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    warnings = []
    assert load_folds(path, warnings.append) is None
    assert "f.json.damaged" in warnings[0]
    assert [file.name for file in tmp_path.iterdir()] == ["f.json.damaged"]
