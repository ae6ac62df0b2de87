"""Next sentence prediction: pairs that are made from documents, and what they leave out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mtlv.data import catalog
from mtlv.data.joined import join_folds
from mtlv.data.source import Corpus
from mtlv.data.splits import make_folds
from mtlv.data.texts.next_sentence import next_sentences
from mtlv.errors import ConfigError, DataError
from mtlv.plan import Task
from mtlv.planning.resolve import resolve
from mtlv.settings import load_suite
from mtlv.units.corpora import options_of, read_corpus
from mtlv.units.input_cache import InputCache
from mtlv.units.train import _add_masking

COUNT = 300


def texts(**changes: object) -> Corpus:
    """Documents of two sentences of one length, which say whose they are."""
    task = Task("a", source="notes")
    made = tuple(f"The first of {n:03} is here. The other of {n:03} is there." for n in range(COUNT))
    flags = {"a": np.arange(COUNT, dtype=np.int8) % 2}
    ids = tuple(f"d{n}" for n in range(COUNT))
    return replace(Corpus("notes", (task,), ids, made, flags), **changes)


def owners(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """The documents of the first and of the second halves."""
    assert corpus.seconds is not None
    first, second = (
        np.array([int("".join(filter(str.isdigit, text))) for text in column])
        for column in (corpus.texts, corpus.seconds)
    )
    return first, second


def test_half_of_the_pairs_are_of_one_document() -> None:
    found = next_sentences(texts(), 0)
    first, second = owners(found)
    assert found.names == ("notes.next",)
    assert first.tolist() == list(range(COUNT))
    assert (found.texts[7], found.ids[7]) == ("The first of 007 is here.", "d7")
    assert all(text.startswith("The other") for text in found.seconds or ())
    assert np.array_equal(found.targets["notes.next"], first == second)
    assert 0.4 < (first == second).mean() < 0.6
    assert next_sentences(texts(), 0).seconds == found.seconds
    assert next_sentences(texts(), 1).seconds != found.seconds


def test_no_document_is_in_two_parts() -> None:
    drawn = next_sentences(texts(), 0)
    own = next_sentences(texts(parts=(*["train"] * 201, *["validation"] * 50, *["test"] * 49)), 0)
    grouped = next_sentences(texts(groups=tuple(f"g{n // 3}" for n in range(COUNT))), 0)
    for corpus, size in ((drawn, 1), (own, 1), (grouped, 3)):
        first, second = owners(corpus)
        negative = corpus.targets["notes.next"] == 0
        assert (first[negative] // size != second[negative] // size).all()
        for fold in make_folds(corpus, folds=1):
            parts = [
                {*first[rows] // size, *second[rows] // size} for rows in map(fold.part, ("train", "test"))
            ]
            held = fold.validation
            parts.append({*first[held] // size, *second[held] // size})
            assert sum(map(len, parts)) == len(set.union(*parts))
            assert len(fold.train) + len(fold.validation) + len(fold.test) == COUNT


def test_pairs_of_a_document_that_others_are_tested_on_are_left_out() -> None:
    plain = texts()
    labelled, pairs = plain.take(np.arange(60)), replace(next_sentences(plain, 0), name="order")
    folds = [make_folds(labelled), make_folds(pairs, test_share=0.03, validation_share=0.03)]
    (fold,) = join_folds([labelled, pairs], folds)
    first, second = owners(pairs)
    tested = {*fold.validation[fold.validation < 60], *fold.test[fold.test < 60]}
    learned = fold.train[fold.train >= 60] - 60
    assert tested.isdisjoint({*first[learned], *second[learned]})
    assert len(learned) > 200
    alone = folds[0][0]
    assert np.array_equal(fold.train[fold.train < 60], alone.train), "pairs leave out nothing"


def test_halves_are_divided_near_the_middle_and_other_documents_left_out() -> None:
    made = (
        "One. Two is long. Three, Four and Five.",
        "A short one. A long one, with no end",
        "no end",
        "NO end.",
    )
    task = Task("a", source="notes")
    corpus = Corpus("notes", (task,), ("0", "1", "2", "3"), made, {"a": np.int8([0, 1, 0, 1])})
    found = next_sentences(corpus, 3)
    assert found.texts == ("One. Two is long.", "A short one.")
    assert set(found.seconds or ()) <= {"Three, Four and Five.", "A long one, with no end"}
    assert found.notes[-1] == "2 of 4 documents left out: of one sentence, or repeated"
    again = replace(corpus, texts=(made[0], made[1], made[0].upper(), made[1]))
    assert next_sentences(again, 3).ids == ("0", "1")
    with pytest.raises(
        DataError, match=r"next_sentence`: too few documents of `notes` have several sentences .got 1"
    ):
        next_sentences(corpus.take([0, 2, 3]), 0)


def test_a_source_of_pairs_is_learned_beside_masked_texts(tmp_path: Path) -> None:
    sources = (
        "[{name: synthetic}, {name: synthetic, alias: texts, text_only: true},"
        " {name: synthetic, alias: order, text_only: next_sentence}]"
    )
    path = tmp_path / "c.yml"
    path.write_text(f"data: {{documents: 150, sources: {sources}}}\nencoder: tiny\n")
    data = load_suite(path).members[0].settings.data
    assert (
        catalog.tasks("synthetic", options_of(data.each_source[2])) == read_corpus(data.each_source[2]).tasks
    )
    cache = InputCache()
    inputs, (fold,) = cache.inputs(load_suite(path).members[0].settings), cache.folds(data)
    _, pairs = inputs.parts(["texts.text", "order.next"], fold.train)
    batch = next(pairs.training(8, seed=0, epoch=0))
    assert batch.segments is not None
    assert batch.segments.any(1).all()
    assert set(batch.targets["order.next"].tolist()) == {0, 1}
    assert len(inputs.parts(["order.next"], fold.test)[0]) <= 0.1 * len(pairs), "few, as of masked texts"


def test_masked_pairs_have_both_targets_in_one_batch(tmp_path: Path) -> None:
    sources = "[{name: synthetic}, {name: synthetic, alias: both, text_only: masked_pairs}]"
    path = tmp_path / "c.yml"
    stages = "[{name: a, tasks: [both], architecture: mtl}, {name: b, tasks: [synthetic], architecture: mtl}]"
    path.write_text(f"data: {{documents: 150, sources: {sources}}}\nencoder: tiny\nstages: {stages}\n")
    cache = InputCache()
    (child,) = resolve(cache, load_suite(path).members[0]).children
    (job,) = child.earlier
    inputs = _add_masking(job, cache.inputs(job.settings))
    assert [head.tasks for head in job.unit.model.heads] == [("both.next",), ("both.text",)]
    assert "masking" in job.unit.train
    (pairs,) = inputs.parts(job.unit.model.tasks, child.fold.train)
    batch = next(pairs.training(8, seed=0, epoch=0))
    assert batch.segments is not None
    assert batch.words is not None
    flags = inputs.corpus.targets["both.next"][batch.index]
    assert batch.targets["both.next"].tolist() == flags.tolist()
    known = batch.words >= 0
    texts = batch.targets["both.text"][..., 0]
    plain, _ = inputs.tokens.pad_rows(batch.index)
    assert torch.equal(texts[known], torch.from_numpy(plain).gather(1, batch.words.clamp(min=0))[known])
    segments = batch.segments.gather(1, batch.words.clamp(min=0))[known]
    assert set(segments.tolist()) == {0, 1}, "pieces of both texts are masked"
    assert (batch.input_ids == inputs.encoder.tokenizer.mask_token_id).any()
    assert batch.input_ids.shape[1] <= 128, "pairs are truncated, not cut into rows"


def test_another_word_than_next_sentence_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text("data: {sources: [{name: synthetic}, {name: synthetic, alias: a, text_only: pairs}]}\n")
    allowed = "true, false, next_sentence or masked_pairs"
    with pytest.raises(ConfigError, match=f"text_only`: got 'pairs'; allowed: {allowed}"):
        load_suite(path)
