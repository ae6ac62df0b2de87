"""Masked language modelling as a stage: its data, its training, and what it hands on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mtlv.errors import ConfigError, EncoderError
from mtlv.models.encoder import Encoder
from mtlv.models.wordpiece import fertility
from mtlv.planning.resolve import ResolvedMember, resolve
from mtlv.reporting.metrics import text_metrics
from mtlv.settings import load_suite
from mtlv.store.checkpoints import Checkpoints
from mtlv.store.records import EpochRecord
from mtlv.suite.estimate import _kind
from mtlv.training.state import EpochProgress
from mtlv.units.checkpointing import CheckpointHook
from mtlv.units.input_cache import InputCache
from mtlv.units.model import model_of
from mtlv.units.train import _add_masking, _graphs_suit, train_unit
from mtlv.units.validation import UnitCallbacks

TEXTS = ("heart large shadow", "lung hazy air", "old rib fracture", "no acute disease", "liver is clear")
CONFIG = """\
experiment: x
data:
  sources:
    - {name: table, alias: labelled, path: labelled.csv, columns: {labels: [heart]}}
    - {name: table, alias: texts, path: texts.txt, columns: {kind: mlm}}
  max_length: 12
encoder: tiny
training: {epochs: 1, learning_rate: 3e-3, batch_size: 8, precision: fp32}
store: {checkpoint_steps: 6}
stages:
  - {name: pretrain, tasks: [texts], architecture: mtl, training: {epochs: 2, EXTRA}}
  - {name: tune, tasks: [labelled], architecture: mtl}
"""


@pytest.fixture
def member(tmp_path: Path) -> Callable[..., tuple[InputCache, ResolvedMember]]:
    def make(extra: str = "schedule: linear") -> tuple[InputCache, ResolvedMember]:
        rng = np.random.default_rng(0)
        rows = [f"case {n} {rng.choice(TEXTS)}" for n in range(60)]
        table = "\n".join(f"{row},{int('heart' in row)}" for row in rows)
        (tmp_path / "labelled.csv").write_text(f"text,heart\n{table}\n")
        own = [f"report {n} says {rng.choice(TEXTS)} and {rng.choice(TEXTS)} " * 3 for n in range(80)]
        (tmp_path / "texts.txt").write_text("\n".join([*own, "", *(row.upper() for row in rows)]) + "\n")
        (tmp_path / "c.yml").write_text(CONFIG.replace("EXTRA", extra))
        cache = InputCache()
        return cache, resolve(cache, load_suite(tmp_path / "c.yml").members[0])

    return make


def test_what_is_validated_or_tested_later_is_left_out_by_text(member: Callable) -> None:
    cache, resolved = member()
    (child,) = resolved.children
    corpus, fold = cache.corpus(resolved.member.settings.data), child.fold
    source = np.array([id_.split("/")[0] for id_ in corpus.ids])
    held = {corpus.texts[row].upper() for row in (*fold.validation, *fold.test) if source[row] == "labelled"}
    for part in (fold.train, fold.validation):
        assert not {corpus.texts[row].upper() for row in part if source[row] == "texts"} & held
    assert len(held) > 10
    labelled = (source[fold.train] == "labelled").sum()
    assert labelled == 60 - len([r for r in (*fold.validation, *fold.test) if source[r] == "labelled"])
    assert any("left out of training" in note and note.startswith("texts") for note in fold.notes)
    assert not any("left out" in note and note.startswith("labelled") for note in fold.notes)


def test_settings_of_masking_are_in_the_key_of_what_they_shape(member: Callable) -> None:
    keys = []
    for extra in ("schedule: linear", "masking: {rate: 0.3}"):
        _, resolved = member(extra)
        (child,) = resolved.children
        keys.append([job.unit.key for job in (*child.earlier, *child.jobs)])
        assert "masking" not in child.jobs[0].unit.train
        assert child.earlier[0].unit.train["masking"]["rate"] == (0.3 if "rate" in extra else 0.15)
    assert keys[0][0] != keys[1][0]


def test_adversarial_losses_are_of_texts_only_and_left_out_of_keys_without_them(member: Callable) -> None:
    found = []
    for weight in (0, 10):
        cache, resolved = member(f"masking: {{adversarial: {weight}}}, cuda_graphs: true")
        (child,) = resolved.children
        (pretrain,), (tune,) = child.earlier, child.jobs
        models = [model_of(job, cache.inputs(job.settings)) for job in (pretrain, tune)]
        assert [model.is_perturbed for model in models] == [weight > 0, False]
        gpu = torch.device("cuda")
        suits = [_graphs_suit(job, model, gpu) for job, model in zip((pretrain, tune), models, strict=True)]
        assert suits == [weight == 0, True]
        assert pretrain.unit.train["masking"].get("adversarial", 0) == weight
        found.append((_kind(pretrain), pretrain.unit.key))
    assert len({kind for kind, _ in found}) == 2, "one takes longer than the other"
    _, plain = member()
    assert found[0][1] == plain.children[0].earlier[0].unit.key != found[1][1]


def test_the_same_pieces_are_hidden_wherever_the_source_stands(member: Callable, tmp_path: Path) -> None:
    member()
    config = (tmp_path / "c.yml").read_text()
    first, second = (line for line in config.splitlines() if "name: table" in line)
    swapped = config.replace(f"{first}\n{second}", f"{second}\n{first}")
    assert swapped != config
    (tmp_path / "swapped.yml").write_text(swapped)
    hidden, keys = [], []
    for name in ("c.yml", "swapped.yml"):
        cache = InputCache()
        (child,) = resolve(cache, load_suite(tmp_path / name).members[0]).children
        job = child.earlier[0]
        inputs = _add_masking(job, cache.inputs(job.settings))
        (part,) = inputs.parts(job.unit.model.tasks, child.fold.train)
        batches = [*part.training(8, seed=1, epoch=0), *part.inference(8)]
        hidden.append([batch.input_ids.tolist() for batch in batches])
        keys.append("masks" in job.unit.train)
    assert hidden[0] == hidden[1]
    assert keys == [True, False], "once they were drawn by the row of all sources"


def trained(cache: InputCache, resolved: ResolvedMember, folder: Path, stage: int, start=None):
    (child,) = resolved.children
    job = (*child.earlier, *child.jobs)[stage]
    callbacks = UnitCallbacks(lambda _: None, lambda *_: None, lambda epoch: epoch)
    return train_unit(job, cache.inputs(job.settings), callbacks, Checkpoints(folder), initial_weights=start)


def test_texts_are_learned_and_the_next_stage_starts_from_them(member: Callable, tmp_path: Path) -> None:
    cache, resolved = member()
    record, kept = trained(cache, resolved, tmp_path / "1", 0)
    weights = kept[record.chosen_epoch]
    losses = [epoch.loss for epoch in record.epochs]
    (task,) = record.test.tasks.values()
    assert losses[1] < losses[0] < 1.1 * np.log(len(cache.inputs(resolved.member.settings).encoder.tokenizer))
    assert task.outputs.shape == (len(record.test.ids), 6)
    assert (task.outputs[task.mask][:, 1] > 0).all(), "each text has masked pieces"
    first = record.curve[0]["texts.text"]
    again = record.curve[1]["texts.text"]
    assert (first[:, 5] == again[:, 5]).all(), "the same pieces in each epoch"
    published = cache.inputs(resolved.member.settings).encoder.module.state_dict()
    changed = [
        n for n, w in published.items() if "pooler" not in n and not torch.equal(w, weights[f"encoder.{n}"])
    ]
    assert "embeddings.word_embeddings.weight" in changed
    (child,) = resolved.children
    assert (
        child.jobs[0].start_job is child.earlier[0]
        or child.jobs[0].start_job.unit.key == child.earlier[0].unit.key
    )
    later, _ = trained(cache, resolved, tmp_path / "2", 1, weights)
    assert list(later.test.tasks) == ["heart"]


@pytest.mark.parametrize("masking", ["rate: [0.1, 0.3, 0.5]", "adversarial: 10"])
def test_training_is_the_same_after_a_restart(
    masking: str, member: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, resolved = member(f"masking: {{{masking}}}")
    expected, weights = trained(cache, resolved, tmp_path / "undisturbed", 0)
    real = CheckpointHook.on_step

    def on_step(hook: CheckpointHook, progress: EpochProgress) -> None:
        real(hook, progress)
        if progress.step == 12:  # of several epochs, with the second of the rates
            hook.checkpoints.wait()
            assert hook.checkpoints.newest(lambda _: None) is not None
            raise InterruptedError

    monkeypatch.setattr(CheckpointHook, "on_step", on_step)
    with pytest.raises(InterruptedError):
        trained(cache, resolved, tmp_path / "interrupted", 0)
    monkeypatch.undo()
    record, again = trained(cache, resolved, tmp_path / "interrupted", 0)
    assert [epoch.loss for epoch in record.epochs] == [epoch.loss for epoch in expected.epochs]
    for epoch, state in weights.items():
        assert all(torch.equal(again[epoch][name], weight) for name, weight in state.items())


def test_long_texts_count_once_with_the_sums_of_their_rows(member: Callable, tmp_path: Path) -> None:
    cache, resolved = member("masking: {rate: 0.5, whole_words: false}")
    inputs = cache.inputs(resolved.member.settings)
    record, _ = trained(cache, resolved, tmp_path, 0)
    counts = inputs.tokens.cuts.counts
    pieces = dict.fromkeys(record.test.ids, 0)
    lengths = inputs.tokens.lengths - 2
    for number, id_ in enumerate(inputs.corpus.ids):
        if id_ in pieces:
            rows = inputs.tokens.rows(np.array([number]))
            assert len(rows) == counts[number]
            pieces[id_] = sum(max(1, round(0.5 * n)) for n in lengths[rows].tolist())
    task = record.test.tasks["texts.text"]
    found = dict(zip(record.test.ids, task.outputs[:, 1].tolist(), strict=True))
    own = [id_ for id_, known in zip(record.test.ids, task.mask, strict=True) if known]
    assert any(counts[inputs.corpus.ids.index(id_)] > 1 for id_ in own)
    assert {id_: found[id_] for id_ in own} == {id_: pieces[id_] for id_ in own}


def test_tokens_are_counted_and_tracked_with_what_was_learned_until_then(
    member: Callable, tmp_path: Path
) -> None:
    cache, resolved = member()
    settings, (child,) = resolved.member.settings, resolved.children
    inputs = cache.inputs(settings)
    record, _ = trained(cache, resolved, tmp_path / "1", 0)
    (part,) = inputs.parts(["texts.text"], child.fold.train)
    each = int(inputs.tokens.lengths[part.index].sum())
    assert [epoch.tokens for epoch in record.epochs] == [each, each]
    words = cache.fertility(settings)
    assert words == fertility(inputs.encoder.tokenizer, inputs.corpus.members[1].texts)
    found = {(m.key, m.step): m.value for m in text_metrics("pretrain", record, inputs.tasks, words)}
    name = "pretrain texts.text"
    assert [found[f"train.texts.tokens/{name}", step] for step in (0, 1)] == [each, 2 * each]
    speed = each / record.epochs[1].seconds
    assert found[f"train.texts.tokens_per_second/{name}", 1] == pytest.approx(speed)
    sums = record.curve[1]["texts.text"][record.validation.tasks["texts.text"].mask].sum(0)
    assert found[f"val.texts.masked_loss/{name}", 1] == pytest.approx(sums[0] / sums[1])
    assert found["texts/split_words", 0] == words["split_words"]
    assert {step for _, step in found} == {0, 1}
    later, _ = trained(cache, resolved, tmp_path / "2", 1)
    assert text_metrics("tune", later, inputs.tasks, words) == []


def test_units_from_before_tokens_were_counted_have_no_tokens(member: Callable, tmp_path: Path) -> None:
    cache, resolved = member()
    record, _ = trained(cache, resolved, tmp_path, 0)
    old = [{k: v for k, v in vars(epoch).items() if k != "tokens"} for epoch in record.epochs]
    record = replace(record, epochs=tuple(EpochRecord(**epoch) for epoch in old))
    keys = {
        m.key.split("/")[0]
        for m in text_metrics("x", record, cache.inputs(resolved.member.settings).tasks, {})
    }
    assert "val.texts.masked_loss" in keys
    assert not any("tokens" in key for key in keys)


def test_texts_that_are_not_learned_are_not_split(tmp_path: Path) -> None:
    (tmp_path / "e.yml").write_text("data: {name: synthetic, documents: 60}\nencoder: tiny\n")
    assert InputCache().fertility(load_suite(tmp_path / "e.yml").members[0].settings) == {}


def initial(tmp_path: Path, encoder: str) -> Encoder:
    sources = "[{name: synthetic}, {name: synthetic, alias: texts, text_only: true}]"
    (tmp_path / "e.yml").write_text(f"data: {{documents: 60, sources: {sources}}}\nencoder: {encoder}\n")
    settings = load_suite(tmp_path / "e.yml").members[0].settings
    return InputCache().encoder(settings.encoder, settings.data)


def test_an_encoder_may_have_a_vocabulary_of_its_own_and_random_weights(tmp_path: Path) -> None:
    published = initial(tmp_path, "{name: tiny}")
    own = initial(tmp_path, "{name: tiny, vocabulary: {size: 150, from: [texts]}}")
    assert len(own.tokenizer) == own.module.config.vocab_size == 150
    name = "encoder.layer.0.output.dense.weight"
    assert torch.equal(own.module.state_dict()[name], published.module.state_dict()[name])
    scratch = initial(tmp_path, "{name: tiny, weights: random, vocabulary: {size: 150}}")
    assert scratch.tokenizer.get_vocab() == own.tokenizer.get_vocab(), "of the texts, without `from`"
    assert not torch.equal(scratch.module.state_dict()[name], own.module.state_dict()[name])
    assert len({each.digest for each in (published, own, scratch)}) == 3
    with pytest.raises(ConfigError, match=r"`from` names no data set: x; allowed: \w+, texts"):
        initial(tmp_path, "{name: tiny, vocabulary: {size: 150, from: [x]}}")


def test_an_encoder_without_a_mask_token_is_refused_before_training(
    member: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = InputCache.encoder

    def without(cache: InputCache, *wanted: Any) -> Encoder:
        found = real(cache, *wanted)
        found.tokenizer.mask_token = None
        return found

    monkeypatch.setattr(InputCache, "encoder", without)
    with pytest.raises(EncoderError, match="the tokenizer of `tiny` has none"):
        member()


def test_settings_that_came_later_are_left_out_at_their_defaults(member: Callable) -> None:
    _, resolved = member()
    dumped = resolved.member.settings.model_dump(mode="json")
    assert not {"weights", "vocabulary"} & dumped["encoder"].keys()
    assert "text_only" not in dumped["data"]
    assert not {"masking", "teach"} & dumped["training"].keys()
    _, other = member("masking: {rate: 0.3}")
    assert other.member.settings.stages[0].model_dump(mode="json")["training"]["masking"]["rate"] == 0.3
