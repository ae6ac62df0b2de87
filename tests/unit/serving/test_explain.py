"""Words with the largest attention weights: of which tokens, of what was predicted, and where shown."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mtlv.data.batches import PartDocuments
from mtlv.data.columns import dense
from mtlv.data.tokens import tokenise
from mtlv.models.encoder import Encoder, load_encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.serving.answers import PredictionTable, write_answers
from mtlv.serving.explain import _words, attended_words
from mtlv.serving.kinds import TaskPrediction
from mtlv.serving.model import Prediction
from mtlv.serving.texts import from_arguments

TEXTS = ("heart heart lung", "lung", "bone-heart bone lung, heart lung heart bone lung heart bone lung", "")
TASKS = {"a": Task("a"), "b": Task("b"), "c": Task("c", kind="multiclass", classes=("x", "y"))}
HEADS = [HeadSpec(("a", "b")), HeadSpec(("c",))]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("tiny", texts=TEXTS * 9)


def model_of(encoder: Encoder, features: str = "attention") -> MultiTaskModel:
    how = {"features": features, "seed": 0, "dropout": 0.0}
    model = MultiTaskModel(encoder.module, HEADS, tasks=TASKS, **how)
    if features == "attention":
        generator = torch.Generator().manual_seed(2)
        for head in model.heads.values():
            torch.nn.init.normal_(head.queries.weight, generator=generator)
    return model


@pytest.mark.parametrize("overlap", [None, 0])
def test_a_word_has_the_weights_of_its_tokens_wherever_it_occurs(
    encoder: Encoder, overlap: int | None
) -> None:
    """In one row, and in windows; documents are given in another order."""
    length = 64 if overlap is None else 8
    tokens = tokenise(TEXTS, encoder.tokenizer, max_length=length, pad=0, overlap=overlap)
    index = np.array([2, 0, 3, 1])
    documents = PartDocuments(tokens, dense({name: np.zeros(4) for name in TASKS}), index)
    model = model_of(encoder)
    classes = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.4, 0.6]])
    how = {"tokenizer": encoder.tokenizer, "precision": "fp32"}
    words = attended_words(model, documents, {"c": classes}, **how)  # by place in `index`
    assert list(words) == ["a", "b", "c"]
    ids, special = encoder.tokenizer, set(encoder.tokenizer.all_special_ids)
    for place, document in enumerate(index):
        (batch,) = PartDocuments(tokens, documents.targets, np.array([document])).inference(1)
        with torch.no_grad():
            by_head = model(
                batch.input_ids,
                batch.attention_mask,
                windows=batch.windows,
                read=type(next(iter(model.heads.values()))).attention,
            )
        rows = batch.input_ids.flatten().tolist()
        is_token = batch.attention_mask.flatten().tolist()
        column = int(classes[place].argmax())
        for task, weights in (
            ("b", by_head[HEADS[0].name][..., 1]),
            ("c", by_head[HEADS[1].name][..., column]),
        ):
            expected: dict[str, float] = {}
            for token, weight, is_there in zip(rows, weights.flatten().tolist(), is_token, strict=True):
                if is_there and token not in special:
                    word = ids.decode([token])
                    expected[word] = expected.get(word, 0) + weight
            assert words[task][place] == pytest.approx(expected, rel=1e-4, abs=1e-7)
            values = list(words[task][place].values())
            assert values == sorted(values, reverse=True)
    assert words["a"][2] == {}
    assert attended_words(model_of(encoder, "mean"), documents, {}, **how) == {}


@pytest.mark.parametrize(
    "pieces", [("", "cardio", "##mega", "##ly", ",", "heart"), ("", " cardio", "mega", "ly", ",", " heart")]
)
def test_tokens_of_one_word_are_joined_whatever_marks_them(pieces: tuple[str, ...]) -> None:
    class Tokenizer:
        all_special_ids = (0, 9)

        def decode(self, ids: list[int]) -> str:
            between = " " if "##mega" in pieces else ""
            text = between.join(pieces[one] for one in ids)
            return text.replace(" ##", "").replace(" ,", ",")

    assert _words(Tokenizer(), [0, 1, 2, 3, 4, 9, 1, 5, -1, -1]) == [
        ("cardiomegaly", [1, 2, 3]),
        (",", [4]),
        ("cardio", [6]),
        ("heart", [7]),
    ]
    assert [places for _, places in _words(Tokenizer(), [1, 0, 2])] == [[0], [2]]  # windows meet here


def test_tokens_of_an_own_vocabulary_are_joined_without_a_decoder(encoder: Encoder) -> None:
    ids = encoder.tokenizer("lunger, lung", add_special_tokens=False)["input_ids"]
    assert encoder.tokenizer.convert_ids_to_tokens(ids)[1].startswith("##")
    assert [word for word, _ in _words(encoder.tokenizer, ids)] == ["lunger", ",", "lung"]


def shown(texts: list[str]) -> PredictionTable:
    words = {row: {"enlarged": 0.5, "heart": 0.25 + row / 100} for row in range(len(texts))}
    lung, heart = (
        TaskPrediction(Task(name), np.array([0.2, 0.9])[: len(texts)], 0.5) for name in ("lung", "heart")
    )
    lung, heart = replace(lung, attended=words), replace(heart, attended=words, threshold=0.1)
    return PredictionTable(from_arguments(texts), Prediction((lung, heart)), "mtl")


def test_words_are_given_for_what_was_predicted(tmp_path: Path) -> None:
    one, table = shown(["a"]), shown(["a", "b"])
    assert one.header == ("task", "probability", "threshold", "decided", "attention")
    assert [row[-1] for row in one.rows] == ["enlarged 0.50, heart 0.25", ""]
    assert table.header == ("text", "text", "decided", "attention")
    words = "enlarged 0.50, heart 0.26"
    assert [row[-1] for row in table.rows] == [
        "heart: enlarged 0.50, heart 0.25",
        f"lung: {words}; heart: {words}",
    ]
    assert table.record(0)["attention"] == {"heart": {"enlarged": 0.5, "heart": 0.25}}
    write_answers(table, tmp_path / "o.csv")
    with (tmp_path / "o.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["lung attention"] for row in rows] == ["", words]
    write_answers(table, tmp_path / "o.jsonl")
    second = json.loads((tmp_path / "o.jsonl").read_text().splitlines()[1])
    assert set(second["attention"]) == {"lung", "heart"}
