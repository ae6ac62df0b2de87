"""Whatever stands in a table: a corpus, or an MtlvError in few printable lines. Nothing else."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mtlv.comparison.published_numbers import read_expected
from mtlv.data import catalog
from mtlv.data.options import Columns, DataOptions
from mtlv.data.tables.cells import is_text
from mtlv.data.tables.rows import FORMATS, read_table
from mtlv.errors import MtlvError
from mtlv.plan.names import slugs
from mtlv.serving.texts import from_table

CODECS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "shift_jis", "utf-7")
DELIMITED = (".csv", ".tsv")

names = st.sampled_from(["text", "id", "a", "b", "part", "", "Text", "a ", "\0", '"', "a" * 300])
cells = st.sampled_from(
    [
        "0",
        "1",
        "",
        "x",
        "1.0",
        "[",
        '["a"]',
        "a;b",
        "test",
        "\0",
        "\r",
        '"',
        "﻿",
        "O",
        "B-x O",
        "[[0,1]]",
        "1e99",
    ]
) | st.text(max_size=8)
plain_layouts = st.builds(
    Columns,
    text=st.sampled_from(["text", "a"]),
    id=st.none() | st.just("id"),
    part=st.none() | st.just("part"),
    labels=st.none() | st.sampled_from([("a",), ("a", "b"), ("\0",)]),
    label_list=st.none() | st.sampled_from(["a", "b"]),
    separator=st.sampled_from([";", "|", ", "]),
)
some = st.none() | st.sampled_from(["a", "b"])
asked_of = {"group": some, "target": st.sampled_from(["a", "b"]), "text_pair": some, "mentions": some}
class_layouts = st.builds(
    Columns,
    kind=st.just("multiclass"),
    classes=st.none() | st.just(("x", "1")),
    negative=st.just(()) | st.just(("x",)),
    **asked_of,
)
number_layouts = st.builds(Columns, kind=st.just("regression"), **asked_of)
tag_layouts = st.builds(Columns, kind=st.just("tagging"), tags=st.sampled_from(["a", "b"]), words=some)
layouts = plain_layouts | class_layouts | number_layouts | tag_layouts
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | cells,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


def read(data: bytes, suffix: str, columns: Columns) -> None:
    """As a corpus, as texts to predict and as published numbers."""
    refused: list[MtlvError] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{suffix}"
        path.write_bytes(data)
        for use in (as_corpus, as_texts, as_expected):
            try:
                use(path, columns)
            except MtlvError as error:
                refused.append(error)
    for error in refused:
        assert error.problems
        assert len(str(error)) < 12_000


def as_corpus(path: Path, columns: Columns) -> None:
    corpus = catalog.load("table", DataOptions(path=path, columns=columns))
    assert {len(targets) for targets in corpus.targets.values()} == {len(corpus)}
    assert corpus.digest
    assert len(slugs(corpus.names)) == len(corpus.names)
    for text in (*corpus.ids, *corpus.texts, *corpus.names):
        text.encode("utf-8")  # else scores and tokens of it could not be written


def as_texts(path: Path, columns: Columns) -> None:
    for text in from_table(read_table(path), columns.text, {}).texts:
        assert text is None or not is_text(text) or text.encode("utf-8") is not None


def as_expected(path: Path, columns: Columns) -> None:
    read_expected(path, ())


@given(st.binary(max_size=200), st.sampled_from(FORMATS), layouts)
def test_bytes(data: bytes, suffix: str, columns: Columns) -> None:
    read(data, suffix, columns)


CORPORA = [name for name in catalog.names() if not catalog.card(name).generated]
SUFFIXES = (".tsv", ".txt", ".conll", ".json", ".jsonl", ".xml", ".csv", ".zip", ".tar.gz")


@given(
    st.sampled_from(CORPORA),
    st.binary(max_size=200) | st.text(alphabet='aO\t\nB-I{}[]:"<>,0\\', max_size=80).map(str.encode),
    st.sampled_from(SUFFIXES),
    st.booleans(),
)
def test_bytes_in_the_place_of_any_corpus(name: str, data: bytes, suffix: str, whole: bool) -> None:
    said, found = "", 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"train{suffix}"
        path.write_bytes(data)
        try:
            found = len(catalog.load(name, DataOptions(path=Path(folder) if whole else path)))
        except MtlvError as error:
            said = str(error)
    assert found or 0 < len(said) < 12_000


@given(
    st.lists(names, max_size=5),
    st.lists(st.lists(cells, max_size=5), max_size=6),
    st.sampled_from(CODECS),
    st.sampled_from(DELIMITED),
    layouts,
)
def test_rows_of_any_length_in_any_encoding(
    header: list[str], rows: list[list[str]], codec: str, suffix: str, columns: Columns
) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter="," if suffix == ".csv" else "\t", quoting=csv.QUOTE_ALL)
    writer.writerows([header, *rows])
    read(out.getvalue().encode(codec, "replace"), suffix, columns)


@given(st.data())
def test_whole_tables_with_damage(data: st.DataObject) -> None:
    whole = b"id,text,a,b,part\n" + b"".join(
        b'%d,"text, number %d",%d,%d,train\n' % (i, i, i % 2, 1 - i % 2) for i in range(6)
    )
    start, length = data.draw(st.integers(0, len(whole))), data.draw(st.integers(0, 9))
    put = data.draw(
        st.sampled_from([b'"', b"\0", b"\xff", b"\r", b"\n", b",", b"", b"\xef\xbb\xbf"])
        | st.binary(max_size=4)
    )
    damaged = whole[:start] + put + whole[start + length :]
    read(
        damaged, ".csv", Columns(id="id", labels=("a", "b"), part=data.draw(st.sampled_from([None, "part"])))
    )


@given(
    st.lists(st.dictionaries(names, values, max_size=4) | values, max_size=5),
    st.booleans(),
    st.sampled_from(CODECS),
    layouts,
)
def test_any_json(rows: list[Any], ascii_only: bool, codec: str, columns: Columns) -> None:
    text = "\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows)
    read(text.encode(codec, "replace"), ".jsonl", columns)


characters = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(
    st.lists(st.tuples(characters, st.sets(st.sampled_from("ab"))), min_size=1), st.sampled_from(FORMATS[:3])
)
def test_any_text_is_kept_as_it_is(rows: list[tuple[str, set[str]]], suffix: str) -> None:
    named = [(text, labels) for text, labels in rows if text.strip()] + [("x", {"a", "b"})]
    out = io.StringIO(newline="")
    if suffix == ".jsonl":
        out.writelines(json.dumps({"text": text, "l": sorted(labels)}) + "\n" for text, labels in named)
    else:
        writer = csv.writer(out, delimiter="," if suffix == ".csv" else "\t", quoting=csv.QUOTE_ALL)
        writer.writerows([("text", "l"), *((text, ";".join(labels)) for text, labels in named)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{suffix}"
        path.write_bytes(out.getvalue().encode())
        corpus = catalog.load("table", DataOptions(path=path, columns=Columns(label_list="l")))
    assert corpus.texts == tuple(text.strip() for text, _ in named)
    for label in ("a", "b"):
        assert corpus.targets[label].tolist() == [label in labels for _, labels in named]
