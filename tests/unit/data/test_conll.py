"""CoNLL files and what is read from tags."""

from __future__ import annotations

import pytest

from mtlv.data import catalog, conll, conll_file
from mtlv.data.conll import conll_path, read_conll
from mtlv.data.options import Columns, DataOptions
from mtlv.data.word_tags import entities_of
from mtlv.errors import DataError
from mtlv.plan.spans import Span


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("B-X I-X O B-X", [(0, 2, "X"), (3, 4, "X")]),
        ("B-X B-X I-X", [(0, 1, "X"), (1, 3, "X")]),
        ("I-X I-X O I-X", [(0, 2, "X"), (3, 4, "X")]),  # IOB1, IO
        ("I-X B-X I-X", [(0, 1, "X"), (1, 3, "X")]),  # IOB1
        ("I-X I-Y I-Y", [(0, 1, "X"), (1, 3, "Y")]),
        ("B-X I-Y", [(0, 1, "X"), (1, 2, "Y")]),
        ("U-X B-X L-X U-Y", [(0, 1, "X"), (1, 3, "X"), (3, 4, "Y")]),  # BIOUL
        ("S-X B-X I-X E-X S-X", [(0, 1, "X"), (1, 4, "X"), (4, 5, "X")]),  # BIOES
        ("B-X L-X I-X", [(0, 2, "X"), (2, 3, "X")]),
        ("E-X E-X", [(0, 1, "X"), (1, 2, "X")]),
        ("B I O I", [(0, 2, "gene"), (3, 4, "gene")]),
        ("O O", []),
        ("B-cell-type I-cell-type", [(0, 2, "cell-type")]),
    ],
)
def test_chunks(tags, spans):
    assert entities_of(tags.split(), "gene") == tuple(Span(*span) for span in spans)


def write(path, text):
    path.write_bytes(text.encode())
    return path


def test_documents_columns_and_line_ends(tmp_path):
    file = write(
        tmp_path / "a.conll",
        "-DOCSTART- -X- O O\r\n\r\nBig NN O B-X\r\nheart\tNN\tI-X\r\n\r\n \r\n"
        "-DOCSTART- (17)\nnot here O\n-DOCSTART-\tO\nx B",
    )
    assert [(s.id, s.words, s.spans) for s in read_conll(file)] == [
        ("a.1.1", ("Big", "heart"), (Span(0, 2, "X"),)),
        ("a.17.2", ("not",), ()),
        ("a.3.3", ("x",), (Span(0, 1, "entity"),)),
    ]


def test_a_word_may_hold_a_blank_that_is_no_separator(tmp_path):
    file = write(tmp_path / "a.tsv", "10\u00a0mg\tO\nnew york\tB-X\n")
    assert read_conll(file)[0].words == ("10\u00a0mg", "new york")


def test_every_fault_has_its_line(tmp_path):
    file = write(tmp_path / "bad.tsv", "a\tO\nb\nc\tQ-X\n\nd\n\tO\ne\tb-x\nf\tB-\n")
    with pytest.raises(DataError) as error:
        read_conll(file)
    first, second = error.value.problems
    assert first.startswith("`bad.tsv:2` has a line without a word and its tag (got b); allowed: word, tab")
    assert first.endswith("also at line 5, 6.")
    assert second.startswith("`bad.tsv:3` has an unknown tag (got Q-X)")
    assert second.endswith("also at line 7, 8.")


@pytest.mark.parametrize(
    ("text", "limit", "message"),
    [
        ("\n\n", {}, "`a.tsv` has no sentence"),
        ("a\tO\n" * 4, {"MOST_WORDS": 3}, "more than 3 words before line 5; put a blank line"),
        ("a\tB-X\nb\tB-Y\n", {"MOST_TYPES": 1}, r"too many types of entities \(got 2\)"),
        ("a\tO\xff".encode("latin-1"), {}, "unreadable bytes at line 1"),
    ],
)
def test_limits(tmp_path, monkeypatch, text, limit, message):
    (tmp_path / "a.tsv").write_bytes(text if isinstance(text, bytes) else text.encode())
    for name, value in limit.items():
        monkeypatch.setattr(conll if hasattr(conll, name) else conll_file, name, value)
    with pytest.raises(DataError, match=message):
        catalog.load("conll", DataOptions(path=tmp_path / "a.tsv"))


def test_a_large_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("mtlv.data.parts.MOST_BYTES", 3)
    with pytest.raises(DataError, match=r"`a.tsv` is too large \(got 4 bytes\)"):
        read_conll(write(tmp_path / "a.tsv", "a\tO\n"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Pain B-sign\r\nhurts O\r\n\r\n", True),
        ("-DOCSTART- -X- O\n\nPain\tNN\tI-sign\n\nmore", True),  # the last line may be cut
        ("word\ttag\nPain\tB-sign\n\n", False),  # a header
        ("Pain O\n\nPain\n\n", False),
        ("Pain B-sign\nhurts O\n", False),  # no sentence ends
        ("Pain \xe9 O\n\n".encode("latin-1"), False),
    ],
)
def test_files_and_their_folders_are_recognized(tmp_path, text, found):
    for name in ("x.conll", "train.tsv"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert conll_path(tmp_path / "x.conll") == (tmp_path / "x.conll" if found else None)
    assert conll_path(tmp_path / "train.tsv") == (tmp_path if found else None)
    assert conll_path(tmp_path) == (tmp_path if found else None)
    assert conll_path(tmp_path / "none.conll") is None


def test_a_folder_of_the_users_own(tmp_path):
    write(tmp_path / "train.conll", "Aspirin B-drug\nhelps O\n\nPain B-sign\n")
    write(tmp_path / "devel.txt", "Pain B-sign\n")
    write(tmp_path / "README.md", "text")
    corpus = catalog.load("conll", DataOptions(path=tmp_path))
    assert corpus.parts == ("train", "train", "validation")
    assert corpus.tasks[0].classes == ("drug", "sign")
    assert (corpus.tasks[0].source, corpus.tasks[0].main_metric) == ("conll", "entity_f1")
    assert corpus.ids == ("train.1", "train.2", "devel.1")
    assert corpus.notes == ("no file for the test part",)
    write(tmp_path / "dev.txt", "Pain B-sign\n")
    with pytest.raises(DataError, match=r"several files for the validation part \(got dev.txt, devel.txt\)"):
        catalog.load("conll", DataOptions(path=tmp_path))


def test_the_task_may_be_named(tmp_path):
    path = write(tmp_path / "a.conll", "Pain B-sign\n")
    assert catalog.load("conll", DataOptions(path=path)).names == ("entities",)
    assert catalog.load("conll", DataOptions(path=path, columns=Columns(task="signs"))).names == ("signs",)


def test_one_file_has_no_parts(tmp_path):
    corpus = catalog.load("conll", DataOptions(path=write(tmp_path / "all.txt", "Pain B-sign\n")))
    assert corpus.parts is None
    assert corpus.notes == ()


def test_a_folder_without_files_says_what_is_looked_for(tmp_path):
    with pytest.raises(DataError, match=r"no documents in .* allowed: a file, or a folder with train, dev"):
        catalog.load("conll", DataOptions(path=tmp_path))


def test_a_catalogued_corpus_has_its_own_types_only(tmp_path):
    write(tmp_path / "train.tsv", "a\tB-Disease\n")
    with pytest.raises(DataError, match=r"entities of an unknown type \(got Disease\); allowed: Chemical"):
        catalog.load("bc5cdr_chem", DataOptions(path=tmp_path))
