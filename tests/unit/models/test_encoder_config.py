"""Encoders written without weights and read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtlv.errors import EncoderError
from mtlv.models.encoder import Encoder, load_encoder
from mtlv.models.encoder_config import read_bare, tokenizer_digest, write_bare

TEXTS = ("The heart is ENLARGED", "pleural effusion, small", "naïve 肺炎 re-expansion")


@pytest.mark.parametrize("name", ["tiny", "minilm"])
def test_what_is_read_back_splits_texts_in_the_same_way(name: str, tmp_path: Path) -> None:
    encoder = load_encoder(name, texts=TEXTS)
    encoder.tokenizer(list(TEXTS), truncation=True, max_length=5)  # leaves its limit in the tokenizer
    write_bare(encoder, tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".json"]
    module, tokenizer = read_bare(tmp_path)
    assert tokenizer_digest(tokenizer) == tokenizer_digest(encoder.tokenizer)
    assert tokenizer(list(TEXTS))["input_ids"] == encoder.tokenizer(list(TEXTS))["input_ids"]
    assert {k: v.shape for k, v in module.state_dict().items()} == {
        k: v.shape for k, v in encoder.module.state_dict().items()
    }


def test_a_cased_tokenizer_stays_cased(tmp_path: Path) -> None:
    from transformers import BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Heart", "heart", "Lung", "lung", "A", "a"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    tiny = load_encoder("tiny", texts=TEXTS)
    digests = set()
    for lower in (True, False):
        tokenizer = BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=lower)
        folder = tmp_path / str(lower)
        write_bare(Encoder("x", tiny.module, tokenizer, "digest"), folder)
        _, back = read_bare(folder)
        assert back("Heart lung A")["input_ids"] == tokenizer("Heart lung A")["input_ids"]
        assert tokenizer_digest(back) == tokenizer_digest(tokenizer)
        digests.add(tokenizer_digest(back))
    assert len(digests) == 2


def test_a_folder_without_an_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"encoder in .* cannot be read .*get the model again"):
        read_bare(tmp_path / "nothing")


def test_code_that_a_folder_brings_is_not_run(tmp_path: Path) -> None:

    encoder = load_encoder("tiny", texts=TEXTS)
    write_bare(encoder, tmp_path)
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Own: pass\n")
    path = tmp_path / "config.json"
    names = {"AutoConfig": "own.Own", "AutoModel": "own.Own", "AutoTokenizer": ["own.Own", "own.Own"]}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"auto_map": names}))
    read_bare(tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_type": "own"}))
    with pytest.raises(EncoderError, match=r"cannot be read"):
        read_bare(tmp_path)
    assert not (tmp_path / "ran").exists()
