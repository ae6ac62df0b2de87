"""Encoders whose tokens see only those before them, and models that are no encoders: used, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
import torch
import transformers

from mtlv.errors import ConfigError, EncoderError
from mtlv.models.causal import SEEING, UNSEEING, is_causal_by_config, need_seeing
from mtlv.models.encoder import load_encoder
from mtlv.models.pooling import FEATURES, RELATION_FEATURES
from mtlv.models.tiny import build_tiny
from mtlv.planning.check import check_suite
from mtlv.planning.resolve import resolve
from mtlv.settings import Suite, load_suite
from mtlv.settings.schema import EncoderSettings, HeadSettings
from mtlv.units.input_cache import InputCache

SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
CONFIGS = {
    "gpt2": transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2),
    "bert": transformers.BertConfig(**SIZES),
    "bert, as a decoder": transformers.BertConfig(**SIZES, is_decoder=True),
    "eurobert": transformers.EuroBertConfig(
        **SIZES, num_key_value_heads=2, pad_token_id=0, bos_token_id=2, eos_token_id=3
    ),
    "gemma3, both ways": transformers.Gemma3TextConfig(
        **SIZES, num_key_value_heads=2, head_dim=8, use_bidirectional_attention=True
    ),
    "llama, both ways": transformers.LlamaConfig(**SIZES, is_causal=False),
    "bloom": transformers.BloomConfig(hidden_size=16, n_layer=1, n_head=2),
    "bart": transformers.BartConfig(
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
    ),
    "vit": transformers.ViTConfig(**SIZES, image_size=16, patch_size=8),
}
CAUSAL = ("gpt2", "bert, as a decoder", "bloom")
UNSAID = ("bloom",)
"""Causal by code of their own, which no config says: found out when they are loaded."""
BOTH_WAYS = ("bert", "eurobert", "gemma3, both ways", "llama, both ways")


def write(name: str, folder: Path) -> Path:
    _, tokenizer = build_tiny(["the heart"])
    config = CONFIGS[name]
    if hasattr(config, "vocab_size"):
        config.vocab_size = 64
    torch.manual_seed(0)
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", [*CAUSAL, *BOTH_WAYS])
def test_what_a_config_says_is_what_the_encoder_does(name: str, tmp_path: Path) -> None:
    folder = str(write(name, tmp_path))
    assert load_encoder(folder).causal == (name in CAUSAL)
    assert is_causal_by_config(folder) == (name in CAUSAL and name not in UNSAID)


def test_of_names_and_broken_folders_no_config_says_anything(tmp_path: Path) -> None:
    assert not is_causal_by_config("minilm")
    assert not is_causal_by_config("somebody/something")
    (tmp_path / "config.json").write_text("{")
    assert not is_causal_by_config(str(tmp_path))


def test_what_is_allowed_instead_is_all_the_others() -> None:
    assert {
        "encoder.features": ", ".join(each for each in FEATURES if each not in UNSEEING),
        "heads.relation_features": ", ".join(
            each for each in ("document", *RELATION_FEATURES) if each not in UNSEEING
        ),
    } == SEEING
    assert set(get_args(EncoderSettings.model_fields["features"].annotation)) == set(FEATURES)
    assert set(get_args(HeadSettings.model_fields["relation_features"].annotation)) == {
        "document",
        *RELATION_FEATURES,
    }


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"features": "cls"},
            r"`encoder.features`: in encoder `x` .*\(got cls\); allowed: mean, last, attention\.",
        ),
        ({"features": "pooler"}, r"`encoder.features`: .*\(got pooler\); allowed: mean, last, attention\."),
        (
            {"features": "mean", "relation_features": "start"},
            r"`heads.relation_features`: .*\(got start\); allowed: document, mention, mention_mean\.",
        ),
        ({"features": "last", "relation_features": "cls"}, r"`heads.relation_features`: .*\(got cls\)"),
        ({"features": "mean", "tagged": True}, r"`encoder.name`: tags .* `x` .*; use an encoder with"),
        ({"features": "mean", "hidden": True}, r"`encoder.name`: masked words .* `x` .*leave out the texts"),
    ],
    ids=str,
)
def test_what_reads_a_first_token_is_refused(asked: dict, said: str) -> None:
    with pytest.raises(EncoderError, match=said):
        need_seeing("x", **asked)


def test_what_reads_others_is_not() -> None:
    for features in ("mean", "last"):
        for relations in ("document", "mention", "mention_mean"):
            need_seeing("x", features=features, relation_features=relations)


TAGS = "text,tags\n" + "".join(f"the heart {n},{'O B-Organ O' if n % 2 else 'O O O'}\n" for n in range(20))
PLACES = '"[[0, 4, ""A""], [10, 14, ""B""]]"'
RELATIONS = "text,spans,target\n" + "".join(f"This hits that {n},{PLACES},{n % 2}\n" for n in range(20))
PLAIN = "text,heart\n" + "".join(f"the heart {n},{n % 2}\n" for n in range(20))
COLUMNS = {
    "plain": (PLAIN, "labels: [heart]"),
    "tags": (TAGS, "kind: tagging, tags: tags"),
    "relations": (RELATIONS, "kind: multiclass, target: target, mentions: spans"),
    "texts": (PLAIN, "kind: mlm"),
}


def suite(folder: Path, encoder: Path, table: str, *changes: str) -> Suite:
    content, columns = COLUMNS[table]
    (folder / "t.csv").write_text(content)
    (folder / "c.yml").write_text("experiment: unit\n")
    given = ("data.name=table", f"data.path={folder / 't.csv'}", f"data.columns={{{columns}}}")
    return load_suite(folder / "c.yml", [*given, f"encoder.name={encoder}", "training.device=cpu", *changes])


REFUSED = [
    ("plain", "encoder.features=cls", "`encoder.features`"),
    ("plain", "encoder.features=pooler", "`encoder.features`"),
    ("tags", "encoder.features=mean", "`encoder.name`: tags"),
]


@pytest.mark.parametrize(("table", "change", "said"), REFUSED)
def test_check_says_it_where_the_config_does_and_a_run_before_it_trains(
    table: str, change: str, said: str, tmp_path: Path
) -> None:
    folder = write("gpt2", tmp_path / "encoder")
    with pytest.raises(ConfigError, match=said):
        check_suite(suite(tmp_path, folder, table, change))
    with pytest.raises(EncoderError, match=said):
        resolve(InputCache(), suite(tmp_path, folder, table, change).members[0])
    unsaid = write("bloom", tmp_path / "other")
    check_suite(suite(tmp_path, unsaid, table, change))
    with pytest.raises(EncoderError, match=said):
        resolve(InputCache(), suite(tmp_path, unsaid, table, change).members[0])


def test_hidden_words_need_what_is_behind_them(tmp_path: Path) -> None:
    asked = suite(tmp_path, write("gpt2", tmp_path / "encoder"), "texts")
    with pytest.raises(ConfigError, match=r"`encoder.name`: masked words"):
        check_suite(asked)
    with pytest.raises(EncoderError, match=r"`encoder.name`: masked words"):
        resolve(InputCache(), asked.members[0])


@pytest.mark.parametrize(("table", "change", "said"), REFUSED)
def test_what_looks_both_ways_on_a_decoders_code_is_not_refused(
    table: str, change: str, said: str, tmp_path: Path
) -> None:
    asked = suite(tmp_path, write("eurobert", tmp_path / "encoder"), table, change)
    check_suite(asked)
    resolve(InputCache(), asked.members[0])


def test_relations_of_a_causal_encoder_are_read_from_entities_or_the_whole(tmp_path: Path) -> None:
    folder = write("gpt2", tmp_path / "encoder")

    def resolved(table: str, features: str) -> None:
        asked = suite(tmp_path, folder, table, f"heads.relation_features={features}")
        resolve(InputCache(), asked.members[0])

    resolved("relations", "mention")
    resolved("relations", "document")
    resolved("plain", "start")  # which nothing reads there
    for features in ("start", "cls"):
        with pytest.raises(EncoderError, match=r"`heads.relation_features`.*allowed: document, mention"):
            resolved("relations", features)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "bart",
            r"`encoder.name`: .*encoder-decoder model cannot be loaded .* \(got bart\); allowed: .* like T5",
        ),
        ("vit", r"`encoder.name`: .*does not read text alone \(got vit\); allowed: a model that"),
    ],
)
def test_what_is_no_encoder_of_texts_is_refused(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=said):
        load_encoder(str(write(name, tmp_path)))
