"""The page of `mtlv data check --figures`: what its figures count, and what it must not show."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtlv.comparison.data_page import SAMPLE, project_documents, write_data_page
from mtlv.data.folds import Fold
from mtlv.data.report import CorpusCheck
from mtlv.data.source import Corpus
from mtlv.errors import DataError
from mtlv.plan import Task

N = 40
SECRET = "confidential"
FOLD = Fold(0, train=np.arange(20), validation=np.arange(20, 28), test=np.arange(28, 39))  # the last in none
HEART = np.arange(N) % 2 == 0
TOPIC = np.where(np.arange(N) < 6, 0, 1)


def check(**changes) -> CorpusCheck:
    words = ("heart beats slowly", "lung breathes deeply", "bone breaks again")
    texts = tuple(f"{SECRET} {words[n % 3]} {words[n % 2]} {n % 5}" for n in range(N))
    tasks = (Task("heart"), Task("topic", "multiclass", classes=("acute", "old")))
    targets = {"heart": HEART.astype(np.int8), "topic": TOPIC}
    corpus = Corpus("made", tasks, tuple(f"id {n}" for n in range(N)), texts, targets)
    return CorpusCheck(corpus, (FOLD,), lengths=np.arange(1, N + 1), max_length=30, **changes)


def data_of(page: Path) -> dict:
    packed = re.search('id="data">([^<]+)<', page.read_text(encoding="utf-8"))[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def blocks_of(page: Path) -> dict[str, dict]:
    """The figures of a page by their ids, with rows."""
    blocks = [block for section in data_of(page)["sections"] for block in section["blocks"]]
    for block in blocks:
        columns = {name: unpacked(column) for name, column in block["packed"]["columns"].items()}
        block["rows"] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {block["id"]: block for block in blocks}


def unpacked(column):
    return column if isinstance(column, list) else [column["texts"][place] for place in column["places"]]


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    return write_data_page(tmp_path_factory.mktemp("page"), [check()])


@pytest.fixture(scope="module")
def figures(page: Path) -> dict[str, dict]:
    return blocks_of(page)


def test_the_share_beyond_the_limit_is_counted_and_marked(figures):
    figure = figures["lengths_1"]
    assert figure["caption"].startswith("25.0% of the documents (10 of 40) are longer than")
    longer = {row["tokens"]: row["length"] == "longer" for row in figure["rows"]}
    assert [at for at, is_longer in longer.items() if is_longer] == list(range(31, 41))
    assert sum(row["documents"] for row in figure["rows"]) == N
    line = figure["spec"]["layer"][1]["encoding"]["x"]["datum"]
    assert 30 < line < 31


def test_a_few_very_long_documents_do_not_stretch_the_axis(tmp_path):
    lengths = np.array([10] * 999 + [100_000])
    long = replace(check(), lengths=lengths)
    rows = blocks_of(write_data_page(tmp_path, [long]))["lengths_1"]["rows"]
    assert [(row["tokens"], row["documents"]) for row in rows] == [(10, 999), (30, 1)]


def test_documents_are_counted_by_label_and_part_the_most_frequent_label_first(figures):
    counts = {(row["label"], row["part"]): row["documents"] for row in figures["labels_1"]["rows"]}
    assert list(dict.fromkeys(label for label, _ in counts)) == ["topic: old", "heart", "topic: acute"]
    parts = {"train": FOLD.train, "validation": FOLD.validation, "test": FOLD.test, "left out": [39]}
    flags = {"heart": HEART, "topic: acute": TOPIC == 0, "topic: old": TOPIC == 1}
    assert counts == {
        (name, part): of[rows].sum() for name, of in flags.items() for part, rows in parts.items()
    }
    tasks = {row["label"]: row["task"] for row in figures["labels_1"]["rows"]}
    assert tasks == {"heart": "heart", "topic: acute": None, "topic: old": None}  # labels follow the filter


def test_the_map_has_the_documents_of_each_label_at_one_place(figures):
    rows = figures["documents_1"]["rows"]
    assert Counter(row["label"] for row in rows) == {"heart": 20, "topic: old": 34, "topic: acute": 6}
    places: dict[str, set] = {}
    for row in rows:
        places.setdefault(row["document"], set()).add((row["x"], row["y"], row["part"]))
    assert all(len(place) == 1 for place in places.values())
    assert {row["document"] for row in rows if row["label"] == "topic: acute"} == {
        f"id {n}" for n in range(6)
    }
    assert places["id 39"].pop()[2] == "left out"
    background = figures["documents_1"]["spec"]["spec"]["layer"][0]["data"]["values"]
    assert len([point for point in background if point["x"] is None]) == N  # a gap after each document


def test_texts_are_shown_only_where_they_may(page, figures, tmp_path):
    assert all(row["text"].startswith(SECRET) for row in figures["documents_1"]["rows"])
    hidden = write_data_page(tmp_path, [check()], with_texts=False)
    assert "id 3" in str(data_of(hidden))
    assert SECRET not in str(data_of(hidden))


def test_the_same_data_give_the_same_page(page, tmp_path):
    assert write_data_page(tmp_path, [check()]).read_bytes() == page.read_bytes()


def test_without_a_tokenizer_a_split_or_common_words_there_is_what_can_be_drawn(tmp_path):
    bare = replace(check(), folds=(), lengths=None)
    texts = tuple(f"only{n}" for n in range(N))
    bare = replace(bare, corpus=replace(bare.corpus, texts=texts))
    figures = blocks_of(write_data_page(tmp_path, [bare]))
    assert list(figures) == ["labels_1"]
    assert {row["part"] for row in figures["labels_1"]["rows"]} == {"all"}


def test_several_corpora_have_sections_and_figures_of_their_own(tmp_path):
    other = replace(check(), corpus=replace(check().corpus, name="other"))
    page = write_data_page(tmp_path, [check(), other])
    assert [section["title"] for section in data_of(page)["sections"]] == ["made", "other"]
    assert len(blocks_of(page)) == 6


def test_a_page_that_cannot_be_written_is_an_error_of_the_user(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="--figures"):
        write_data_page(tmp_path / "file", [check()])


def test_similar_texts_are_near_each_other():
    texts = [f"{'heart beats' if n % 2 else 'lung breathes'} {n % 7} {n % 5}" for n in range(60)]
    points = project_documents(texts)
    assert points.min() == 0
    assert points.max() == 1
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(distances, np.inf)
    same = distances.argmin(axis=1) % 2 == np.arange(60) % 2
    assert same.all()


@pytest.mark.parametrize("texts", [[], ["one two"] * 3, ["a b c d"] * 9, ["a b c d", "e f g h"] * 5])
def test_few_different_texts_have_no_map(texts):
    assert project_documents(texts) is None


def test_repeated_and_empty_texts_have_points():
    texts = ["a b c d", "c d e f", "e f g h", "g h a b"] * 5 + [""] * 5
    assert np.isfinite(project_documents(texts)).all()


def test_a_large_corpus_is_sampled_once_and_for_all(tmp_path, monkeypatch):
    monkeypatch.setattr("mtlv.comparison.data_page.SAMPLE", 30)
    page = write_data_page(tmp_path, [check()])
    assert write_data_page(tmp_path / "again", [check()]).read_bytes() == page.read_bytes()
    figures = blocks_of(page)
    assert figures["documents_1"]["caption"].startswith("30 documents")
    assert len({row["document"] for row in figures["documents_1"]["rows"]}) == 30
    assert sum(row["documents"] for row in figures["labels_1"]["rows"] if row["label"] == "heart") == 20
    assert SAMPLE == 2_000
