"""Corpora as records, and the catalog's rules."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from mtlv.data import catalog
from mtlv.data.options import DataOptions
from mtlv.data.source import Corpus, targets_of
from mtlv.errors import DataError
from mtlv.plan.task import UNKNOWN, Task


def corpus(**changes) -> Corpus:
    rows = [{"a"}, {"b"}, set(), {"a", "b"}]
    record = {
        "name": "made",
        "tasks": (Task("a"), Task("b")),
        "ids": ("1", "2", "3", "4"),
        "texts": ("one", "two", "three", "four"),
        "targets": targets_of(rows, ["a", "b"]),
    }
    return Corpus(**(record | changes))


def test_matrix_has_a_column_per_task():
    assert corpus().matrix().tolist() == [[1, 0], [0, 1], [0, 0], [1, 1]]


def test_unknown_labels_are_neither_yes_nor_no():
    targets = {"a": np.array([1, UNKNOWN, 0, UNKNOWN]), "b": np.array([0, UNKNOWN, 0, 0])}
    made = corpus(targets=targets)
    assert made.matrix().tolist() == [[1, 0], [0, 0], [0, 0], [0, 0]]
    assert made.known("a").tolist() == [True, False, True, False]
    assert made.strata()["a"].tolist() == [True, False, False, False]
    assert made.strata()["a: no"].tolist() == [False, False, True, False]
    assert list(corpus().strata()) == ["a", "b"]
    assert made.unlearnable() == ["b"]
    assert made.unlearnable(np.array([1, 2, 3])) == ["a", "b"]
    assert made.constant == {"b": "is always 0 where it is known"}
    assert corpus(targets=targets | {"a": np.full(4, UNKNOWN)}).constant["a"] == "is never known"
    assert made.digest != corpus(targets={name: np.maximum(own, 0) for name, own in targets.items()}).digest


@pytest.mark.parametrize(
    "changes",
    [
        {"ids": ("1", "2", "3", "5")},
        {"texts": ("one", "two", "three", "fours")},
        {"texts": ("onetwo", "", "three", "four")},
        {"targets": targets_of([{"a"}, {"b"}, set(), {"a"}], ["a", "b"])},
        {"parts": ("train", "train", "validation", "test")},
        {"tasks": (Task("b"), Task("a"))},
    ],
)
def test_digest_tells_any_change_of_what_is_learned(changes):
    assert corpus().digest == corpus(notes=("other",)).digest
    assert re.fullmatch("[0-9a-f]{16}", corpus().digest)
    assert corpus(**changes).digest != corpus().digest


def test_take_keeps_rows_together():
    taken = corpus(parts=("train", "train", "validation", "test")).take([3, 0], note="two kept")
    assert (taken.ids, taken.texts, taken.parts) == (("4", "1"), ("four", "one"), ("test", "train"))
    assert taken.matrix().tolist() == [[1, 1], [1, 0]]
    assert taken.notes == ("two kept",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"texts": (), "ids": ()}, "has no document"),
        ({"tasks": ()}, "has no label"),
        ({"ids": ("1", "2", "2", "4")}, r"has a duplicate id \(got 2\)"),
        ({"ids": ("1",)}, "columns of different lengths"),
    ],
)
def test_an_impossible_corpus_is_refused(changes, message):
    with pytest.raises(DataError, match=message):
        corpus(**changes)


def test_catalog_is_what_the_folder_holds():
    labels = ("hoc", "huggingface", "notes", "ohsumed", "openi", "synthetic", "table")
    entities = (
        "bc2gm",
        "bc5cdr_chem",
        "bc5cdr_disease",
        "conll",
        "ebmnlp",
        "ebmnlp_elements",
        "jnlpba",
        "ncbi_disease",
        "shareclefe",
        "standoff",
    )
    pairs = ("bioasq", "biosses", "clinicalsts", "mednli", "pubmedqa")
    relations = ("chemprot", "chemprot_scibert", "ddi2013", "gad", "i2b2_2010")
    assert catalog.names() == tuple(sorted(labels + entities + pairs + relations))


@pytest.mark.parametrize("name", catalog.names())
def test_every_card_is_complete(name):
    card = catalog.card(name)
    assert card.name == name
    for text in (card.title, card.address, card.licence, card.citation, card.main_metric):
        assert text.strip()
    assert len({label.name for label in card.labels}) == len(card.labels)
    assert len({label.description for label in card.labels}) == len(card.labels)
    for label in card.labels:
        assert 1 <= len(re.findall(r"[.!?](?= |$)", label.description)) <= 2, label
        assert label.description[0].isupper()
        assert label.description.endswith(".")
        assert not re.fullmatch(r"C\d\d", label.name), "a code means nothing when it is embedded"
    for item in card.downloads:
        assert item.url.startswith("https://")
        assert item.sha256 is None or re.fullmatch("[0-9a-f]{64}", item.sha256)


def test_cards_have_the_labels_of_their_corpora():
    assert [len(catalog.card(name).labels) for name in ("openi", "ohsumed", "hoc")] == [19, 23, 10]
    assert [label.code for label in catalog.card("ohsumed").labels] == [f"C{i:02d}" for i in range(1, 24)]


def test_tasks_are_known_without_reading():
    tasks = catalog.tasks("openi", DataOptions(path=Path("/nowhere"), labels=("opacity", "Nodule")))
    assert [task.name for task in tasks] == ["opacity", "Nodule"]
    assert all(task.source == "openi" and task.description for task in tasks)


def test_labels_and_descriptions_of_the_user():
    options = DataOptions(labels=("Catheter", "Emphysema"), descriptions={"Catheter": "A tube."})
    read = catalog.load("synthetic", options)
    assert read.names == ("Catheter", "Emphysema") == tuple(read.targets)
    assert read.tasks[0].description == "A tube."
    assert len(read) == 600, "documents without these labels stay"


@pytest.mark.parametrize("change", [{"labels": ("Cathether",)}, {"descriptions": {"Cathether": "x"}}])
def test_an_unknown_label_gets_the_nearest_name(change):
    with pytest.raises(DataError, match=r"no label `Cathether`; allowed: .*did you mean `Catheter`"):
        catalog.tasks("synthetic", DataOptions(**change))


def test_a_label_twice_is_refused():
    with pytest.raises(DataError, match="names a label twice"):
        catalog.tasks("synthetic", DataOptions(labels=("Catheter", "Catheter")))


def test_limit_draws_the_same_documents_and_says_so():
    few, again = (catalog.load("synthetic", DataOptions(limit=200)) for _ in range(2))
    assert len(few) == 200
    assert few.digest == again.digest
    assert few.notes[-1] == "200 of 600 documents kept (data.limit)"
    assert list(few.ids) == sorted(few.ids)


def test_a_label_without_a_positive_is_named():
    with pytest.raises(
        DataError, match=r": label `.*` is always 0, .*leave it out of `data.labels`, or raise `data.limit`"
    ):
        catalog.load("synthetic", DataOptions(limit=1))


def test_an_unknown_corpus_gets_the_nearest_name():
    with pytest.raises(DataError, match=r"got opni.*did you mean `openi`"):
        catalog.load("opni", DataOptions())


def test_where_a_corpus_is_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("MTLV_DATA", str(tmp_path))
    assert catalog.location("hoc") == tmp_path / "hoc"
    assert catalog.location("hoc", DataOptions(path=Path("x"))) == Path("x")
    with pytest.raises(DataError, match=r"run `mtlv data fetch openi` or set `data.path`"):
        catalog.load("openi", DataOptions())
    with pytest.raises(DataError, match=r"nothing is at `data.path`"):
        catalog.load("openi", DataOptions(path=tmp_path / "none"))
    with pytest.raises(DataError, match=r"corpus `table` needs a file; set `data.path`"):
        catalog.load("table", DataOptions())
    monkeypatch.delenv("MTLV_DATA")
    assert catalog.location("hoc") == Path.home() / ".cache" / "mtlv" / "hoc"


def test_synthetic_is_seeded_unique_imbalanced_and_grouped():
    read = catalog.load("synthetic", DataOptions(documents=2000))
    assert read.generated
    assert "generated" in read.notes[0]
    assert catalog.card("synthetic").generated
    assert read.digest == catalog.load("synthetic", DataOptions(documents=2000)).digest
    assert read.digest != catalog.load("synthetic", DataOptions(documents=2000, seed=1)).digest
    assert len(set(read.texts)) == 2000
    shares = read.matrix().mean(axis=0)
    assert 0.05 < shares.min() < 0.15 < 0.25 < shares.max() < 0.40
    words = [len(text.split()) for text in read.texts]
    assert min(words) >= 10
    assert np.percentile(words, 95) <= 45
    related = np.corrcoef(read.matrix().T)
    inside = np.kron(np.eye(3), np.ones((3, 3))).astype(bool)
    assert related[inside].min() > 0.15 > related[~inside].max()


@pytest.mark.parametrize("name", ["synthetic", "notes"])
def test_number_of_generated_documents_is_checked(name):
    with pytest.raises(DataError, match=r"`data.documents` is out of range \(got 0\)"):
        catalog.load(name, DataOptions(documents=0))


def test_notes_have_a_label_where_a_condition_follows_the_words_of_its_pair():
    read = catalog.load("notes", DataOptions(documents=500))
    assert read.generated
    assert read.digest == catalog.load("notes", DataOptions(documents=500)).digest
    assert read.digest != catalog.load("notes", DataOptions(documents=500, seed=1)).digest
    assert len(set(read.texts)) == 500
    pairs = np.asarray(read.matrix()).reshape(500, 4, 2)
    for words, conditions, of_pair in zip(
        (
            "mother father sister brother aunt",
            "previous former earlier childhood old",
            "no without denies never excluded",
            "possible suspected probable likely questionable",
        ),
        ("diabetes glaucoma", "stroke fracture", "fever cough", "anemia asthma"),
        np.moveaxis(pairs, 1, 0),
        strict=True,
    ):
        assert 0.1 < of_pair.mean() < 0.3
        for condition, has_label in zip(conditions.split(), of_pair.T, strict=True):
            pattern = re.compile(rf"\b({'|'.join(words.split())}) \w+ {condition}\b", re.IGNORECASE)
            assert [bool(pattern.search(text)) for text in read.texts] == has_label.astype(bool).tolist()


def test_words_and_pairs_of_words_do_not_tell_the_labels_of_notes():
    read = catalog.load("notes", DataOptions(documents=800))
    counts = (
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit(read.texts[:400]).transform(read.texts)
    )
    scores = []
    for targets in np.asarray(read.matrix()).T:
        model = LogisticRegression(C=100.0, class_weight="balanced").fit(counts[:400], targets[:400])
        scores.append(f1_score(targets[400:], model.predict(counts[400:])))
    assert 0.4 < np.mean(scores) < 0.8
