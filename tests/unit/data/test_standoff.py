"""Texts with marked entities: folders of BRAT and PubTator files."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtlv.data import catalog
from mtlv.data.options import Columns, DataOptions
from mtlv.data.source import Corpus
from mtlv.data.standoff import standoff_path
from mtlv.errors import DataError

NOTE = "Aspirin-induced asthma.\n\nNo fever, left and right knee\npain.\n"
ANN = (
    "T1\tDrug 0 7\tAspirin\n"
    "T2\tSign 16 22\tasthma\n"
    "T3\tSign 28 33\tfever\n"
    "T4\tSign 35 39;50 59\tleft knee pain\n"
    "T5\tSign 55 59\tpain\n"
    "R1\tCauses Arg1:T1 Arg2:T2\t\n"
    "A1\tNegated T3\n"
    "#1\tAnnotatorNotes T3\tsure\n"
)
ARTICLES = (
    "7|t|Aspirin and asthma.\n7|a|Asthma was rare.\n7\t0\t7\tAspirin\tChemical\tD001241\n"
    "7\t12\t18\tasthma\tDisease\tD001249\n7\t20\t26\tAsthma\tDisease\n7\tCID\tD001241\tD001249\n\n"
    "8|t|No pain.\n8|a|\n8\t3\t7\tpain\tDisease\tD010146\n"
)


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def read(path: Path, task: str | None = None) -> Corpus:
    return catalog.load("standoff", DataOptions(path=path, columns=Columns(task=task)))


def entities(corpus: Corpus) -> list[list[tuple[str, str]]]:
    (task,) = corpus.tasks
    return [
        [(" ".join(words[span.start : span.end]), span.type) for span in spans]
        for words, spans in zip(corpus.words, corpus.targets[task.name], strict=True)
    ]


def test_paragraphs_of_brat_with_their_entities(tmp_path: Path) -> None:
    corpus = read(write(tmp_path, {"one.txt": NOTE, "one.ann": ANN}))
    assert corpus.ids == ("one.1", "one.2")
    assert corpus.groups == ("one", "one")
    assert corpus.parts is None
    assert corpus.words[0] == ("Aspirin", "-", "induced", "asthma", ".")
    assert corpus.tasks[0].classes == ("Drug", "Sign")
    assert (corpus.names, corpus.tasks[0].main_metric) == (("entities",), "entity_f1")
    found = entities(corpus)
    assert found[0] == [("Aspirin", "Drug"), ("asthma", "Sign")]
    assert found[1] == [("fever", "Sign"), ("left and right knee pain", "Sign")]
    assert set(corpus.notes) == {
        "4 of 5 entities are learned (3 Sign, 1 Drug)",
        "1 attributes not read: only entities (T) and relations (R) are",
        "1 notes not read: only entities (T) and relations (R) are",
        "1 relations not read: `data.columns.kind: multiclass` learns them",
        "1 entities in several parts, read from the first to the last (1 Sign)",
        "1 entities left out: they overlap an earlier one (1 Sign)",
    }
    assert read(tmp_path, "signs").names == ("signs",)


def test_words_are_cut_at_entities_and_the_longest_is_kept(tmp_path: Path) -> None:
    ann = "T1\tGene 0 4\tIL-2\nT2\tCell 0 13\tIL-2-dependen\n"
    corpus = read(write(tmp_path, {"a.txt": "IL-2-dependent cells", "a.ann": ann}))
    assert entities(corpus) == [[("IL - 2 - dependen", "Cell")]]


def test_folders_of_brat_may_be_parts(tmp_path: Path) -> None:
    files = {"train/a/1.txt": NOTE, "train/a/1.ann": ANN, "dev/2.txt": "No pain.", "dev/2.ann": ""}
    corpus = read(write(tmp_path, files))
    assert corpus.parts == ("validation", "train", "train")
    assert corpus.ids == ("dev/2.1", "train/a/1.1", "train/a/1.2")
    write(tmp_path, {"3.txt": "Pain.", "3.ann": ""})
    with pytest.raises(
        DataError, match=r"`3` is in no part, but others are; move it to `train`, `dev` or `test`"
    ):
        read(tmp_path)


def test_pubtator_has_titles_and_abstracts(tmp_path: Path) -> None:
    corpus = read(write(tmp_path, {"all.pubtator": ARTICLES}) / "all.pubtator")
    assert corpus.ids == ("7.1", "7.2", "8.1")
    assert corpus.groups == ("7", "7", "8")
    assert entities(corpus) == [
        [("Aspirin", "Chemical"), ("asthma", "Disease")],
        [("Asthma", "Disease")],
        [("pain", "Disease")],
    ]
    assert corpus.notes[1:] == ("1 relations not read: `data.columns.kind: multiclass` learns them",)
    windows = write(tmp_path, {"crlf.txt": ARTICLES.replace("\n", "\r\n")}) / "crlf.txt"
    assert entities(read(windows)) == entities(corpus)
    one = {"train.txt": ARTICLES.split("\n\n")[0], "test.txt": ARTICLES.split("\n\n")[1]}
    parts = read(write(tmp_path / "parts", one))
    assert parts.parts == ("train", "train", "test")
    assert parts.notes[0] == "no file for the validation part"
    together = ARTICLES.replace("\n\n", "\n")  # without a blank line between the articles
    assert entities(read(write(tmp_path, {"b.txt": together}) / "b.txt")) == entities(corpus)


def test_an_entity_that_is_not_at_its_offsets(tmp_path: Path) -> None:
    wrong = "T9\tSign 28 33\tcough\n"
    with pytest.raises(
        DataError, match=r"`one.ann:9`: another text is at its offsets \(got fever\); allowed: cough"
    ):
        read(write(tmp_path, {"one.txt": NOTE, "one.ann": ANN + wrong}))
    many = {f"{n}.{end}": text for n in range(40) for end, text in (("txt", NOTE), ("ann", ANN))}
    corpus = read(write(tmp_path, many))
    assert "1 entities left out: another text is at their offsets (1 Sign)" in corpus.notes
    assert not any(("cough", "Sign") in spans for spans in entities(corpus))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.ann": ANN}, r"`a.ann` has no text; add a.txt beside it"),
        ({"a.txt": "x", "a.ann": "T1 Sign 0 1 x\n"}, r"`a.ann:1` cannot be read \(got T1 Sign 0 1 x\)"),
        ({"a.txt": "x", "a.ann": f"T1\tX 0 {'9' * 5000}\tx\n"}, r"`a.ann:1` cannot be read"),
        ({"train.txt": f"1|t|A b.\n1\t0\t{'9' * 5000}\tA\tX\n"}, r"`train.txt:2` cannot be read"),
        ({"a.txt": "", "a.ann": ""}, r"no documents in"),
        ({"train.txt": "1|t|A b.\n2\t0\t1\tA\tX\n"}, r"`train.txt:2` cannot be read"),
        (
            {"train.txt": "A title.\n"},
            r"`train.txt:1` cannot be read \(got A title.\); allowed: id\|t\|title",
        ),
        ({"x.csv": "a"}, r"no documents in"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, files: dict[str, str], said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(write(tmp_path, files))


def test_its_files_are_recognized(tmp_path: Path) -> None:
    brat = write(tmp_path / "brat", {"sub/one.txt": NOTE, "sub/one.ann": ANN})
    assert standoff_path(brat) == brat
    file = write(tmp_path, {"all.txt": ARTICLES}) / "all.txt"
    assert standoff_path(file) == file
    for other in ({"t.txt": "a text\n"}, {"t.csv": "a,b\n"}, {}):
        folder = write(tmp_path / "other" / str(len(other)), other)
        assert standoff_path(folder) is None
        assert all(standoff_path(folder / name) is None for name in other)
    assert standoff_path(tmp_path / "none") is None
