"""Long texts in windows: pooled as by hand, equal to whole texts that fit, divided with their document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import mtlv
from mtlv.data.batches import Batch, PartDocuments
from mtlv.data.columns import dense
from mtlv.data.tokens import NO_WORD, Tokens, join_tokens, tokenise
from mtlv.errors import ConfigError, DataError
from mtlv.events import ignore
from mtlv.models.encoder import Encoder, load_encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.models.pooling import WINDOW_POOLINGS, pool_windows
from mtlv.plan import HeadSpec, Task
from mtlv.planning.resolve import resolve
from mtlv.store.checkpoints import Checkpoints
from mtlv.training.embed import embed
from mtlv.training.loop import logits_of
from mtlv.units.input_cache import InputCache
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks

LENGTHS = (3, 20, 1, 8, 33, 0)
TEXTS = [" ".join(f"word{n % 7}" for n in range(length)) for length in LENGTHS]
SILENT = UnitCallbacks(ignore, lambda *_: None, lambda epoch: epoch)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("tiny", texts=TEXTS)


def tokens_of(encoder: Encoder, **how: int) -> Tokens:
    return tokenise(TEXTS, encoder.tokenizer, pad=encoder.tokenizer.pad_token_id, **how)


@pytest.mark.parametrize(("pooling", "second"), [("mean", [4.0, -1.0]), ("max", [7.0, 8.0])])
def test_vectors_are_pooled_by_hand(pooling: str, second: list[float]) -> None:
    """A document of one window, then one whose windows have three tokens and one."""
    vectors = torch.tensor([[0.1, -6.0], [3.0, -4.0], [7.0, 8.0]])
    mask = torch.arange(3) < torch.tensor([[2], [3], [1]])
    windows = torch.tensor([[0, NO_WORD], [1, 2]])
    pooled = pool_windows(WINDOW_POOLINGS[pooling], vectors, mask, windows)
    assert pooled.tolist() == [vectors[0].tolist(), second]


def test_windows_have_all_tokens_with_their_overlap(encoder: Encoder) -> None:
    whole, cut = tokens_of(encoder, max_length=512), tokens_of(encoder, max_length=10)
    windows = tokens_of(encoder, max_length=10, overlap=2)
    index = np.array([4, 0, 1])
    (ids, mask), places = windows.pad_rows(index), windows.place_windows(index)
    assert places is not None
    for row, document in zip(places, index, strict=True):
        first, *others = [ids[place][mask[place]][1:-1].tolist() for place in row if place != NO_WORD]
        assert len(first) <= 8
        assert all(3 <= len(text) <= 8 for text in others)
        start, end = whole.offsets[document : document + 2]
        assert sum((text[2:] for text in others), first) == whole.ids[start + 1 : end - 1].tolist()
    assert windows.place_windows(np.array([0, 2])) is None
    assert (windows.truncated, windows.lost) == (0, 0)
    assert (cut.truncated, cut.lost) == ((whole.lengths > 10).sum(), np.maximum(whole.lengths - 10, 0).sum())
    joined = join_tokens([cut, windows])
    np.testing.assert_array_equal(joined.pad_rows(index + len(TEXTS))[0], ids)
    np.testing.assert_array_equal(joined.pad_rows(index)[0], cut.pad_rows(index)[0])
    assert joined.place_windows(index) is None


def test_a_tokenizer_that_makes_no_windows_is_named() -> None:
    with pytest.raises(DataError, match=r"`data.window_pooling`.*\(got function\)"):
        tokenise(TEXTS, lambda *_: None, max_length=10, pad=0, overlap=0)


@pytest.mark.parametrize("private", [0, 1])
@pytest.mark.parametrize("pooling", WINDOW_POOLINGS)
def test_documents_of_a_batch_and_of_its_parts_have_their_logits_alone(
    encoder: Encoder, pooling: str, private: int
) -> None:
    tokens = tokens_of(encoder, max_length=10, overlap=2)
    targets = dense({name: np.arange(len(TEXTS), dtype=np.float32) for name in "ab"})
    heads = [HeadSpec((name,), private=private) for name in "ab"]
    tasks = {name: Task(name) for name in "ab"}
    how = {"features": "mean", "seed": 0, "dropout": 0.0, "window_pooling": pooling}
    model = MultiTaskModel(encoder.module, heads, tasks=tasks, **how)

    def batch_of(index: list[int]) -> Batch:
        (batch,) = PartDocuments(tokens, targets, np.array(index)).inference(8)
        return batch

    def compute(batch: Batch) -> torch.Tensor:
        return logits_of(model, batch, [head.name for head in heads])[heads[1].name]

    alone = torch.cat([compute(batch_of([document])) for document in range(len(TEXTS))])
    batch = batch_of([*range(len(TEXTS))])
    torch.testing.assert_close(compute(batch), alone[batch.index], atol=1e-5, rtol=1e-5)
    pieces = batch.pieces(3)
    assert sum(piece.tokens for piece in pieces) == batch.tokens == tokens.lengths.sum()
    for piece in pieces:
        assert piece.targets["b"].tolist() == piece.index.tolist()
        torch.testing.assert_close(compute(piece), alone[piece.index], atol=1e-5, rtol=1e-5)


def test_a_mean_of_windows_is_the_mean_of_their_tokens(encoder: Encoder) -> None:
    index = np.arange(len(TEXTS))
    tokens = tokens_of(encoder, max_length=10, overlap=0)
    vectors = embed(encoder, tokens, index, special_tokens=True)
    (ids, mask), places = tokens.pad_rows(index), tokens.place_windows(index)
    with torch.no_grad():
        ids, mask = torch.from_numpy(ids), torch.from_numpy(mask)
        states = encoder.module(input_ids=ids, attention_mask=mask).last_hidden_state
    for vector, row in zip(vectors, places, strict=True):
        rows = row[row != NO_WORD]
        np.testing.assert_allclose(vector, states[rows][mask[rows]].mean(0), atol=1e-5)


def test_texts_that_fit_are_learned_as_without_windows(
    suite: Callable, table: Callable, tmp_path: Path
) -> None:
    """Long ones in steps of several parts, with the gradient of the whole batch."""
    records, path = [], table("t")
    for number, change in enumerate(
        ("max_length=64", "max_length=64,data.window_pooling=mean", "max_length=8,data.window_pooling=mean")
    ):
        member = suite(path, "architecture=mtl", *f"data.{change}".split(",")).members[0]
        cache = InputCache()
        job = resolve(cache, member).children[0].jobs[0]
        record, _ = train_unit(
            job, cache.inputs(member.settings), SILENT, Checkpoints(tmp_path / str(number))
        )
        records.append((job.unit.key, record))
    (key, plain), (other_key, fits), (_, long) = records
    assert key != other_key
    for name in plain.test.tasks:
        np.testing.assert_array_equal(plain.test.tasks[name].outputs, fits.test.tasks[name].outputs)
    assert [replace(e, seconds=0).loss for e in plain.epochs] == [e.loss for e in fits.epochs]
    assert long.test.ids == plain.test.ids
    assert long.epochs[0].tokens > plain.epochs[0].tokens, "the estimate of time counts tokens of windows"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["data.window_pooling=sum"], r"`data.window_pooling`.*mean, max or null"),
        (
            ["data.window_pooling=mean", "data.max_length=8", "data.window_overlap=4"],
            r"`data.window_overlap`.*got 4\); take 0 to 3",
        ),
        (["data.window_overlap=4"], r"`data.window_overlap`.*`data.window_pooling`"),
        (["data.window_pooling=max", "encoder.features=attention"], r"`data.window_pooling`.*take mean"),
    ],
)
def test_wrong_settings_are_named(suite: Callable, table: Callable, changes: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        suite(table("t"), *changes)


def test_the_end_of_long_texts_is_learned_saved_and_served(tmp_path: Path) -> None:
    """The words that decide are beyond the first window: a truncated text has none of them."""
    ends = [("sick", "well")[n % 2] for n in range(60)]
    texts = [f"note {'and ' * (14 + n % 9)} {end}" for n, end in enumerate(ends)]
    corpus = mtlv.from_dataframe(
        pd.DataFrame({"text": texts, "ill": [end == "sick" for end in ends]}), labels=["ill"]
    )
    settings = {"encoder": "tiny", "epochs": 8, "learning_rate": 5e-3, "batch_size": 8, "precision": "fp32"}
    settings |= {"max_length": 12, "window_pooling": "max", "folder": tmp_path, "callback": ignore}
    result = mtlv.train(corpus, **settings)
    assert result.metrics["f1_macro"] == 1
    long = ["note " + "and " * 40 + end for end in ("sick", "well")]
    model = mtlv.load_model(result.save(tmp_path / "model"))
    assert model.predict(long).ravel().tolist() == [1, 0]
    np.testing.assert_array_equal(model.predict(long), result.predict(long))
