"""A unit with tasks of all kinds, of four sources: trained, interrupted, kept and read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtlv.data.joined import begins, join, join_folds
from mtlv.data.source import Corpus
from mtlv.data.splits import make_folds, units_of
from mtlv.events import ignore
from mtlv.models.encoder import load_encoder
from mtlv.plan import Unit, with_separate_heads
from mtlv.registries import ARCHITECTURES
from mtlv.store.checkpoints import Checkpoints
from mtlv.store.local import Store
from mtlv.store.records import UnitRecord
from mtlv.training.state import EpochProgress
from mtlv.units.checkpointing import CheckpointHook
from mtlv.units.input_cache import tokens_of
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks

Trained = tuple[UnitRecord, dict]


class Killed(Exception):
    """The process is gone."""


@pytest.fixture(scope="module")
def job_and_material(
    one_corpus_per_kind: list[Corpus], writers: tuple, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Job, UnitInputs]:
    write_table, write_suite = writers
    folder = tmp_path_factory.mktemp("mixed")
    settings = write_suite(
        folder,
        write_table(folder, "t"),
        "training.select=best",
        "training.select_per=task",
        "store.checkpoint_steps=1",
    )
    settings = settings.members[0].settings
    first, *rest = one_corpus_per_kind
    corpora = [replace(first, groups=tuple(f"file {n // 2}" for n in range(len(first)))), *rest]
    corpus = join(corpora)
    (fold,) = join_folds(corpora, [make_folds(each) for each in corpora])
    encoder = load_encoder("tiny", texts=corpus.texts)
    plan = with_separate_heads(ARCHITECTURES["mtl"].build(corpus.names, (), 1), corpus.tasks)
    unit = Unit("train", plan.models[0], 0, 0, "start", corpus.digest, {"precision": "fp32"})
    inputs = UnitInputs(corpus, tokens_of(encoder, corpus, 24), encoder)
    return Job(unit, settings, fold, "mixed"), inputs


@pytest.fixture(scope="module")
def trained(job_and_material: tuple[Job, UnitInputs], tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train(job_and_material, tmp_path_factory.mktemp("undisturbed"))


def train(both: tuple[Job, UnitInputs], folder: Path) -> Trained:
    callbacks = UnitCallbacks(ignore, lambda *_: None, lambda epoch: epoch)
    return train_unit(*both, callbacks, Checkpoints(folder))


def same(one: UnitRecord, other: UnitRecord) -> bool:
    """But for times."""
    epochs = [[replace(epoch, seconds=0.0) for epoch in record.epochs] for record in (one, other)]
    parts = [(one.validation, other.validation), (one.test, other.test)]
    outputs = [*zip(one.curve, other.curve, strict=True), *((a.outputs, b.outputs) for a, b in parts)]
    return epochs[0] == epochs[1] and all(
        a.keys() == b.keys() and all(a[name].tolist() == b[name].tolist() for name in a) for a, b in outputs
    )


def test_scores_are_of_all_documents_and_targets_of_the_own(
    job_and_material: tuple[Job, UnitInputs], trained: Trained
) -> None:
    (job, inputs), (record, _) = job_and_material, trained
    assert record.test.ids == tuple(inputs.corpus.ids[row] for row in job.fold.test)
    counts = {name: int(task.mask.sum()) for name, task in record.test.tasks.items()}
    assert sum({inputs.tasks[name].source: n for name, n in counts.items()}.values()) == len(job.fold.test)
    assert all(len(task.outputs) == len(job.fold.test) for task in record.test.tasks.values())
    assert record.test.tasks["relation"].outputs.shape[1] == 3
    assert all(isinstance(spans, tuple) for spans in record.test.tasks["organs"].outputs)
    of = dict(zip(inputs.corpus.ids, units_of(inputs.corpus), strict=True))
    for scores in (record.validation, record.test):
        assert scores.groups == tuple(of[id_] for id_ in scores.ids)
        assert any("/file " in group for group in scores.groups)
    assert set(record.epochs[0].heads) == {head.name for head in job.unit.model.heads}


def test_it_goes_on_after_an_interruption_bit_for_bit(
    job_and_material: tuple[Job, UnitInputs],
    trained: Trained,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = CheckpointHook.on_step

    def on_step(self: CheckpointHook, progress: EpochProgress) -> None:
        real(self, progress)
        if progress.step == 13:
            self.checkpoints.wait()
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointHook, "on_step", on_step)
        with pytest.raises(Killed):
            train(job_and_material, tmp_path)
    record, weights = train(job_and_material, tmp_path)
    assert same(record, trained[0])
    assert weights.keys() == trained[1].keys()
    for epoch, state in weights.items():
        assert all(np.array_equal(state[name], trained[1][epoch][name]) for name in state)


def test_a_round_of_all_sources_is_one_step(job_and_material: tuple[Job, UnitInputs], tmp_path: Path) -> None:
    job, inputs = job_and_material
    training = job.settings.training.model_copy(
        update={"draw": "rounds", "schedule": "linear", "warmup": 0.0, "accumulation": 2}
    )
    job = replace(job, settings=job.settings.model_copy(update={"training": training}))
    record, _ = train((job, inputs), tmp_path)
    rows = [len(part) for part in inputs.parts(job.unit.model.tasks, job.fold.train)]
    rounds = max(-(-count // training.batch_size) for count in rows)
    steps = -(-rounds // 2)
    assert steps > 1
    factors = [epoch.learning_rate / training.learning_rate for epoch in record.epochs]
    assert factors == pytest.approx([1 - epoch * steps / (2 * steps) for epoch in (1, 2)])


def test_the_store_gives_it_back(trained: Trained, tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(trained[0], None)
    assert same(store.load(trained[0].key), trained[0])
    assert store.load(trained[0].key).validation_at(1).ids == trained[0].validation.ids
    assert store.load(trained[0].key).test.groups == trained[0].test.groups


def test_a_unit_of_an_earlier_release_is_trained_again(trained: Trained, tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(trained[0], None)
    (tmp_path / "units" / trained[0].key / "curve.parquet").rename(
        tmp_path / "units" / trained[0].key / "curve.npy"
    )
    assert not store.has(trained[0].key)
    store.save(trained[0], None)
    assert store.has(trained[0].key)
    assert not (tmp_path / "units" / trained[0].key / "curve.npy").exists()


def test_documents_of_one_text_are_in_one_part_whatever_their_source(
    one_corpus_per_kind: list[Corpus],
) -> None:
    first = one_corpus_per_kind[0]
    twin = replace(first.tasks[0], name="again", source="twin")
    again = replace(first, name="twin", tasks=(twin,), targets={"again": first.targets["has heart"]})
    folds = [make_folds(first, seed=1), make_folds(again, seed=2)]
    (fold,) = join_folds([first, again], folds)
    texts = join([first, again]).texts
    test, validation, training = (
        {texts[row] for row in fold.part(name)} for name in ("test", "validation", "train")
    )
    assert not test & training
    assert not test & validation
    assert not validation & training
    assert any("twin: " in note and note.endswith("part of " + first.name) for note in fold.notes)
    (whole,) = join_folds([first, again], folds, repeats="keep")
    assert len(whole.train) == sum(len(each.train) for (each,) in folds)
    assert any("kept in training, though one of their texts is in the" in note for note in whole.notes)


def test_parts_of_joined_corpora_are_those_of_each(one_corpus_per_kind: list[Corpus]) -> None:
    folds = [make_folds(each, folds=2) for each in one_corpus_per_kind]
    starts = begins(one_corpus_per_kind)
    for number, whole in enumerate(join_folds(one_corpus_per_kind, folds, repeats="keep")):
        for part in ("train", "validation", "test"):
            own = [each[number].part(part) + start for each, start in zip(folds, starts, strict=False)]
            assert whole.part(part).tolist() == np.concatenate(own).tolist()


def test_the_bench_makes_tokens_of_pairs_and_words(one_corpus_per_kind: list[Corpus]) -> None:
    corpus = join(one_corpus_per_kind)
    encoder = load_encoder("tiny", texts=corpus.texts)
    tokens = tokens_of(encoder, corpus, 24)
    assert len(tokens) == len(corpus)
    assert tokens.segments is not None
    assert tokens.words is not None
    apart = [tokens_of(encoder, each, 24) for each in one_corpus_per_kind]
    assert tokens.lengths.tolist() == [length for each in apart for length in each.lengths.tolist()]


def test_what_is_spread_evenly_is_counted_in_the_own_source_only(one_corpus_per_kind: list[Corpus]) -> None:
    whole = join(one_corpus_per_kind).strata()
    apart = {name: flags for each in one_corpus_per_kind for name, flags in each.strata().items()}
    assert {name: int(flags.sum()) for name, flags in whole.items()} == {
        name: int(flags.sum()) for name, flags in apart.items()
    }
    for each, start in zip(one_corpus_per_kind, begins(one_corpus_per_kind), strict=False):
        for name, flags in each.strata().items():
            assert whole[name][start : start + len(each)].tolist() == flags.tolist()
