"""The head for masked words that was published with an encoder, compared with Transformers' own model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from families import config_of, made_up_texts, tokenizer_of

from mtlv.models.encoder import Encoder
from mtlv.models.kinds import KINDS
from mtlv.models.multitask import MultiTaskModel
from mtlv.models.published_head import save_with_head
from mtlv.planning.resolve import ResolvedMember, resolve
from mtlv.settings import load_suite
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job
from mtlv.units.model import model_of
from mtlv.units.train import _add_masking

HEADS = ["bert", "roberta", "distilbert"]


def published(name: str, folder: Path, seed: int = 0, *, tied: bool = True) -> Any:
    """Write a tiny model with a head that is not as new, and return it."""
    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(seed)
    config = config_of(name, 0.1)
    config.pad_token_id = tokenizer_of("bert").pad_token_id
    config.tie_word_embeddings = tied
    if hasattr(config, "layer_norm_eps"):
        config.layer_norm_eps = 1e-2  # of all norms, so that another is noticed
    model = transformers.AutoModelForMaskedLM.from_config(config).eval()
    encoder = {id(weight) for weight in model.base_model.parameters()}
    with torch.no_grad():
        for weight in model.parameters():
            if id(weight) not in encoder:
                weight.add_(torch.randn_like(weight))
    model.save_pretrained(folder)
    tokenizer_of("bert").save_pretrained(folder)
    return model


def resolved(tmp_path: Path, folder: Path, extra: str = "") -> tuple[InputCache, ResolvedMember]:
    texts = [f"{text} {n} the quick brown fox jumps over lazy dogs" for n, text in enumerate(made_up_texts())]
    (tmp_path / "t.txt").write_text("\n".join(texts))
    data = "{name: table, alias: texts, path: t.txt, max_length: 16, columns: {kind: mlm}}"
    encoder = f"{{name: {folder}, dropout: 0.0{extra}}}"
    (tmp_path / "c.yml").write_text(f"data: {data}\nencoder: {encoder}\ntraining: {{precision: fp32}}\n")
    cache = InputCache()
    return cache, resolve(cache, load_suite(tmp_path / "c.yml").members[0])


def the_job(found: ResolvedMember) -> Job:
    (job,) = found.jobs
    return job


def key(found: ResolvedMember) -> str:
    return the_job(found).unit.key


def encoder_of(cache: InputCache, found: ResolvedMember) -> Encoder:
    settings = found.member.settings
    return cache.encoder(settings.encoder, settings.data)


@pytest.mark.parametrize("name", HEADS)
def test_a_saved_head_is_read_by_transformers_and_again(name: str, tmp_path: Path) -> None:
    theirs = published(name, tmp_path / "folder")
    cache, found = resolved(tmp_path, tmp_path / "folder")
    encoder = encoder_of(cache, found)
    assert encoder.head
    head = {each: weight + 1 for each, weight in encoder.head.items()}
    assert save_with_head(encoder.module, head, tmp_path / "saved")
    tokenizer_of("bert").save_pretrained(tmp_path / "saved")
    again = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "saved").eval()
    ids = torch.arange(6)[None]
    hidden, norm = theirs.base_model(ids).last_hidden_state, torch.nn.functional.layer_norm
    dense = torch.nn.functional.linear(hidden, head["layers.1.weight"], head["layers.1.bias"])
    shape = (dense.shape[-1],)
    eps = 1e-12 if name == "distilbert" else 1e-2
    found_norm = norm(torch.nn.functional.gelu(dense), shape, head["norm.weight"], head["norm.bias"], eps)
    wanted = found_norm @ theirs.get_input_embeddings().weight.T + head["bias"]
    assert torch.allclose(again(ids).logits, wanted, atol=1e-4)
    (tmp_path / "next").mkdir()
    own = encoder_of(*resolved(tmp_path / "next", tmp_path / "saved"))
    assert all(torch.equal(own.head[each], weight) for each, weight in head.items())


def test_a_head_that_transformers_has_not_is_not_saved(tmp_path: Path) -> None:
    assert not save_with_head(
        transformers.AutoModel.from_config(config_of("albert", 0.1)), {}, tmp_path / "a"
    )
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("name", HEADS)
def test_the_loss_before_training_is_that_of_the_published_model(name: str, tmp_path: Path) -> None:
    theirs = published(name, tmp_path / "folder")
    cache, found = resolved(tmp_path, tmp_path / "folder")
    job = the_job(found)
    inputs = _add_masking(job, cache.inputs(job.settings))
    model: MultiTaskModel = model_of(job, inputs).eval()
    (part,) = inputs.parts(job.unit.model.tasks, job.fold.train)
    for batch in part.training(8, seed=0, epoch=0):
        logits = model(batch.input_ids, batch.attention_mask, words=batch.words)
        (targets,) = batch.targets.values()
        own = KINDS["mlm"].losses(*logits.values(), [targets]).item()
        labels = torch.full_like(batch.input_ids, -100)
        row, column = (batch.words >= 0).nonzero(as_tuple=True)
        labels[row, batch.words[row, column]] = targets[row, column, 0]
        mask = batch.attention_mask.long()
        wanted = theirs(input_ids=batch.input_ids, attention_mask=mask, labels=labels).loss.item()
        assert own == pytest.approx(wanted, abs=1e-5)
    note = f"the head for masked words starts from the one that was published with {tmp_path / 'folder'}"
    assert inputs.encoder.notes[-1] == note


def test_an_encoder_without_a_head_has_a_new_one(tmp_path: Path) -> None:
    published("bert", tmp_path / "whole").base_model.save_pretrained(tmp_path / "folder")
    tokenizer_of("bert").save_pretrained(tmp_path / "folder")
    cache, found = resolved(tmp_path, tmp_path / "folder")
    encoder = encoder_of(cache, found)
    assert encoder.head == {}
    assert encoder.notes[-1].endswith("has no published head for masked words: it starts from random weights")
    assert "published_head" not in the_job(found).unit.train


def test_a_head_with_a_decoder_of_its_own_is_not_taken(tmp_path: Path) -> None:
    published("bert", tmp_path / "folder", tied=False)
    assert encoder_of(*resolved(tmp_path, tmp_path / "folder")).head == {}


def test_units_of_other_heads_have_other_keys(tmp_path: Path) -> None:
    whole = published("bert", tmp_path / "one")
    first = key(resolved(tmp_path, tmp_path / "one")[1])
    assert key(resolved(tmp_path, tmp_path / "one")[1]) == first
    with torch.no_grad():
        whole.cls.predictions.bias[7] += 1
    whole.save_pretrained(tmp_path / "one")
    assert key(resolved(tmp_path, tmp_path / "one")[1]) != first


def test_random_weights_have_a_new_head_and_an_own_vocabulary_a_new_bias(tmp_path: Path) -> None:
    theirs = published("bert", tmp_path / "folder")
    scratch = encoder_of(*resolved(tmp_path, tmp_path / "folder", ", weights: random"))
    assert scratch.head == {}
    cache, found = resolved(tmp_path, tmp_path / "folder", ", vocabulary: {size: 110}")
    inputs = cache.inputs(the_job(found).settings)
    (head,) = model_of(the_job(found), inputs).heads.values()
    dense = theirs.cls.predictions.transform.dense.weight
    assert torch.equal(head.layers[1].weight, dense)
    assert head.bias.tolist() == [0.0] * 110


def test_tokens_that_were_added_have_no_bias(tmp_path: Path) -> None:
    theirs = published("bert", tmp_path / "folder")
    cache, found = resolved(tmp_path, tmp_path / "folder")
    (head,) = model_of(the_job(found), cache.inputs(the_job(found).settings)).heads.values()
    bias = theirs.cls.predictions.bias
    assert torch.equal(head.bias, bias)
    head.bias = torch.nn.Parameter(torch.zeros(len(bias) + 2))
    head.start_from(encoder_of(cache, found).head)
    assert torch.equal(head.bias, torch.cat([bias, torch.zeros(2)]))


def test_texts_with_labels_read_no_head(tmp_path: Path) -> None:
    published("bert", tmp_path / "folder")
    rows = "\n".join(f"{text} {n},{int('heart' in text)}" for n, text in enumerate(made_up_texts()))
    (tmp_path / "t.csv").write_text(f"text,heart\n{rows}\n")
    data = "{name: table, path: t.csv, max_length: 16, columns: {labels: [heart]}}"
    (tmp_path / "c.yml").write_text(f"data: {data}\nencoder: {{name: {tmp_path / 'folder'}}}\n")
    cache = InputCache()
    found = encoder_of(cache, resolve(cache, load_suite(tmp_path / "c.yml").members[0]))
    assert found.head == {}
    assert found.notes == ()
