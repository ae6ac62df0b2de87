"""Tokens of our own: read as one, drawn from a seed, and no other encoder's matter."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from mtlv.errors import EncoderError
from mtlv.models.encoder import Encoder, load_encoder, weights_digest
from mtlv.models.encoder_config import read_bare, tokenizer_digest, write_bare
from mtlv.models.vocabulary import new_tokens, with_tokens

TEXTS = ["aspirin inhibits the gene", "a gene and a drug"]
TOKENS = ("@GENE$", "@DRUG$", "[E1]", "[/E1]")


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("tiny", texts=TEXTS)


def rows(encoder: Encoder, tokens: tuple[str, ...] = TOKENS) -> torch.Tensor:
    ids = encoder.tokenizer.convert_tokens_to_ids(list(tokens))
    return encoder.module.get_input_embeddings().weight.detach()[ids]


def test_tokens_are_read_as_one_wherever_they_stand(encoder: Encoder) -> None:
    grown = with_tokens(encoder, TOKENS)
    split = grown.tokenizer.tokenize("The [E1] @GENE$-aspirin[/E1] a@DRUG$gene")
    assert [piece for piece in split if piece in TOKENS] == ["[E1]", "@GENE$", "[/E1]", "@DRUG$"]
    assert grown.tokenizer.unk_token_id not in grown.tokenizer.convert_tokens_to_ids(list(TOKENS))
    assert new_tokens(encoder.tokenizer, ("@GENE$", "x", "@GENE$")) == ("@GENE$", "x")
    assert new_tokens(grown.tokenizer, ("@GENE$", "x")) == ("x",)


def test_the_encoder_handed_in_is_not_changed(encoder: Encoder) -> None:
    before, size = weights_digest(encoder.module, encoder.tokenizer), len(encoder.tokenizer)
    grown = with_tokens(encoder, TOKENS)
    assert weights_digest(encoder.module, encoder.tokenizer) == before == encoder.digest
    assert len(encoder.tokenizer) == size
    assert grown.digest not in {before, with_tokens(encoder, TOKENS[:2]).digest}
    assert grown.digest == weights_digest(grown.module, grown.tokenizer)
    assert grown.module.config.vocab_size == len(grown.tokenizer) == size + len(TOKENS)


def test_twice_is_once(encoder: Encoder) -> None:
    grown = with_tokens(encoder, TOKENS)
    assert with_tokens(grown, TOKENS) is grown
    assert with_tokens(encoder, ()) is encoder
    step = with_tokens(with_tokens(encoder, TOKENS[2:]), TOKENS)
    torch.testing.assert_close(rows(step), rows(grown), rtol=0, atol=0)


def test_rows_depend_on_the_name_alone(encoder: Encoder) -> None:
    torch.manual_seed(1)
    state = torch.random.get_rng_state()
    grown = with_tokens(encoder, TOKENS)
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.manual_seed(2)
    again = with_tokens(encoder, reversed(TOKENS))
    assert torch.equal(rows(grown), rows(again))


def test_rows_are_near_the_mean_of_the_names_pieces_and_differ(encoder: Encoder) -> None:
    grown = with_tokens(encoder, TOKENS)
    old = encoder.module.get_input_embeddings().weight.detach()
    gene = old[encoder.tokenizer.convert_tokens_to_ids("gene")]  # this vocabulary has no @ and no $
    drawn = rows(grown)[0] - gene
    assert drawn.std().item() == pytest.approx(0.02, rel=0.3)
    assert len(torch.unique(rows(grown), dim=0)) == len(TOKENS)
    new = grown.module.get_input_embeddings().weight.detach()
    assert torch.equal(new[: len(old)], old)


def test_a_name_of_unknown_pieces_starts_from_the_mean_of_all(encoder: Encoder) -> None:
    grown = with_tokens(encoder, ["☃"])
    mean = encoder.module.get_input_embeddings().weight.detach().mean(0)
    assert (rows(grown, ("☃",))[0] - mean).std().item() == pytest.approx(0.02, rel=0.3)


def test_other_texts_are_read_as_before(encoder: Encoder) -> None:
    grown = with_tokens(encoder, TOKENS)
    outputs = []
    for one in (encoder, grown):
        given = one.tokenizer(TEXTS, padding=True, return_tensors="pt")
        outputs.append(one.module(**given).last_hidden_state.detach())
    assert torch.equal(*outputs)


def test_a_token_that_the_vocabulary_has_keeps_its_row(encoder: Encoder) -> None:
    grown = with_tokens(encoder, ["gene"])
    assert torch.equal(rows(grown, ("gene",)), rows(encoder, ("gene",)))
    assert grown.tokenizer.tokenize("agenes")[1] == "gene"
    assert grown.module.config.vocab_size == encoder.module.config.vocab_size


def test_rows_that_a_padded_vocabulary_has_left_are_drawn_too(encoder: Encoder) -> None:
    size = len(encoder.tokenizer) + 2
    config = BertConfig(vocab_size=size, hidden_size=16, num_hidden_layers=1, num_attention_heads=1)
    module = BertModel(config)
    with torch.no_grad():
        module.get_input_embeddings().weight[-2:] = 100.0
    padded = Encoder("padded", module, copy.deepcopy(encoder.tokenizer), "")
    grown = with_tokens(padded, TOKENS)
    assert len(grown.module.get_input_embeddings().weight) == size + 2
    assert rows(grown).abs().max() < 10
    assert (module.get_input_embeddings().weight[-2:] == 100).all()


def test_it_can_be_written_and_read_again(encoder: Encoder, tmp_path: Path) -> None:
    grown = with_tokens(encoder, TOKENS)
    write_bare(grown, tmp_path)
    module, tokenizer = read_bare(tmp_path)
    module.load_state_dict(grown.module.state_dict())
    assert tokenizer_digest(tokenizer) == tokenizer_digest(grown.tokenizer)
    text = "The [E1] @GENE$-aspirin[/E1]"
    assert np.array_equal(tokenizer(text)["input_ids"], grown.tokenizer(text)["input_ids"])


@pytest.mark.parametrize("token", ["", " @GENE$"])
def test_a_token_is_something_without_blanks_around_it(encoder: Encoder, token: str) -> None:
    with pytest.raises(EncoderError, match="empty or has surrounding spaces"):
        with_tokens(encoder, [token])


def test_a_slow_tokenizer_is_refused(encoder: Encoder) -> None:
    class Slow:
        is_fast = False

        def get_added_vocab(self) -> dict[str, int]:
            return {}

    slow = Encoder("slow", encoder.module, Slow(), "")
    with pytest.raises(EncoderError, match=r"`slow` is not a fast one; use an encoder"):
        with_tokens(slow, TOKENS)
