"""Texts that stay in their file: the same corpus as of a table in memory, and every fault with its place."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from mtlv.data import catalog
from mtlv.data.joined import join
from mtlv.data.options import Columns, DataOptions
from mtlv.data.repeats import repeats_of
from mtlv.data.source import Corpus
from mtlv.data.tables.corpus import table_corpus
from mtlv.data.tables.rows import MOST_COLUMNS, read_table
from mtlv.data.texts.lazy import Lazy
from mtlv.errors import DataError

TEXT = (
    "\ufeff one two \nline\u2028with \u0085 signs\r\nafter\rreturns\r\r\n\n \u3000 \r\n"
    "twice\nTwice.\ntwice\nlast é\x0b\x1c"
)
ROWS = [
    {"body": " a b ", "key": "k1", "part": "dev", "who": 1},
    {"body": "twice", "key": 2, "part": "train", "who": "p"},
    {"key": "k3"},
    {"body": None, "key": "k3"},
    {"key": "k4", "body": "twice\u00a0", "part": "test", "who": "p"},
    {"body": "\n", "key": "k5"},
    {"body": "ümlaut \U0001f600", "key": "k6", "part": "train", "who": "1"},
]
KEYS = Columns(kind="mlm", text="body", id="key", part="part", group="who")


PLAIN = Columns(kind="mlm")


def load(path: Path, columns: Columns = PLAIN, **options: object) -> Corpus:
    return catalog.load("table", DataOptions(path=path, columns=columns, **options))  # type: ignore[arg-type]


def jsonl(folder: Path, rows: list[object] = ROWS, name: str = "t.jsonl") -> Path:  # type: ignore[assignment]
    path = folder / name
    ends = ("\n", "\r\n", "\n\n \n")
    content = "".join(json.dumps(r, ensure_ascii=n % 2 == 0) + ends[n % 3] for n, r in enumerate(rows))
    path.write_bytes(b"\xef\xbb\xbf" + content.encode())
    return path


def txt(folder: Path, text: str = TEXT) -> Path:
    path = folder / "t.txt"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("kind", ["txt", "jsonl", "jsonl by line"])
def test_a_corpus_on_disk_is_that_in_memory(kind: str, tmp_path: Path) -> None:
    columns = {"txt": Columns(kind="mlm"), "jsonl": KEYS}.get(kind, Columns(kind="mlm", text="body"))
    path = txt(tmp_path) if kind == "txt" else jsonl(tmp_path)
    found = load(path, columns)
    held = table_corpus("table", {"": read_table(path)}, columns).text_only()
    assert isinstance(found.texts, Lazy)
    assert isinstance(found.ids, Lazy)
    assert (tuple(found.ids), tuple(found.texts)) == (held.ids, held.texts)
    assert (found.parts, found.groups, found.names) == (held.parts, held.groups, held.names)
    assert found.digest == held.digest
    for ours, theirs in zip(
        vars(repeats_of([found])).values(), vars(repeats_of([held])).values(), strict=True
    ):
        assert ours.tolist() == theirs.tolist()
    back = pickle.loads(pickle.dumps(found))
    assert back.digest == held.digest


def test_texts_are_read_from_the_lines_of_the_file(tmp_path: Path) -> None:
    found = load(txt(tmp_path))
    assert found.ids[2:] == ("3", "4", "8", "9", "10", "11")
    assert found.texts[:4] == ("one two", "line\u2028with \u0085 signs", "after", "returns")
    assert [found.texts[at] for at in (7, 0, 3)] == ["last é", "one two", "returns"]


def test_a_file_of_each_part(tmp_path: Path) -> None:
    for part, text in (("train", "a\n\nb\n"), ("dev", "c\n"), ("test", "d\ne\n")):
        (tmp_path / f"{part}.txt").write_text(text)
    found = load(tmp_path)
    assert tuple(found.ids) == ("train.1", "train.3", "dev.1", "test.1", "test.2")
    assert tuple(found.texts) == tuple("abcde")
    assert found.parts == ("train", "train", "validation", "test", "test")


def test_joined_and_picked_texts_stay_on_disk(tmp_path: Path) -> None:
    one = load(txt(tmp_path), alias="one")
    two = load(jsonl(tmp_path), KEYS, alias="two", limit=2)
    found = join([one, two])
    assert isinstance(found.texts, Lazy)
    assert isinstance(found.all_texts, Lazy)
    assert found.ids[7:] == ("one/11", *(f"two/{name}" for name in two.ids))
    assert found.texts[8:] == tuple(two.texts)
    taken = found.take([9, 0], note="two")
    assert isinstance(taken.texts, Lazy)
    assert tuple(taken.texts) == (two.texts[1], "one two")


def test_rows_without_a_text_are_counted_with_their_lines(tmp_path: Path) -> None:
    (note,) = load(jsonl(tmp_path), KEYS).notes
    assert note == "3 rows without text dropped: `t.jsonl`, line 3, 6, 8"


@pytest.mark.parametrize("where", ["txt", "jsonl"])
def test_what_is_no_utf8_is_named_by_line_and_offset(where: str, tmp_path: Path) -> None:
    path = txt(tmp_path, "one\ntwo\n") if where == "txt" else jsonl(tmp_path, [{"text": "a"}] * 2)
    good = path.read_bytes()
    path.write_bytes(good + b'{"text": "\xff\x00"}\n' + good)
    line = good.count(b"\n") + 1
    expected = (
        f"`t.{where}` has unreadable bytes at line {line}, offset {len(good) + 10} .got 0xff.; allowed: "
    )
    with pytest.raises(DataError, match=expected + "UTF-8; save the file as UTF-8"):
        load(path)


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        (
            [{"text": "a"}, {"text": 5}, {"text": ["x"]}],
            {},
            r"`t.jsonl` line 2, column `text` is not text .got '?5",
        ),
        ([{"body": "a"}], {}, r"has no column `text` \(`data.columns.text`\); allowed: body"),
        ([{"text": ""}, {"text": None}], {}, r"has no documents: column `text` is empty in all rows"),
        ([{"text": "a"}, 5], {}, r"has no JSON object at line 2 .got 5"),
        ([{"text": "a", "part": "x"}], {"part": "part"}, r"line 1, column `part` is not a part .got 'x'"),
        ([{"text": "a", "id": n % 2} for n in range(3)], {"id": "id"}, r"has a duplicate id .got 0.; make"),
        ([{"text": "a"}], {"target": "x"}, r"`data.columns.target` is set, but `kind: mlm` does not use it"),
        ([], {}, r"`t.jsonl` has no rows; check the file"),
        ([{str(n): n for n in range(MOST_COLUMNS + 1)}], {}, r"has too many columns"),
    ],
)
def test_faults_are_named(rows: list[object], columns: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        load(jsonl(tmp_path, rows), Columns(kind="mlm", **columns))  # type: ignore[arg-type]


def test_all_invalid_cells_are_told_at_once(tmp_path: Path) -> None:
    rows: list[object] = [{"text": n if n % 2 else "a", "part": "train"} for n in range(30)]
    with pytest.raises(
        DataError, match=r"line 2, column `text` is not text .* also at line 6, 8, 12, .* and 4 more"
    ):
        load(jsonl(tmp_path, rows), Columns(kind="mlm", part="part"))


def test_invalid_json_is_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"text": "a"}\n{"text": \n')
    with pytest.raises(DataError, match=r"`t\.jsonl` has invalid JSON at line 2"):
        load(tmp_path / "t.jsonl")


@pytest.mark.parametrize("change", ["longer", "shorter", "same size"])
def test_a_file_that_changes_is_not_read(change: str, tmp_path: Path) -> None:
    path = txt(tmp_path, "one\ntwo\nthree\n")
    found = load(path)
    path.write_text(
        {"longer": "one\ntwo\nthree\nfour\n", "shorter": "one\n", "same size": "ONE\ntwo\nthree\n"}[change]
    )
    os.utime(path, ns=(0, 0))
    message = (
        r"`t.txt` was changed while it was used .got [0-9]+ bytes.; allowed: the 14 bytes that it had when"
    )
    with pytest.raises(DataError, match=message):
        found.texts[0]
    with pytest.raises(DataError, match="leave it as it is until the run has ended, and run again"):
        list(found.texts)


@pytest.mark.parametrize("kind", ["txt", "jsonl"])
def test_a_file_that_changes_while_it_is_read(kind: str, tmp_path: Path) -> None:
    rows: list[object] = [{"text": f"{n} {'x' * 5000}"} for n in range(400)]
    path = jsonl(tmp_path, rows) if kind == "jsonl" else txt(tmp_path, f"0 {'x' * 5000}\n" * 400)
    texts = iter(load(path).texts)
    assert next(texts).startswith("0 ")
    path.write_text("{}\n")
    with pytest.raises(DataError, match=rf"`t.{kind}` was changed while it was used"):
        list(texts)


def test_a_line_of_json_ends_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(b'{"text":\r "a"}\n\r\n{"text": "b"}\r')
    assert tuple(load(tmp_path / "t.jsonl").texts) == ("a", "b")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = txt(tmp_path)
    found = load(path)
    path.unlink()
    with pytest.raises(DataError, match=r"t.txt` cannot be read .got No such file"):
        found.texts[0]


def test_labelled_tables_are_held(tmp_path: Path) -> None:
    path = jsonl(tmp_path, [{"text": "a", "y": 0}, {"text": "b", "y": 1}])
    found = load(path, Columns(kind="binary", labels=("y",)))
    assert found.texts == ("a", "b")
    np.testing.assert_array_equal(found.targets["y"], [0, 1])


def test_texts_of_a_named_encoding_are_read_in_it(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes("café\nnaïve\n".encode("cp1252"))
    found = load(tmp_path / "t.txt", Columns(kind="mlm", encoding="cp1252"))
    assert tuple(found.texts) == ("café", "naïve")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le"])
def test_texts_of_an_encoding_that_is_recognised_are_read_in_it(encoding: str, tmp_path: Path) -> None:
    text = "Der Patient klagt über Übelkeit.\nDie Blutgefäße sind größer.\n" * 20
    (tmp_path / "t.txt").write_bytes(text.encode(encoding))
    corpus = load(tmp_path / "t.txt")
    assert "\n".join(corpus.texts) == text.strip()
    assert encoding == "utf-16" or any(encoding in note for note in corpus.notes)
