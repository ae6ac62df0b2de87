"""Any table of texts reads back as it was written, whatever its separators, encoding and packing."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtlv.data.catalog import load
from mtlv.data.options import Columns, DataOptions
from mtlv.data.tables.cells import number_of
from mtlv.data.tables.parts import beside, look_at
from mtlv.data.tables.rows import read_table
from mtlv.errors import DataError

NAMES = ["text", "note", "a"]
cells = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)
rows_of_texts = st.lists(
    st.tuples(cells, cells, st.sampled_from(["0", "1", "yes"])).map(list), min_size=3, max_size=8
)
PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def values(table) -> list[list[object]]:
    return [list(row.values()) for _, row in table.rows]


@given(
    rows_of_texts,
    st.sampled_from(",;\t|"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    st.sampled_from([*PACK, ".zip"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([".csv", ".tsv"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_a_delimited_table_reads_back(rows, mark, codec, packing, end, suffix, quoting) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=mark, lineterminator=end, quoting=quoting).writerows([NAMES, *rows])
    data = out.getvalue().encode(codec)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{suffix}{packing}"
        if packing == ".zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr(f"t{suffix}", data)
        else:
            path.write_bytes(PACK[packing](data))
        table = read_table(path)
    assert table.columns == tuple(NAMES)
    assert values(table) == rows


def write(folder: Path, text: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


SENTENCES = {
    "cp1252": "Größe übermäßig – „gut“ sehr ähnlich und später schön",
    "cp1251": "Пациент жалуется на сильную головную боль",
    "gb18030": "患者主诉剧烈头痛和恶心，从昨天开始持续",
}


@pytest.mark.parametrize("codec", SENTENCES)
def test_an_encoding_is_recognised_and_named_or_set(tmp_path, codec) -> None:
    text = "text,a\n" + "".join(f"{SENTENCES[codec]} {n},{n % 2}\n" for n in range(20))
    path = write(tmp_path, text.encode(codec))
    table = read_table(path)
    assert table.rows[3][1]["text"] == f"{SENTENCES[codec]} 3"
    assert codec in table.notes[0]
    assert read_table(path, encoding=codec).rows == table.rows
    assert read_table(path, encoding=codec).notes == ()


def test_bytes_of_an_uncertain_encoding_are_named_with_the_setting(tmp_path) -> None:
    text = "text,a\n" + "患者は強い頭痛と吐き気を訴えている,1\n" * 20
    with pytest.raises(DataError, match=r"line 2, offset 7.*data.columns.encoding.*(cp932|euc_jp)"):
        read_table(write(tmp_path, text.encode("euc_jp")))
    with pytest.raises(DataError, match=r"encoding` is unknown .got klingon"):
        read_table(write(tmp_path, "text,a\nx,1\n"), encoding="klingon")


def test_quotes_within_texts(tmp_path) -> None:
    escaped = 'text,a\n"say \\"hi\\", twice",1\n"x",0\n'
    assert values(read_table(write(tmp_path, escaped))) == [['say "hi", twice', "1"], ["x", "0"]]
    plain = 'text\ta\n"ok" he said\t1\n"open\t0\n'
    assert values(read_table(write(tmp_path, plain, "t.tsv"))) == [['"ok" he said', "1"], ['"open', "0"]]


@pytest.mark.parametrize("text", ["text,a,\nx,1,\ny,0,\n", "text,a\nx,1,\ny,0,\n"])
def test_a_separator_at_the_end_of_lines_is_no_column(tmp_path, text) -> None:
    assert values(read_table(write(tmp_path, text))) == [["x", "1"], ["y", "0"]]


def test_rows_may_have_names_without_a_column(tmp_path) -> None:
    table = read_table(write(tmp_path, '"text","a"\n"1","x","0"\n"2","y","1"\n'))
    assert table.column("text") == ("x", "y")
    assert table.column("a") == ("0", "1")


def test_columns_of_one_name_are_told_apart(tmp_path) -> None:
    table = read_table(write(tmp_path, "text,a,a,,\nx,1,2,3,4\n"))
    assert table.columns == ("text", "a", "a.2", "", "column.2")
    assert "a.2" in table.notes[0]


def test_a_header_that_is_repeated_is_left_out(tmp_path) -> None:
    table = read_table(write(tmp_path, "text,a\nx,1\ntext,a\ny,0\ntext,a\n"))
    assert values(table) == [["x", "1"], ["y", "0"]]
    assert "line 3; also at line 5" in table.notes[0]


TEXT = "In this study we saw a film of number {}"
DATA = {
    "text and label": [[TEXT.format(n), str(n % 2)] for n in range(30)],
    "class, text and id": [["abc"[n % 3], TEXT.format(n), f"id{n * 7}"] for n in range(30)],
    "text and number": [[TEXT.format(n), f"{n / 7:.2f}"] for n in range(30)],
}
HEADERS = {
    "text and label": [["text", "label"], ["the text that was written by a customer", "is it urgent"]],
    "class, text and id": [["class", "text", "id"], ["", "sentence", "guid"]],
    "text and number": [["0", "1"], ["Kommentar", "Note"]],
}


def tsv(rows: list[list[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


@pytest.mark.parametrize("kind", DATA)
def test_a_first_row_like_the_others_is_no_header(tmp_path, kind) -> None:
    rows = DATA[kind]
    table, names = look_at(write(tmp_path, tsv(rows), "t.tsv"))
    assert values(table) == rows
    assert names == table.columns == tuple(f"column{n}" for n in range(1, len(rows[0]) + 1))
    assert read_table(tmp_path / "t.tsv").is_suspect
    for header in HEADERS[kind]:
        table, names = look_at(write(tmp_path, tsv([header, *rows]), "t.tsv"))
        assert (values(table), names, table.columns) == (rows, None, tuple(header))
        assert not read_table(tmp_path / "t.tsv").is_suspect


def test_names_are_those_of_a_file_without_a_header(tmp_path) -> None:
    rows = DATA["text and label"]
    path = write(tmp_path, tsv(rows), "t.tsv")
    columns = Columns(text="what", labels=("urgent",), names=("what", "urgent"))
    assert len(load("table", DataOptions(path=path, columns=columns))) == 30
    write(tmp_path, tsv([["urgent", "what"], *([b, a] for a, b in rows)]), "t.tsv")  # a header after all
    corpus = load("table", DataOptions(path=path, columns=columns))
    assert corpus.texts == tuple(row[0] for row in rows)
    with pytest.raises(DataError, match=r"has 2 columns, but `data.columns.names` has 3"):
        read_table(path, names=["x", "y", "z"])
    assert len(look_at(path, header=False)[0].rows) == 31


def test_parts_agree_where_only_one_has_a_header(tmp_path) -> None:
    rows = DATA["text and label"]
    write(tmp_path, tsv(rows[:20]), "train.tsv")
    write(tmp_path, tsv(rows[20:25]), "dev.tsv")
    last = [["index", "sentence", "label"], *([str(n), *row] for n, row in enumerate(rows[25:]))]
    write(tmp_path, tsv(last), "test.tsv")
    table, names = look_at(tmp_path)
    assert names == ("sentence", "label")
    assert sorted(table.column("sentence")) == sorted(row[0] for row in rows)
    columns = Columns(text="sentence", labels=("label",), names=names)
    corpus = load("table", DataOptions(path=tmp_path, columns=columns))
    assert len(corpus) == 30
    assert corpus.parts is not None
    assert corpus.parts.count("validation") == 5


def test_files_beside_each_other_are_parts(tmp_path) -> None:
    train = write(tmp_path, "text,a\nx,1\n", "train.csv")
    assert beside(train) == (train, "")
    test = write(tmp_path, "a,text\n0,y\n", "test.csv.gz".removesuffix(".gz"))
    assert beside(train)[0] == beside(test)[0] == tmp_path
    assert values(look_at(tmp_path)[0]) == [["x", "1"], ["y", "0"]]
    write(tmp_path, "text\ny\n", "test.csv")
    with pytest.raises(DataError, match=r"`test.csv` does not have all columns.*add `a`.*mtlv predict"):
        look_at(tmp_path)


ROWS = [{"text": "x", "a": 1}, {"text": "y", "a": 0}, {"text": "z", "a": 1}]
FORMS = {
    "array": ROWS,
    "within": {"version": 2, "data": ROWS},
    "split": {"columns": ["text", "a"], "index": [0, 1, 2], "data": [["x", 1], ["y", 0], ["z", 1]]},
    "columns": {"text": {"0": "x", "1": "y", "2": "z"}, "a": {"0": 1, "1": 0, "2": 1}},
    "lists": {"text": ["x", "y", "z"], "a": [1, 0, 1]},
    "by id": {"p1": ROWS[0], "p2": ROWS[1], "p3": ROWS[2]},
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(("form", "name"), [*((form, "t.json") for form in FORMS), ("array", "t.jsonl")])
def test_json(tmp_path, form, indent, name) -> None:
    path = write(tmp_path, json.dumps(FORMS[form], indent=indent), name)
    assert [dict(row) for _, row in read_table(path).rows] == ROWS


def test_json_lines_by_any_name(tmp_path) -> None:
    for name in ("t.json", "t.jsonl", "t.ndjson"):
        path = write(tmp_path, "\n".join(map(json.dumps, ROWS)), name)
        assert [dict(row) for _, row in read_table(path).rows] == ROWS


def test_json_without_rows(tmp_path) -> None:
    for value in ({"a": 1}, [1, 2], 5):
        with pytest.raises(DataError, match=r"t.json` has no"):
            read_table(write(tmp_path, json.dumps(value), "t.json"))


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrow"])
def test_columns_of_arrow(tmp_path, suffix) -> None:
    import pyarrow
    import pyarrow.feather
    import pyarrow.parquet

    rows = [{"text": f"t{n % 3}" if n % 7 else None, "a": n % 2, "l": ["x"] * (n % 3)} for n in range(9000)]
    table = pyarrow.Table.from_pylist(rows)
    path = tmp_path / f"t{suffix}"
    if suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    elif suffix == ".feather":
        pyarrow.feather.write_feather(table, path)
    else:
        with pyarrow.ipc.new_stream(path, table.schema) as out:
            out.write_table(table)
    assert [dict(row) for _, row in read_table(path).rows] == rows


def test_what_unfolds_to_too_much_is_refused_before_it_does(tmp_path, monkeypatch) -> None:
    import pyarrow
    import pyarrow.parquet

    monkeypatch.setattr("mtlv.data.tables.decoding.FREE_BYTES", 1_000_000)
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["word " * 1000] * 20_000}), path)
    monkeypatch.setattr("mtlv.data.tables.arrow._cells", lambda column: pytest.fail("unfolded"))
    with pytest.raises(DataError, match=r"`t.parquet` is too large .*divide it"):
        read_table(path)
    with pytest.raises(DataError, match=r"`t.csv.gz` is too large .*allowed: up to 1,000,000 bytes"):
        read_table(write(tmp_path, gzip.compress(b"text\n" + b"word " * 1_000_000), "t.csv.gz"))


def test_a_cell_or_line_that_is_too_long_is_not_held(tmp_path, monkeypatch) -> None:
    limit = csv.field_size_limit(1000)
    try:
        with pytest.raises(DataError, match=r"line 2 .got field larger"):
            read_table(write(tmp_path, 'text,a\n"' + "x\n" * 2000 + '",1\n'))
    finally:
        csv.field_size_limit(limit)
    monkeypatch.setattr("mtlv.data.tables.decoding.MOST_LINE", 1000)
    with pytest.raises(DataError, match=r"a line of 1,000 characters or more, line 2"):
        read_table(write(tmp_path, '{"a": 1}\n{"a": "' + "x" * 2000 + '"}\n', "t.jsonl"))


def test_packed_files_that_are_damaged_or_have_several_files(tmp_path) -> None:
    with pytest.raises(DataError, match=r"cannot be (unpacked|read)"):
        read_table(write(tmp_path, gzip.compress(b"text,a\nx,1\n" * 99)[:-9], "t.csv.gz"))
    with zipfile.ZipFile(tmp_path / "t.csv.zip", "w") as archive:
        archive.writestr("a.csv", "x")
        archive.writestr("b.csv", "x")
    with pytest.raises(DataError, match=r"does not have one file .got a.csv, b.csv"):
        read_table(tmp_path / "t.csv.zip")


def test_excel(tmp_path, monkeypatch) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["text", "a", None], ["x", 1, None], [None, None, None], ["y", 0.5, None]):
        book.active.append(row)
    book.create_sheet("more")
    book.save(tmp_path / "t.xlsx")
    table = read_table(tmp_path / "t.xlsx")
    assert table.rows == ((2, {"text": "x", "a": 1}), (4, {"text": "y", "a": 0.5}))
    assert "not more" in table.notes[0]
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"pip install 'mtlv\[excel\]'"):
        read_table(tmp_path / "t.xlsx")


def test_a_saved_data_set_is_named(tmp_path) -> None:
    write(tmp_path, "{}", "state.json")
    with pytest.raises(DataError, match=r"save_to_disk.*name: huggingface, path"):
        load("table", DataOptions(path=tmp_path, columns=Columns(labels=("a",))))


def test_decimal_commas() -> None:
    assert [number_of(cell) for cell in ("4,4", "-0,125", " 12,50", "1.5", "1234,567")] == [
        4.4, -0.125, 12.5, 1.5, 1234.567
    ]  # fmt: skip
    for cell in ("1,234", "12,345", "1,2,3", "1,", ",", "1,x"):
        with pytest.raises(ValueError, match="a number"):
            number_of(cell)
