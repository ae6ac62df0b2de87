"""Mentions as the encoder reads them: nothing is lost, whatever overlaps, and every place is found again."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mtlv.data.batches import PartDocuments
from mtlv.data.columns import dense
from mtlv.data.relations import INPUTS, show_all
from mtlv.data.tokens import CUT_OFF, NO_WORD, Tokens, tokenise
from mtlv.errors import DataError
from mtlv.models.encoder import Encoder, load_encoder
from mtlv.models.vocabulary import with_tokens
from mtlv.plan.spans import Span

TEXT = "aspirin inhibits the COX-1 gene"
DRUG, GENE = Span(0, 7, "DRUG"), Span(21, 26, "GENE")
WHOLE = Span(21, 31, "GENE")  # COX-1 gene
TOKENS = ("@DRUG$", "@GENE$", "[/E1]", "[/E2]", "[E1]", "[E2]")


def at(text: str, spans: tuple[Span, ...]) -> list[str]:
    return [text[span.start : span.end] for span in spans]


@pytest.mark.parametrize(
    ("name", "mentions", "text", "places"),
    [
        ("original", (GENE, DRUG), TEXT, ["COX-1", "aspirin"]),
        ("dummy", (DRUG, GENE), "@DRUG$ inhibits the @GENE$ gene", ["@DRUG$", "@GENE$"]),
        ("dummy", (GENE, DRUG), "@DRUG$ inhibits the @GENE$ gene", ["@GENE$", "@DRUG$"]),
        ("dummy", (), TEXT, []),
        # One within another, and twice the same: both tokens stand for all of it.
        ("dummy", (Span(21, 24, "DRUG"), WHOLE), "aspirin inhibits the @GENE$ @DRUG$", ["@DRUG$", "@GENE$"]),
        ("dummy", (GENE, GENE), "aspirin inhibits the @GENE$ @GENE$ gene", ["@GENE$", "@GENE$"]),
        # A chain: the first and the last touch by the one between alone.
        (
            "dummy",
            (Span(8, 12, "A"), Span(10, 18, "B"), Span(17, 22, "C")),
            "aspirin @A$ @B$ @C$OX-1 gene",
            ["@A$", "@B$", "@C$"],
        ),
        # Neighbours do not overlap.
        ("dummy", (Span(0, 3, "A"), Span(3, 7, "B")), "@A$@B$ inhibits the COX-1 gene", ["@A$", "@B$"]),
        (
            "markers",
            (GENE, DRUG),
            "[E2] aspirin [/E2] inhibits the [E1] COX-1 [/E1] gene",
            ["[E1] COX-1 [/E1]", "[E2] aspirin [/E2]"],
        ),
        (
            "markers",
            (Span(21, 24, "DRUG"), WHOLE),
            "aspirin inhibits the [E2] [E1] COX [/E1]-1 gene [/E2]",
            ["[E1] COX [/E1]", "[E2] [E1] COX [/E1]-1 gene [/E2]"],
        ),
        (
            "markers",
            (GENE, GENE),
            "aspirin inhibits the [E1] [E2] COX-1 [/E2] [/E1] gene",
            ["[E1] [E2] COX-1 [/E2] [/E1]", "[E2] COX-1 [/E2]"],
        ),
        (  # they cross
            "markers",
            (Span(0, 16, "A"), Span(8, 20, "B")),
            "[E1] aspirin [E2] inhibits [/E1] the [/E2] COX-1 gene",
            ["[E1] aspirin [E2] inhibits [/E1]", "[E2] inhibits [/E1] the [/E2]"],
        ),
        (
            "markers",
            (Span(0, 3, "A"), Span(3, 7, "B")),
            "[E1] asp [/E1][E2] irin [/E2] inhibits the COX-1 gene",
            ["[E1] asp [/E1]", "[E2] irin [/E2]"],
        ),
    ],
)
def test_inputs_by_hand(name: str, mentions: tuple[Span, ...], text: str, places: list[str]) -> None:
    shown, spans = INPUTS[name](TEXT, mentions)
    assert shown == text
    assert at(shown, spans) == places
    assert [span.type for span in spans] == [span.type for span in mentions]


@st.composite
def marked(draw: st.DrawFn) -> tuple[str, tuple[Span, ...]]:
    text = draw(st.text("ab é,", min_size=1, max_size=12))
    pairs = draw(st.lists(st.tuples(*[st.integers(0, len(text))] * 2), max_size=4))
    return text, tuple(Span(min(p), max(p), draw(st.sampled_from("XY"))) for p in pairs if p[0] != p[1])


@settings(max_examples=150, deadline=None)
@given(marked())
def test_markers_leave_the_text_and_stand_round_each_mention(document: tuple[str, tuple[Span, ...]]) -> None:
    text, mentions = document
    shown, spans = INPUTS["markers"](text, mentions)
    plain = re.compile(r"\[E\d\] | \[/E\d\]")
    assert plain.sub("", shown) == text
    for number, (span, mention) in enumerate(zip(spans, mentions, strict=True), 1):
        (held,) = at(shown, (span,))
        assert held.startswith(f"[E{number}] ")
        assert held.endswith(f" [/E{number}]")
        assert plain.sub("", held) == text[mention.start : mention.end]


@settings(max_examples=150, deadline=None)
@given(marked())
def test_dummies_stand_for_all_of_every_mention_and_nothing_else(
    document: tuple[str, tuple[Span, ...]],
) -> None:
    text, mentions = document
    shown, spans = INPUTS["dummy"](text, mentions)
    assert at(shown, spans) == [f"@{mention.type}$" for mention in mentions]
    assert len({span.start for span in spans}) == len(mentions)
    covered = {place for mention in mentions for place in range(mention.start, mention.end)}
    left = "".join(character for place, character in enumerate(text) if place not in covered)
    assert re.sub(r"@[XY]\$( (?=@))?", "", shown).replace(" ", "") == left.replace(" ", "")
    assert INPUTS["original"](text, mentions) == (text, mentions)


@pytest.mark.parametrize("name", sorted(INPUTS))
@pytest.mark.parametrize("span", [Span(3, 3, "X"), Span(-1, 2, "X"), Span(5, 99, "X"), Span(4, 2, "X")])
def test_a_mention_lies_in_its_text(name: str, span: Span) -> None:
    with pytest.raises(DataError, match=rf"text of 31 characters \(got {span.start} to {span.end}\)"):
        INPUTS[name](TEXT, (DRUG, span))


def test_a_dummy_needs_a_type() -> None:
    with pytest.raises(DataError, match="no type, which `dummy` needs; use `markers`"):
        INPUTS["dummy"](TEXT, (Span(0, 7),))
    assert INPUTS["markers"](TEXT, (Span(0, 7),))[0].startswith("[E1] aspirin [/E1]")


def test_tokens_for_the_vocabulary() -> None:
    rows = [(DRUG, GENE), (GENE,), ()]
    assert INPUTS["dummy"].tokens(rows) == ("@DRUG$", "@GENE$")
    assert INPUTS["markers"].tokens(rows) == ("[/E1]", "[/E2]", "[E1]", "[E2]")
    assert INPUTS["original"].tokens(rows) == ()
    texts, spans = show_all(INPUTS["dummy"], [TEXT, TEXT, TEXT], rows)
    assert texts == ["@DRUG$ inhibits the @GENE$ gene", "aspirin inhibits the @GENE$ gene", TEXT]
    assert spans[2] == ()


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return with_tokens(load_encoder("tiny", texts=[TEXT, "not any"]), TOKENS)


def tokens_of(encoder: Encoder, name: str, rows: list[tuple[Span, ...]], length: int = 64) -> Tokens:
    texts, mentions = show_all(INPUTS[name], [TEXT] * len(rows), rows)
    pad = encoder.tokenizer.pad_token_id
    return tokenise(texts, encoder.tokenizer, max_length=length, pad=pad, mentions=mentions)


def pieces(encoder: Encoder, tokens: Tokens, document: int) -> list[list[str]]:
    """The tokens of each mention."""
    assert tokens.mentions is not None
    names = encoder.tokenizer.convert_ids_to_tokens(tokens.pad_rows(np.array([document]))[0][0])
    pairs = tokens.mentions.pad_rows(np.array([document])).reshape(-1, 2)
    return [names[first:behind] for first, behind in pairs.tolist()]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("original", [["cox", "-", "1"], ["aspirin"]]),
        ("dummy", [["@GENE$"], ["@DRUG$"]]),
        ("markers", [["[E1]", "cox", "-", "1", "[/E1]"], ["[E2]", "aspirin", "[/E2]"]]),
    ],
)
def test_mentions_are_found_among_the_tokens(encoder: Encoder, name: str, found: list[list[str]]) -> None:
    assert pieces(encoder, tokens_of(encoder, name, [(GENE, DRUG)]), 0) == found


def test_a_mention_that_ends_within_a_token_holds_all_of_it(encoder: Encoder) -> None:
    tokens = tokens_of(encoder, "original", [(Span(2, 5, "X"), Span(0, 20, "X"))])
    assert pieces(encoder, tokens, 0) == [["aspirin"], ["aspirin", "inhibits", "the"]]


def test_no_mention_is_among_special_tokens_or_the_second_text(encoder: Encoder) -> None:
    pad = encoder.tokenizer.pad_token_id
    given_ = {"max_length": 64, "pad": pad, "seconds": [TEXT], "mentions": [(DRUG,)]}
    tokens = tokenise([TEXT], encoder.tokenizer, **given_)  # type: ignore[arg-type]
    assert pieces(encoder, tokens, 0) == [["aspirin"]]


def test_mentions_behind_the_end_are_cut_off_and_counted(encoder: Encoder) -> None:
    rows = [(DRUG, GENE), (Span(0, 31, "X"), Span(27, 31, "X")), ()]
    tokens = tokens_of(encoder, "original", rows, length=5)  # [CLS] aspirin inhibits the [SEP]
    assert tokens.mentions is not None
    pairs = tokens.pad_mentions(np.arange(3))
    assert pairs is not None
    assert pairs.tolist() == [
        [[1, 2], [CUT_OFF, CUT_OFF]],
        [[1, 4], [CUT_OFF, CUT_OFF]],
        [[NO_WORD, NO_WORD]] * 2,
    ]
    whole = tokens_of(encoder, "original", rows).mentions
    assert whole is not None
    assert CUT_OFF not in whole.flat


def test_a_mention_of_which_no_token_is_left_is_cut_off_too(encoder: Encoder) -> None:
    tokens = tokens_of(encoder, "original", [(Span(7, 8, "X"),)])  # a blank
    assert pieces(encoder, tokens, 0) == [[]]
    assert tokens.mentions is not None
    assert tokens.mentions.flat.tolist() == [CUT_OFF, CUT_OFF]


def test_words_have_no_mentions(encoder: Encoder) -> None:
    with pytest.raises(DataError, match="entities are marked in texts"):
        tokenise([["a"]], encoder.tokenizer, max_length=8, pad=0, mentions=[()])


def test_batches_hold_mentions_and_their_parts_do(encoder: Encoder) -> None:
    rows = [(DRUG, GENE), (GENE,), (), (WHOLE, DRUG)]
    tokens = tokens_of(encoder, "markers", rows)
    documents = PartDocuments(tokens, dense({"y": np.zeros(4, np.int8)}), np.arange(4))
    (batch,) = documents.inference(4)
    assert batch.mentions is not None
    assert batch.mentions.shape == (4, 2, 2)
    assert batch.to(torch.device("cpu")).mentions is batch.mentions
    parts = [part.mentions for part in batch.pieces(3)]
    assert torch.equal(torch.cat([part for part in parts if part is not None]), batch.mentions)
    whole = tokens.pad_mentions(batch.index)
    assert whole is not None
    assert batch.mentions.tolist() == whole.tolist()
    none = next(PartDocuments(tokens, {}, np.array([2])).inference(1)).mentions
    assert none is not None
    assert none.shape == (1, 0, 2)


def test_without_marked_entities_nothing_changes(encoder: Encoder) -> None:
    plain = tokenise([TEXT], encoder.tokenizer, max_length=64, pad=0)
    assert plain.mentions is None
    assert plain.pad_mentions(np.array([0])) is None
    assert next(PartDocuments(plain, {}, np.array([0])).inference(1)).mentions is None
    assert plain.ids.tolist() == tokens_of(encoder, "original", [(DRUG,)]).ids.tolist()


# ---- Read back -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["dummy", "markers"])
def test_what_was_shown_is_shown_again_when_it_is_read(how: str) -> None:
    text = "aspirin blocks COX1 and COX2"
    for spans in ([Span(0, 7, "DRUG"), Span(15, 19, "GENE")], [Span(24, 28, "GENE"), Span(0, 28, "DRUG")]):
        shown = INPUTS[how]
        known = shown.tokens([spans])
        written, _ = shown(text, spans)
        assert shown(*shown.read(written, known))[0] == written


def test_markers_are_read_with_their_places() -> None:
    known = ("[E1]", "[/E1]", "[E2]", "[/E2]")
    found = INPUTS["markers"].read("[E2]COX1[/E2] and [E1] aspirin [/E1].", known)
    assert found == ("COX1 and aspirin.", (Span(9, 16), Span(0, 4)))
    for text in ("[E1] aspirin", "aspirin [/E1]", "aspirin", "[E3] a [/E3]"):
        assert INPUTS["markers"].read(text, known) == (text, ())


def test_only_known_tokens_are_read() -> None:
    found = INPUTS["dummy"].read("@DRUG$ and @GENE$, @DRUG$", ("[CLS]", "@DRUG$"))
    assert found[1] == (Span(0, 6, "DRUG"), Span(19, 25, "DRUG"))
    assert INPUTS["dummy"].read("@DRUG$", ()) == ("@DRUG$", ())
    assert INPUTS["original"].read("@DRUG$", ("@DRUG$",)) == ("@DRUG$", ())
