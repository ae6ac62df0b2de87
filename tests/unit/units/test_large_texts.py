"""A corpus of texts is not held in memory, from reading to training, and nothing else depends on it."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from mtlv.data import tokens
from mtlv.data.options import Columns
from mtlv.data.tables.corpus import table_corpus
from mtlv.data.tables.rows import read_table
from mtlv.events import ignore
from mtlv.models.encoder import load_encoder
from mtlv.planning.resolve import resolve
from mtlv.settings import load_suite
from mtlv.store.checkpoints import Checkpoints
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache, tokens_of
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks

CONFIG = """\
experiment: x
data: {name: table, path: texts.txt, columns: {kind: mlm}, max_length: 128}
encoder: ENCODER
training: {epochs: 1, batch_size: 8, precision: fp32}
"""
SMALL, LARGE = 0.5, 2.5  # MB
MOST = 0.12  # of the difference in size; the ids of the tokens alone are 0.3 of it
WORDS = ["".join("abcdefghij"[int(digit)] for digit in f"{n:012d}") for n in range(300)]


def write(path: Path, megabytes: float) -> int:
    rng = np.random.default_rng(0)
    words = np.array(WORDS)
    with path.open("w") as file:
        while file.tell() < megabytes * 1e6:
            file.writelines(" ".join(words[row]) + "\n" for row in rng.integers(300, size=(20, 400)))
    return path.stat().st_size


@dataclass
class Meter:
    """The most that Python and NumPy hold in each stage, without what was there before it."""

    found: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        gc.collect()
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        yield
        self.found[name] = tracemalloc.get_traced_memory()[1] - before


def use(folder: Path, store: str) -> dict[str, int]:
    """Read, divide, tokenise, make batches and train."""
    meter, cache = Meter(), InputCache(Store(folder / store))
    (member,) = load_suite(folder / "c.yml").members
    data = member.settings.data
    with meter.stage("read"):
        cache.corpus(data)
    with meter.stage("divide"):
        cache.folds(data)
    encoder = cache.encoder(member.settings.encoder, data)
    with meter.stage("tokenise"):
        assert len(cache.tokens(encoder, data).ids) > (folder / "texts.txt").stat().st_size / 14
    with meter.stage("resolve"):
        (job,) = resolve(cache, member).jobs
    inputs = cache.inputs(job.settings)
    with meter.stage("batches"):
        (part,) = inputs.parts(job.unit.model.tasks, job.fold.train)
        assert sum(1 for _ in islice(part.training(8, seed=0, epoch=0), 20)) == 20
    few = replace(job.fold, **{part: job.fold.part(part)[:2] for part in ("train", "validation", "test")})
    heard = UnitCallbacks(ignore, lambda *_: None, lambda _: 0)
    with meter.stage("train"):
        train_unit(replace(job, fold=few), inputs, heard, Checkpoints(folder / store / "unit"))
    return meter.found


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In no stage, for a file and for one with 2 MB more."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tokens, "CHARACTERS", 2**16)
    encoder = load_encoder("tiny", texts=WORDS)
    encoder.module.save_pretrained("encoder")
    encoder.tokenizer.save_pretrained("encoder")
    (tmp_path / "c.yml").write_text(CONFIG.replace("ENCODER", "./encoder"))
    sizes, most = [], []
    for megabytes in (SMALL, SMALL, LARGE):
        sizes.append(write(tmp_path / "texts.txt", megabytes))
        most.append(use(tmp_path, f"store {len(sizes)}"))
        tracemalloc.start()  # after modules were imported, which takes long while it counts
    tracemalloc.stop()
    more = {name: most[2][name] - most[1][name] for name in most[2]}
    assert min(most[2].values()) > 0
    assert max(more.values()) < MOST * (sizes[2] - sizes[1]), more


def test_tokens_on_disk_are_those_in_memory(tmp_path: Path) -> None:
    words = ("heart", "lung", "clear", "hazy", "Heart")
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, size)) for size in rng.integers(1, 400, 90)]
    (tmp_path / "texts.txt").write_text("\n\n".join(texts))
    (tmp_path / "c.yml").write_text(CONFIG.replace("ENCODER", "tiny"))
    member = load_suite(tmp_path / "c.yml").members[0]
    cache = InputCache(Store(tmp_path / "store"))
    resolved = resolve(cache, member)
    inputs = cache.inputs(member.settings)
    table = {"": read_table(tmp_path / "texts.txt")}
    held = table_corpus("table", table, Columns(kind="mlm")).text_only()
    memory = tokens_of(inputs.encoder, held, 128)
    rows = np.arange(len(memory))
    assert len(inputs.tokens) == len(memory) > len(held)
    for ours, theirs in zip(inputs.tokens.pad_rows(rows), memory.pad_rows(rows), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert resolve(InputCache(), member).uid == resolved.uid
    again = InputCache(Store(tmp_path / "store"))
    assert resolve(again, member).uid == resolved.uid
    assert [fold.train.tolist() for fold in again.folds(member.settings.data)] == [
        child.fold.train.tolist() for child in resolved.children
    ]
