"""Tiny random encoders of fifteen families, from their folders: they learn, predict, drop and see as said."""

from __future__ import annotations

import copy
import csv
import functools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from families import CAUSAL, FAMILIES, LABELS, L, config_of, made_up_texts, tokenizer_of
from memory_tracker import MemoryTracker
from objectives import on_batch
from torch import nn

from mtlv.data.batches import PartDocuments
from mtlv.events import ignore
from mtlv.models.encoder import Encoder, load_encoder
from mtlv.models.encoder_config import read_bare, tokenizer_digest, write_bare
from mtlv.models.fast.attention import use_fast_attention
from mtlv.models.fast.dropout import set_dropout, use_fast_dropout
from mtlv.planning.resolve import resolve
from mtlv.serving.model import ServedPlan
from mtlv.settings import Suite, load_suite
from mtlv.store.checkpoints import Checkpoints
from mtlv.suite.run import run_suite
from mtlv.tracking.mlflow_model import place_files
from mtlv.training.objective import Objective
from mtlv.training.predict import predict
from mtlv.units.input_cache import InputCache
from mtlv.units.model import build_model
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks


@pytest.fixture(scope="module", params=FAMILIES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The published folder of each family, with all of its model: T5's decoder, too."""
    transformers.utils.logging.disable_progress_bar()

    @functools.cache
    def write(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        torch.manual_seed(0)
        transformers.AutoModel.from_config(config_of(name, 0.1)).save_pretrained(folder)
        tokenizer_of(FAMILIES[name].marks).save_pretrained(folder)
        return folder

    return write


@pytest.fixture(scope="module")
def encoder(name: str, folders: Any) -> Encoder:
    return load_encoder(str(folders(name)))


def write_suite(folder: Path, *changes: str) -> Suite:
    """A suite on a table of texts that do or do not hold a word."""
    with (folder / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "part", *LABELS])
        for n, text in enumerate(made_up_texts()):
            part = ("train", "train", "train", "validation", "test")[n % 5]
            writer.writerow([f"{text} {n}", part, *(int(word in text) for word in LABELS)])
    (folder / "c.yml").write_text("experiment: unit\n")
    columns = f"data.columns={{labels: [{', '.join(LABELS)}], part: part}}"
    training = "training={epochs: 3, batch_size: 8, learning_rate: 5e-3, device: cpu, precision: fp32}"
    data = ("data.name=table", f"data.path={folder / 't.csv'}", "data.max_length=24", columns)
    return load_suite(folder / "c.yml", [*data, training, f"store.uri={folder / 'store'}", *changes])


def test_it_learns_and_what_it_predicts_does_not_depend_on_padding(
    name: str, folders: Any, tmp_path: Path
) -> None:
    features = "last" if FAMILIES[name].causal else "mean"
    suite = write_suite(tmp_path, f"encoder={{name: {folders(name)}, features: {features}, dropout: 0.0}}")
    cache = InputCache()
    (job,) = resolve(cache, suite.members[0]).jobs
    inputs = cache.inputs(job.settings)
    callbacks = UnitCallbacks(ignore, lambda *_: None, lambda epoch: epoch)
    record, weights = train_unit(job, inputs, callbacks, Checkpoints(tmp_path / "points"))
    losses = [epoch.loss for epoch in record.epochs]
    assert losses[2] < losses[1] < losses[0]

    model = build_model(
        inputs.encoder.module,
        job.unit.model.heads,
        tasks=inputs.tasks,
        features=features,
        choices=job.settings.heads,
        marked={},
        seed=0,
    )
    model.load_state_dict(weights[record.chosen_epoch])
    texts = np.arange(len(inputs.corpus))
    together = predict(model, PartDocuments(inputs.tokens, {}, texts), precision="fp32")
    alone = [predict(model, PartDocuments(inputs.tokens, {}, texts[[n]]), precision="fp32") for n in texts]
    narrow = predict(model, PartDocuments(inputs.tokens, {}, texts), precision="bf16")
    for task, scores in together.items():
        assert np.ptp(scores) > 0.02, "it says something"
        np.testing.assert_allclose(narrow[task], scores, atol=0.02)
        np.testing.assert_allclose(np.concatenate([each[task] for each in alone]), scores, atol=2e-5)

    (batch, *_) = inputs.parts(job.unit.model.tasks, job.fold.train)[0].inference(8)
    objective = Objective(job.unit.model.heads, tasks=inputs.tasks, combine="sum", head_weights=None)
    model.train()
    on_batch(objective, model, model(batch.input_ids, batch.attention_mask), batch.targets)[0].backward()
    still = [key for key, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert [key for key in still if FAMILIES[name].unused not in key] == []


@pytest.mark.parametrize("name", ["t5", "gpt2"])
def test_what_is_kept_of_it_answers_as_it_was_tested(name: str, folders: Any, tmp_path: Path) -> None:
    tracker = MemoryTracker()
    suite = write_suite(tmp_path, f"encoder={{name: {folders(name)}, features: last}}", "training.epochs=1")
    (member,) = run_suite(suite, ignore, tracker).members
    (model,) = (run.model for run in tracker.runs.values() if run.spec.kind == "fold")
    assert model is not None
    place_files(model.files, model.texts, tmp_path / "model", (shutil.copyfile,))
    served = ServedPlan.load(tmp_path / "model" / model.content, device="cpu")
    texts = [f"{text} {n}" for n, text in enumerate(made_up_texts()) if n % 5 == 4]
    told, test = served.predict(texts), member.outcomes[0].test
    for label in LABELS:
        assert np.array_equal(told[label].outputs, test.tasks[label].outputs.astype(float))


# ---- What a token sees -----------------------------------------------------------------------------------


def a_text(module: nn.Module) -> torch.Tensor:
    count = module.get_input_embeddings().weight.shape[0]
    return torch.randint(5, count, (2, L), generator=torch.Generator().manual_seed(1))


def vectors(module: nn.Module, ids: torch.Tensor, *, mask: bool = True, seed: int = 0) -> torch.Tensor:
    torch.manual_seed(seed)
    with torch.no_grad():
        return module(input_ids=ids, attention_mask=torch.ones_like(ids) if mask else None).last_hidden_state


def test_of_a_causal_encoder_it_is_known_and_of_no_other(name: str, encoder: Encoder) -> None:
    assert encoder.causal == FAMILIES[name].causal
    ids = a_text(encoder.module)
    other = ids.clone()
    other[:, -2] = ids[:, -3]
    before, after = (vectors(encoder.module, each)[:, :-2] for each in (ids, other))
    assert torch.equal(before, after) == encoder.causal


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("mask", [True, False])
def test_tokens_of_a_causal_encoder_see_none_behind_them_in_training_either(
    name: str, rate: float, mask: bool
) -> None:
    torch.manual_seed(0)
    module = transformers.AutoModel.from_config(config_of(name, rate)).train()
    use_fast_dropout(module)
    use_fast_attention(module)
    ids = a_text(module)
    other = ids.clone()
    other[:, -1] = ids[:, -2]
    before, after = (vectors(module, each, mask=mask)[:, :-1] for each in (ids, other))
    assert torch.equal(before, after)


# ---- Dropout ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [0.0, 0.1])
def test_dropout_is_set_as_if_the_config_had_it(name: str, own: float) -> None:
    made = []
    for rate in (own, 0.4):
        torch.manual_seed(0)
        module = transformers.AutoModel.from_config(config_of(name, rate)).train()
        made.append(getattr(module, "encoder", module) if name == "t5" else module)
    wanted = vectors(made[1], ids := a_text(made[1]))
    assert not torch.equal(vectors(made[0], ids), wanted)
    set_dropout(made[0], 0.4)
    assert torch.equal(vectors(made[0], ids), wanted)
    set_dropout(made[0], 0.0)
    assert torch.equal(vectors(made[0], ids), vectors(made[0], ids, seed=1))


def test_attention_drops_its_probabilities(name: str, encoder: Encoder) -> None:
    """Where every other dropout is undone, two passes differ."""
    module = copy.deepcopy(encoder.module).train()
    set_dropout(module, 0.4)
    use_fast_dropout(module)
    use_fast_attention(module)
    ids = a_text(module)
    for undone in _undone(module):
        one, two = (vectors(module, ids, seed=seed) for seed in (0, 1))
        assert torch.equal(one, two) == undone
        assert torch.equal(one, vectors(module, ids, seed=0))


def _undone(module: nn.Module) -> Iterator[bool]:
    """False where only attention's probabilities are dropped, then True where nothing is."""

    def undo(_: nn.Module, given: tuple[torch.Tensor], out: torch.Tensor) -> torch.Tensor:
        return given[0] if out.shape[-1] != L else out

    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.register_forward_hook(undo)
    yield False
    set_dropout(module, 0.0)
    yield True


# ---- Tokenizers that mark nothing ------------------------------------------------------------------------


@pytest.mark.parametrize("name", CAUSAL)
def test_texts_end_and_short_ones_are_filled_where_a_tokenizer_of_a_decoder_has_no_token_for_it(
    name: str, folders: Any, tmp_path: Path
) -> None:
    encoder = load_encoder(str(folders(name)))
    tokenizer, end = encoder.tokenizer, encoder.tokenizer.eos_token_id
    bare = tokenizer_of("gpt2")
    heart, lung = (bare(word)["input_ids"] for word in ("heart", "lung"))
    assert tokenizer.pad_token_id == end
    assert [len(encoder.notes), *("<|endoftext|>" in note for note in encoder.notes)] == [2, True, True]
    assert tokenizer("")["input_ids"] == [end]
    assert tokenizer("heart")["input_ids"] == [*heart, end]
    pair = tokenizer("heart", "lung", return_token_type_ids=True)
    assert pair["input_ids"] == [*heart, end, *lung, end]
    assert pair["token_type_ids"] == [0] * (len(heart) + 1) + [1] * (len(lung) + 1)
    assert tokenizer("heart lung bone", truncation=True, max_length=3)["input_ids"][-1] == end
    write_bare(encoder, tmp_path)
    assert tokenizer_digest(read_bare(tmp_path)[1]) == tokenizer_digest(tokenizer)


def test_tokenizers_that_mark_texts_stay_as_they_are(name: str, encoder: Encoder) -> None:
    if not FAMILIES[name].causal:
        assert encoder.notes == ()
        assert tokenizer_digest(encoder.tokenizer) == tokenizer_digest(tokenizer_of(FAMILIES[name].marks))
