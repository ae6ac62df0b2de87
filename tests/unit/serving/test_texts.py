"""Texts to predict: what is read from files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtlv.data.tables.rows import read_table
from mtlv.errors import DataError
from mtlv.serving.columns import input_columns, training_columns
from mtlv.serving.texts import InputTexts, from_arguments, from_table
from mtlv.settings import load_overrides


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def from_file(path: Path, column: str | None = None, named: dict[str, list[str]] | None = None) -> InputTexts:
    return from_table(read_table(path), column, named or {})


def test_a_text_file_has_a_text_a_line_without_blank_ones(tmp_path: Path) -> None:
    found = from_file(written(tmp_path, "t.txt", "\ufeffone\r\n\n  \ntwo,\x0cwith a page\n"))
    assert found.texts == ("one", "two,\x0cwith a page")
    assert found.numbers == (1, 4)
    assert found.unit == "line"


def test_tables_give_one_column(tmp_path: Path) -> None:
    csv = written(tmp_path, "t.csv", 'id,text,report\n1,a,"x\ny"\n2,b,z\n')
    assert from_file(csv).texts == ("a", "b")
    assert from_file(csv).numbers == (2, 4)
    assert from_file(csv, "report").texts == ("x\ny", "z")
    rows = written(tmp_path, "t.jsonl", "".join(json.dumps({"text": t}) + "\n" for t in ("肺炎", "b")))
    assert from_file(rows).texts == ("肺炎", "b")


@pytest.mark.parametrize(
    ("name", "content", "column", "said"),
    [
        ("t.csv", "text\n", None, r"`t.csv` has no row"),
        ("t.csv", "body\na\n", None, r"no column `text` \(--column\); allowed: body"),
        ("t.csv", "Text\na\n", None, r"did you mean `Text`"),
        (
            "t.csv",
            'text,n\n"",1\n"  ",2\n,3\n',
            None,
            r"column `text` of `t.csv`: there is no text; name another with `--column`",
        ),
        ("t.jsonl", '{"text": null}\n{"text": " "}\n{"x": 1}\n', None, r"there is no text"),
        ("t.txt", "a\n", "note", r"`t.txt` has no column `note` \(--column\); allowed: text"),
        ("t.txt", "\n \n", None, r"`t.txt` has no rows"),
        ("t.doc", "a", None, r"an unknown file type; allowed: a file ending in .csv, .tsv, .jsonl"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: str, column: str | None, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        from_file(written(tmp_path, name, content), column)


def test_a_file_that_is_not_there_or_no_utf_8(tmp_path: Path) -> None:
    for name in ("gone.txt", "gone.csv"):
        with pytest.raises(DataError, match=r"gone"):
            from_file(tmp_path / name)
    (tmp_path / "latin.txt").write_bytes("na\0\xefve\0".encode("latin-1"))
    with pytest.raises(DataError, match=r"unreadable bytes at line 1"):
        from_file(tmp_path / "latin.txt")


def test_empty_rows_keep_their_place(tmp_path: Path) -> None:
    assert from_arguments(["a", "", " \n"]).numbers == (1, 2, 3)
    with pytest.raises(DataError, match=r"the texts given: there is no text; give one"):
        from_arguments(["", " \n"])
    found = from_file(written(tmp_path, "t.csv", 'text,n\n,0\na,1\n"  ",2\nb,3\n,4\n'))
    assert (found.texts, found.numbers) == ((None, "a", None, "b", None), (2, 3, 4, 5, 6))
    rows = written(tmp_path, "t.jsonl", '{"text": "a"}\n{"text": 3}\n{"x": 1}\n{"text": null}\n')
    assert from_file(rows).texts == ("a", 3, None, None)


def test_ids_come_along(tmp_path: Path) -> None:
    table = written(tmp_path, "t.csv", "case,id,text\nc1,7,a\nc2,8,\nc3,9,b\n")
    assert from_file(table).ids == {"id": ("7", "8", "9")}
    assert from_file(table, named={"id": ["none", "case"]}).ids == {"case": ("c1", "c2", "c3")}
    assert from_file(table, "id").ids == {}, "they are the texts"
    assert from_file(written(tmp_path, "u.csv", "text,n\na,1\n"), named={"id": ["case"]}).ids == {}


def test_what_else_tasks_read_comes_along(tmp_path: Path) -> None:
    table = written(tmp_path, "t.csv", 'text,text_pair,mentions,n\na b,c,"[[0, 1]]",1\n')
    assert from_file(table).more == {"text_pair": ("c",), "mentions": ("[[0, 1]]",)}
    rows = written(tmp_path, "t.jsonl", '{"words": ["a", "b,"]}\n')
    assert from_file(rows).texts == ("a b,",)
    assert from_file(rows).more == {"words": (["a", "b,"],)}
    assert from_arguments(["a"], text_pair=["b"], words=None).more == {"text_pair": ("b",)}
    with pytest.raises(DataError, match=r"`text_pair` \(got 2\); allowed: one for each text \(1\)"):
        from_arguments(["a"], text_pair=["b", "c"])
    spaced = from_file(written(tmp_path, "w.csv", "words\nno list\n  \n"))
    assert (spaced.texts, spaced.more) == (("no list", None), {"words": ("no list", "  ")})
    lists = from_file(written(tmp_path, "l.jsonl", '{"text": ["no.", "list"]}\n{"text": 3}\n'))
    assert (lists.texts, lists.more) == (("no. list", 3), {}), "as texts of training may be lists of words"


def test_columns_named_in_training_are_read(tmp_path: Path) -> None:
    named = {"text": ["report", "note"], "words": ["tokens"], "text_pair": ["second"]}
    table = written(tmp_path, "t.csv", "text,note,second,mentions\na,b,c,d\n")
    found = from_file(table, named=named)
    assert (found.texts, found.more) == (("b",), {"text_pair": ("c",), "mentions": ("d",)})
    assert from_file(table, "text", named).texts == ("a",)
    assert from_file(written(tmp_path, "u.csv", "text,n\na,1\n"), named=named).texts == ("a",)
    rows = written(tmp_path, "t.jsonl", '{"tokens": ["a", "b"], "words": "c"}\n')
    found = from_file(rows, named=named)
    assert (found.texts, found.more) == (("a b",), {"words": (["a", "b"],)})
    with pytest.raises(
        DataError, match=r"no column `report` \(as in training; `--column` names.*\); allowed: n"
    ):
        from_file(written(tmp_path, "v.csv", "n\na\n"), named=named)
    both = written(tmp_path, "b.csv", "note,report,text\na,b,c\n")
    with pytest.raises(DataError, match=r"several columns of `b.csv` .* \(got report, note\); name one with"):
        from_file(both, named=named)
    assert from_file(both, "note", named).texts == ("a",)
    assert from_file(rows, "tokens", named).more == found.more
    pairs = written(tmp_path, "p.csv", "text,text_pair\na,b\n")
    trained = {"text": ["question"], "text_pair": ["text"]}
    assert from_file(pairs, named=trained).more == {"text_pair": ("b",)}
    found = from_file(written(tmp_path, "q.csv", "question,text\na,b\n"), named=trained)
    assert (found.texts, found.more) == (("a",), {"text_pair": ("b",)})


def test_sources_have_names_of_their_own() -> None:
    columns = ("text: report, id: case", "text: note, text_pair: text", "words: words, id: id")
    sources = ", ".join(f"{{name: table, alias: s{n}, columns: {{{c}}}}}" for n, c in enumerate(columns))
    data = load_overrides([f"data.sources=[{sources}]"]).members[0].settings.data
    assert training_columns(data) == {
        "text": ["report", "note", "text"],
        "text_pair": ["text"],
        "id": ["case", "id"],
    }
    assert input_columns(["text", "note", "words"], training_columns(data)) == {
        "text": "note",
        "text_pair": "text",
        "words": "words",
    }
    assert input_columns(["text"], training_columns(data)) == {"text": "text"}
    assert input_columns(["report", "note"], training_columns(data)) == {}
    assert input_columns(["report", "text"], {"text": ["report", "text"]}) == {}
    assert input_columns(["words", "n"], {"text": ["words"]}) == {"text": "words"}
    assert input_columns(["text", "text", "n"], {}) == {}
