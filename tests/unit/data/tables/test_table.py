"""Tables of a user's own: four formats, one corpus; every fault with its place."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from mtlv.data import catalog
from mtlv.data.options import Columns, DataOptions
from mtlv.data.tables.rows import read_table
from mtlv.errors import DataError

CSV = 'id,text,a,b\nx1,"one, two",1,0\nx2,"line\nbreak",0,1\nx3,both,1,1\n'
WIDE = Columns(id="id", labels=("a", "b"))


def load(path, columns=WIDE, **options):
    return catalog.load("table", DataOptions(path=path, columns=columns, **options))


def write(folder, content, name="t.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def check(corpus):
    assert corpus.ids == ("x1", "x2", "x3")
    assert corpus.texts == ("one, two", "line\nbreak", "both")
    assert corpus.names == ("a", "b")
    assert corpus.matrix().tolist() == [[1, 0], [0, 1], [1, 1]]
    assert corpus.parts is None


UNKNOWN_LABELS = replace(WIDE, missing_labels="unknown")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("id,text,a,b\n1,x,1,\n2,y, ,0\n3,z,no,yes\n", "t.csv"),
        ('{"id": 1, "text": "x", "a": 1}\n{"id": 2, "text": "y", "a": null, "b": 0}\n'
         '{"id": 3, "text": "z", "a": false, "b": 1}\n', "t.jsonl"),
    ],
)  # fmt: skip
def test_empty_cells_can_be_unknown_labels(tmp_path, content, name):
    path = write(tmp_path, content, name)
    corpus = load(path, UNKNOWN_LABELS)
    assert {name: own.tolist() for name, own in corpus.targets.items()} == {"a": [1, -1, 0], "b": [-1, 0, 1]}
    assert corpus.notes == ("2 of 6 labels are missing, and neither learned nor tested: `a` 1, `b` 1",)
    with pytest.raises(DataError, match=r"column `b` is empty.* set `data.columns.missing_labels: unknown`"):
        load(path)


def test_other_cells_are_no_unknown_labels(tmp_path):
    with pytest.raises(DataError, match=r"line 2, column `b` is not 0 or 1 .got 'x'"):
        load(write(tmp_path, "id,text,a,b\n1,x,1,x\n2,y,,0\n"), UNKNOWN_LABELS)
    columns = Columns(label_list="a", missing_labels="unknown")
    with pytest.raises(
        DataError, match=r"unknown` is for columns of `labels`; remove it: an empty cell of `label_list`"
    ):
        load(write(tmp_path, "text,a\nx,a\ny,\n"), columns)
    columns = Columns(kind="mlm", missing_labels="unknown")
    with pytest.raises(DataError, match=r"`data.columns.missing_labels` is set, but `kind: mlm` does not"):
        load(write(tmp_path, "text,a\nx,1\ny,2\n"), columns)


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_csv_with_and_without_byte_order_mark(tmp_path, start):
    check(load(write(tmp_path, start + CSV.encode())))
    check(load(write(tmp_path, start + CSV.replace("\n", "\r\n").replace("line\r\n", "line\n").encode())))


def test_tsv(tmp_path):
    check(
        load(
            write(
                tmp_path,
                'id\ttext\ta\tb\nx1\tone, two\t1\t0\nx2\t"line\nbreak"\t0.0\t1.0\n\nx3\tboth\t1\t1\n',
                "t.tsv",
            )
        )
    )


ROWS = [("x1", "one, two", ["a"]), ("x2", "line\nbreak", ["b"]), ("x3", "both", ["a", "b"])]


def test_jsonl_with_columns_and_with_lists(tmp_path):
    wide = [{"id": i, "text": t, "a": int("a" in x), "b": "b" in x} for i, t, x in ROWS]
    check(load(write(tmp_path, "\n".join(map(json.dumps, wide)), "t.jsonl")))
    long = [{"id": i, "text": t, "labels": x} for i, t, x in ROWS]
    columns = Columns(id="id", label_list="labels")
    check(load(write(tmp_path, "\n".join(map(json.dumps, long)), "t.jsonl"), columns))


def test_parquet_with_columns_and_with_lists(tmp_path):
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(
        {
            "id": [row[0] for row in ROWS],
            "text": [row[1] for row in ROWS],
            "labels": [row[2] for row in ROWS],
            "a": [1, 0, 1],
            "b": [False, True, True],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    check(load(tmp_path / "t.parquet"))
    check(load(tmp_path / "t.parquet", Columns(id="id", label_list="labels")))


@pytest.mark.parametrize(
    ("cells", "separator"),
    [(("a", "b", "a; b"), ";"), (('["a"]', '["b"]', '["a", "b"]'), ";"), (("a", "b", "b|a"), "|")],
)
def test_csv_label_lists(tmp_path, cells, separator):
    rows = "".join(f'x{i},t{i},"{cell.replace(chr(34), 2 * chr(34))}"\n' for i, cell in enumerate(cells))
    corpus = load(
        write(tmp_path, "id,text,labels\n" + rows), Columns(id="id", label_list="labels", separator=separator)
    )
    assert corpus.names == ("a", "b")
    assert corpus.matrix().tolist() == [[1, 0], [0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "text,a,b\nx,True,false\ny,FALSE, true\n"),
        ("t.jsonl", '{"text": "x", "a": true, "b": "False"}\n{"text": "y", "a": false, "b": "TRUE"}\n'),
        ("t.csv", "text,a,b\nx,Yes,NO\ny, no ,yes\n"),
        ("t.csv", "text,a,b\nx,Y,n\ny,N,y\n"),
    ],
)
def test_true_and_false_yes_and_no_are_labels_in_any_case(tmp_path, name, text):
    assert load(write(tmp_path, text, name), Columns(labels=("a", "b"))).matrix().tolist() == [[1, 0], [0, 1]]


def test_a_column_may_have_another_separator_in_its_name(tmp_path):
    corpus = load(write(tmp_path, "a;b,text\n1,x\n0,y\n"), Columns(labels=("a;b",)))
    assert corpus.names == ("a;b",)


def test_an_empty_label_list_is_a_document_without_labels(tmp_path):
    corpus = load(write(tmp_path, "text,labels\nx,a\ny,\n"), Columns(label_list="labels"))
    assert corpus.matrix().tolist() == [[1], [0]]
    assert corpus.ids == ("2", "3"), "without an id column, ids are line numbers"


def test_parts_and_rows_without_text(tmp_path):
    text = "text,split,a\none,Training,1\ntwo,dev,0\n ,test,1\nfour,test,0\n"
    corpus = load(write(tmp_path, text), Columns(part="split", labels=("a",)))
    assert corpus.parts == ("train", "validation", "test")
    assert corpus.notes == ("1 row without text dropped",)


def test_labels_can_be_chosen_and_described(tmp_path):
    corpus = load(write(tmp_path, CSV), labels=("b",), descriptions={"b": "The second."})
    assert corpus.names == ("b",)
    assert corpus.tasks[0].description == "The second."
    assert catalog.tasks("table", DataOptions(path=tmp_path / "t.csv", columns=WIDE))[0].name == "a"


FAULTS = [
    ("id,text,a,b\n1,x,1,0\n2,y,1\n", WIDE, "invalid row at line 3 .got 3 fields.; allowed: 4 fields"),
    ('id,text,a,b\n1,"x\nx",1,0\n2,y,1,0,5\n', WIDE, "invalid row at line 4 .got 5 fields"),
    ('id,text,a,b\n1,x,1,0\n2,"y,1,0\n3,z,1,1\n', WIDE, "invalid row at line 3 .*quotes"),
    ('id,text,a,b\n1,"x" y,1,0\n', WIDE, "invalid row at line 2"),
    (
        "id,text,a,b\n1,x,1,0\n2,y,maybe,2\n",
        WIDE,
        r"^`t.csv` line 3, .* is not 0 or 1 .got 'maybe'.; allowed: 0, 1, true, false, yes, no\.\n.* `b`",
    ),
    (
        "id,text,a,b\n1,x,1,0\n2,y,,0\n3,y,1,0\n4,z,-,0\n5,z,2,0\n",
        WIDE,
        "line 3, column `a` is empty .got ''.; allowed: 0, 1, true, false, yes, no; a label must not be "
        "missing: fill it, such as with 0 for no, or set `data.columns.missing_labels: unknown` if "
        "empty cells mean that it is not known.\n.*line 5, column `a` is not 0 or 1 .got '-'.; .*at line 6",
    ),
    ("id,text,a,b\n1,x,1,0\n2,y\n3,z\n", WIDE, "invalid row at line 3 .*; also at line 4"),
    ("id,txt,aa,b\n1,x,1,2\n", WIDE, "no column `text`(.|\n)*no column `a`(.|\n)*line 2, column `b`"),
    ("id,text,a,b\n1,x,1,\n", WIDE, "line 2, column `b` is empty .got ''"),
    (
        "id,Text,a,b\n1,x,1,0\n",
        WIDE,
        "no column `text` ..data.columns.text..; allowed: id, Text, a, b; did you mean `Text`",
    ),
    ("id,text,a,bb\n1,x,1,0\n", WIDE, "no column `b` ..data.columns.labels"),
    ("id,text,a,b\n1,x,1,0\n", Columns(id="ids", labels=("a",)), "no column `ids`.*did you mean `id`"),
    ("id,text,a,a\n1,x,1,0\n", WIDE, "no column `b` .*allowed: id, text, a, a.2"),
    ("", WIDE, "`t.csv` is empty"),
    ("id,text,a,b\n", WIDE, "`t.csv` has no row"),
    ("id,text,a,b\n1,,1,0\n", WIDE, "no documents: column `text` is empty in all rows"),
    (
        "id,text,a,b\n1,x,1,0\n",
        WIDE,
        "corpus `table` cannot be learned: column `b` is always 0; leave it out of `data.columns.labels`[.]$",
    ),
    ("id,text,a,b\n1,x,1,1\n1,y,0,0\n", WIDE, "a duplicate id .got 1"),
    ("text,a\nx,1\n", Columns(), "`data.columns` must have a column for the labels.*has the columns text, a"),
    ("text,a\nx,1\n", Columns(labels=("a",), label_list="a"), "either `labels`"),
    ("text,l\nx,[1\n", Columns(label_list="l"), "line 2, column `l` is not a JSON list"),
    ("text,l\nx,[[1]]\n", Columns(label_list="l"), "line 2, column `l` is not a list of labels"),
    (
        "text,p,a\nx,holdout,1\n",
        Columns(part="p", labels=("a",)),
        "column `p` is not a part .got 'holdout'.; allowed: train",
    ),
    (
        b"id,text,a,b\n1,x,1,0\n2,\xff\x00\xfe,1,0\n",
        WIDE,
        "unreadable bytes at line 3, offset 22 .got 0xff.*UTF-8",
    ),
]


OTHER_KINDS = [
    (
        "chest,knee,chest",
        ("a",),
        "; for classes set `kind: multiclass` and `target: a`, instead of `labels`;",
    ),
    (",knee,chest", ("a",), "; for classes set `kind: multiclass`"),
    ("1,7.5,8", ("a",), "; for numbers set `kind: regression` and `target: a`, instead of `labels`;"),
    (
        "1,2,3",
        ("a",),
        "for numbers set `kind: regression`, for classes set `kind: multiclass` and `target: a`,",
    ),
    (
        "1.5,2.5,1",
        ("a", "b"),
        "set `kind: regression` and `target: a`, in a source of its own (`data.sources`);",
    ),
]


@pytest.mark.parametrize(("cells", "labels", "step"), OTHER_KINDS)
def test_a_column_of_classes_or_numbers_among_the_labels_leads_to_its_kind(tmp_path, cells, labels, step):
    rows = "".join(f"x,{cell},0\n" for cell in cells.split(","))
    with pytest.raises(DataError, match=re.escape(step)):
        load(write(tmp_path, f"text,a,b\n{rows}"), Columns(labels=labels))


def test_a_column_of_labels_with_few_wrong_cells_stays_one(tmp_path):
    with pytest.raises(DataError, match="'unclear'") as caught:  # of two cells that are filled
        load(write(tmp_path, "text,a\nx,1\nx,unclear\nx,\nx,\n"), Columns(labels=("a",)))
    assert "kind" not in str(caught.value)


@pytest.mark.parametrize(("content", "columns", "message"), FAULTS)
def test_faults_have_a_place(tmp_path, content, columns, message):
    with pytest.raises(DataError, match=message):
        load(write(tmp_path, content), columns)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"text": "x", "a": 1}\n{"text": \n',
            r"JSON at line 2 \(got Expecting value: column 10 .*; each line must be one JSON object\.$",
        ),
        ('{"text": "x", "a": 1}\n[1]\n', "no JSON object at line 2"),
        ('{"text": "x", "a": 1}\n{"text": "y", "a": 3}\n', "line 2, column `a` is not 0 or 1 .got 3"),
        (
            '{"text": "x", "a": 1}\n{"text": "y"}\n',
            "line 2, column `a` is empty .got None.*a label must not be",
        ),
        ('{"text": 5, "a": 1}\n', "line 1, column `text` is not text"),
        (
            '{"text": "x", "a": 1}\n{"text": "y", "a": 1, "a": 0}\n',
            "line 2 .got a duplicate key `a` in one obj",
        ),
        (
            '{"text": "x", "a": 1, "more": [{"b": 1, "b": 1}]}\n',
            "line 1 .got a duplicate key `b` in one object",
        ),
    ],
)
def test_jsonl_faults(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        load(write(tmp_path, content, "t.jsonl"), Columns(labels=("a",)))


HUGE = [
    (".csv", "a," * 20_000 + "\n", "too many columns .got 2000[01].; allowed: up to 10000"),
    (
        ".csv",
        "text,l\n" + "".join(f"x,l{i}\n" for i in range(2001)),
        "too many labels in column `l` .got 2001",
    ),
    (".csv", "x" * 100_000 + ",text\n1,2\n", "no column `l` .*…"),
    (".csv", "text,l\nx," + "[" * 100_000 + "\n", "not a JSON list: nested too deeply"),
    (".csv", 'text,l\nx,"[""\\ud800""]"\n', "not a JSON list: a lone surrogate"),
    (".jsonl", '{"text": "x", "l": ' + "[" * 100_000 + "\n", "invalid JSON at line 1 .got nested too deeply"),
    (".jsonl", '{"text": "x"}\n{"text": "\\ud83d", "l": []}\n', "line 2 .got a lone surrogate"),
    (".jsonl", '{"text": "x", "l": ' + "9" * 9000 + "}\n", "invalid JSON at line 1 .got Exceeds the limit"),
    (".jsonl", json.dumps({f"c{i}": 1 for i in range(10_001)}), "too many columns .got 10001"),
]


@pytest.mark.parametrize(("suffix", "content", "message"), HUGE)
def test_huge_and_hostile_tables_are_refused_at_once(tmp_path, suffix, content, message):
    with pytest.raises(DataError, match=message) as caught:
        load(write(tmp_path, content, f"t{suffix}"), Columns(label_list="l"))
    assert len(str(caught.value)) < 3000


def test_a_table_above_the_limit_is_not_read(tmp_path, monkeypatch):
    import pyarrow
    import pyarrow.parquet

    monkeypatch.setattr("mtlv.data.tables.decoding.MOST_BYTES", 5000)
    with pytest.raises(
        DataError, match=r"`t.csv` is too large .got 5,100 bytes.; allowed: up to 5,000 bytes"
    ):
        load(write(tmp_path, "x" * 5100))
    # 100,000 equal texts pack into a few hundred bytes.
    pyarrow.parquet.write_table(
        pyarrow.table({"text": ["word " * 10] * 100_000}), tmp_path / "t.parquet", use_dictionary=False
    )
    with pytest.raises(DataError, match=r"`t.parquet` is too large"):
        load(tmp_path / "t.parquet", Columns(labels=("a",)))


def test_parquet_cells_that_python_cannot_hold(tmp_path):
    import pyarrow
    import pyarrow.parquet

    bad = pyarrow.StringArray.from_buffers(
        1, pyarrow.py_buffer(b"\0\0\0\0\x01\0\0\0"), pyarrow.py_buffer(b"\xff")
    )
    pyarrow.parquet.write_table(pyarrow.table({"text": bad, "a": [1]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"`t.parquet` cannot be read as Parquet"):
        load(tmp_path / "t.parquet", Columns(labels=("a",)))


def test_other_files(tmp_path):
    with pytest.raises(DataError, match=r"unknown file type; allowed: a file ending in .csv, .tsv"):
        load(write(tmp_path, "x", "t.docx"))
    with pytest.raises(
        DataError, match=r"no documents in .*allowed: a file, or a folder with train, dev and"
    ):
        load(tmp_path)
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        load(write(tmp_path, "x", "t.parquet"))


def test_a_long_document_is_read_whole(tmp_path):
    corpus = load(write(tmp_path, f'text,a\n"{"word " * 50_000}",1\n'), Columns(labels=("a",)))
    assert len(corpus.texts[0]) == 5 * 50_000 - 1


def parquet(folder, columns):
    """A file of (name, cells) columns, whose names may repeat."""
    import pyarrow
    import pyarrow.parquet

    arrays = [pyarrow.array(cells) for _, cells in columns]
    table = pyarrow.Table.from_arrays(arrays, names=[name for name, _ in columns])
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


GOOD = [("id", ["1", "2"]), ("text", ["x", "y"]), ("a", [1, 0]), ("b", [0, 1])]


def changed(*columns):
    """The good columns with others in the place of those of the same name."""
    return list((dict(GOOD) | dict(columns)).items())


PARQUET_FAULTS = {
    "a missing column": (
        GOOD[:3],
        "`t.parquet` has no column `b` ..data.columns.labels..; allowed: id, text, a[.]",
    ),
    "no column": ([], "`t.parquet` has no row"),
    "no row": ([(name, cells[:0]) for name, cells in GOOD], "`t.parquet` has no row"),
    "a missing cell": (
        changed(("a", [1, None])),
        "`t.parquet` row 2, column `a` is empty .got None.*a label must not be",
    ),
    "no text": (changed(("text", [None, " "])), "column `text` is empty in all rows"),
    "numbers as texts": (
        changed(("text", [1.5, 2])),
        "row 1, column `text` is not text .got 1.5.*also at row 2",
    ),
    "lists as texts": (changed(("text", [[1], [2]])), "row 1, column `text` is not text .got .1"),
    "words as labels": (changed(("a", ["1", "maybe"])), "row 2, column `a` is not 0 or 1 .got 'maybe'"),
    "fractions as labels": (changed(("a", [0.5, float("nan")])), "row 1, column `a` is not 0 or 1 .got 0.5"),
    "objects as labels": (changed(("a", [{"a": 1}, {"a": 0}])), "no column `a` .*allowed: id, text, a.a, b"),
    "a column twice": ([*GOOD, ("a", [0, 1])], "`t.parquet` has a duplicate column .got a"),
    "an id twice": (changed(("id", ["1", "1"])), "a duplicate id .got 1.; make the ids unique"),
    "an unknown part": (
        changed(("part", ["train", "both"])),
        "row 2, column `part` is not a part .got 'both'",
    ),
}


@pytest.mark.parametrize("name", PARQUET_FAULTS)
def test_parquet_faults(tmp_path, name):
    columns, message = PARQUET_FAULTS[name]
    part = "part" if "part" in name else None
    with pytest.raises(DataError, match=message):
        load(parquet(tmp_path, columns), Columns(id="id", labels=("a", "b"), part=part))


def test_parquet_that_contradicts_itself(tmp_path):
    path = parquet(tmp_path, GOOD)
    data, said = path.read_bytes(), []
    for at in range(4, len(data)):  # every byte of the pages and of what is said about them
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            corpus = load(path)
        except DataError as error:
            said.append(str(error))
        else:
            assert corpus.matrix().shape == (len(corpus), 2)
    assert len(said) > 100
    assert all("t.parquet" in text or "corpus `table`" in text for text in said)


def test_a_parquet_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"nothing is at `data.path` .got .*none.parquet.; .*set `data.path`"):
        load(tmp_path / "none.parquet")


NESTED = [
    {"note": {"title": "x", "body": "Fever since Monday."}, "labels": {"a": 1, "deep": {"b": 0}}},
    {"note": {"title": "y", "body": "No fever."}, "labels": None},
    {"note": {"title": "z", "body": "A cough."}, "labels": {"a": 0, "deep": {"b": 1}}},
]


@pytest.mark.parametrize("form", ["t.jsonl", "t.json", "t.parquet"])
def test_fields_of_objects_are_columns(tmp_path, form):
    if form == "t.parquet":
        parquet(tmp_path, [(name, [row[name] for row in NESTED]) for name in NESTED[0]])
    else:
        lines = "\n".join(map(json.dumps, NESTED))
        write(tmp_path, lines if form == "t.jsonl" else json.dumps(NESTED), form)
    labels = ("labels.a", "labels.deep.b")
    corpus = load(tmp_path / form, Columns(text="note.body", labels=labels, missing_labels="unknown"))
    assert corpus.texts == ("Fever since Monday.", "No fever.", "A cough.")
    assert {name: corpus.targets[name].tolist() for name in labels} == {
        "labels.a": [1, -1, 0],
        "labels.deep.b": [0, -1, 1],
    }


@pytest.mark.parametrize("listed", [{"feature": {"names": ["heart", "lung"], "_type": "ClassLabel"}}, [{}]])
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_classes_have_the_names_that_datasets_wrote(tmp_path, suffix, listed):
    import pyarrow
    import pyarrow.feather
    import pyarrow.parquet

    features = {
        "label": {"names": ["no", "yes", "maybe"], "_type": "ClassLabel"},
        "topics": {**listed, "_type": "Sequence"} if isinstance(listed, dict) else listed,
        "text": {"dtype": "string", "_type": "Value"},
        "gone": {"names": ["x"], "_type": "ClassLabel"},
    }
    about = json.dumps({"info": {"features": features}})
    rows = {"text": ["a", "b", "c"], "label": [2, -1, 0], "topics": [[1, 0], [], [1]]}
    table = pyarrow.table(rows).replace_schema_metadata({"huggingface": about})
    writers = {".parquet": pyarrow.parquet.write_table, ".feather": pyarrow.feather.write_feather}
    writers[suffix](table, str(tmp_path / f"t{suffix}"))
    read = read_table(tmp_path / f"t{suffix}")
    assert read.column("label") == ("maybe", None, "no")
    names = ("heart", "lung") if isinstance(listed, dict) else (0, 1)
    assert read.column("topics") == ([names[1], names[0]], [], [names[1]])
    assert read.column("text") == ("a", "b", "c")


def test_a_file_in_the_folder_of_its_part(tmp_path):
    """As the hub lays out `refs/convert/parquet`: `train/0000.parquet`."""
    for part in ("test", "train", "other"):
        (tmp_path / part).mkdir()
        write(tmp_path / part, f"text,a\nof {part},1\nand {part},0\n", "0000.csv")
    corpus = load(tmp_path, Columns(labels=("a",)))
    assert corpus.parts == ("train", "train", "test", "test")
    assert corpus.texts == ("of train", "and train", "of test", "and test")
    write(tmp_path / "train", "text,a\nx,1\n", "0001.csv")
    with pytest.raises(DataError, match=r"several files for the train part .*`data.name: huggingface`"):
        load(tmp_path, Columns(labels=("a",)))
