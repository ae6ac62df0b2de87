"""What `mtlv data` shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtlv.data import catalog
from mtlv.errors import DataError
from mtlv.settings import load_suite
from mtlv.settings.data_schema import DataSettings
from mtlv.settings.draft import defaults
from mtlv.suite.data import check_data, fetch_lines, list_lines, show_lines, token_lengths
from mtlv.units.corpora import read_corpus, read_folds


def settings(**changes):
    """The `data` settings as the config hands them over."""
    given = {"documents": 300, "max_length": 20}
    columns = defaults()["data"]["columns"] | changes.pop("columns", {})
    return DataSettings.model_validate(defaults()["data"] | given | {"columns": columns} | changes)


def words(corpus):
    return np.array([len(text.split()) for text in corpus.texts])


def test_list_has_a_line_per_corpus(monkeypatch, tmp_path):
    monkeypatch.setenv("MTLV_DATA", str(tmp_path))
    for place in ("hoc/text", "openi"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "openi" / ".NLMCXR_reports.tgz-12").touch()
    lines = {line.split()[0]: line for line in list_lines()}
    assert tuple(lines) == catalog.names()
    assert "generated" in lines["synthetic"]
    assert " here " in lines["hoc"]
    assert "not downloaded" in lines["openi"]
    assert "your file" in lines["table"]


@pytest.mark.parametrize("name", catalog.names())
def test_show_names_source_licence_and_every_label(name):
    text = " ".join(" ".join(show_lines(name)).split())
    card = catalog.card(name)
    assert card.address in text
    assert card.licence in text
    assert all(label.name in text and label.description in text for label in card.labels)
    assert max(len(line) for line in show_lines(name) if not line.startswith("download ")) <= 140


def test_two_tables_have_columns_and_a_name_of_their_own(tmp_path):
    (tmp_path / "a.csv").write_text("id,a,likeness\n" + "".join(f"{n},text {n},{n % 5}\n" for n in range(60)))
    (tmp_path / "b.csv").write_text("id,text,topic\n" + "".join(f"{n},word {n},{n % 3}\n" for n in range(60)))
    data = settings(
        columns={"id": "id"},
        sources=[
            {
                "name": "table",
                "alias": "pairs",
                "path": str(tmp_path / "a.csv"),
                "columns": {"text": "a", "kind": "regression", "target": "likeness"},
                "batch_size": 4,
            },
            {
                "name": "table",
                "alias": "topics",
                "path": str(tmp_path / "b.csv"),
                "columns": {"kind": "multiclass", "target": "topic"},
            },
        ],
    )
    corpus = read_corpus(data)
    assert corpus.name == data.title == "pairs + topics"
    assert [(task.name, task.source, task.kind) for task in corpus.tasks] == [
        ("likeness", "pairs", "regression"),
        ("topic", "topics", "multiclass"),
    ]
    assert corpus.ids[0] == "pairs/0", "the id column is that of `data.columns`"
    assert data.batch_sizes == {"pairs": 4}
    assert len(read_folds(data, corpus)) == 1


def test_fetch_refuses_what_is_generated():
    with pytest.raises(DataError, match="no download is needed"):
        fetch_lines("synthetic")


def test_check_counts_add_up():
    (found,) = check_data(settings(folds=3), lengths=words)
    assert found.problem is None
    text = "\n".join(found.lines)
    assert "corpus      synthetic (generated: no document is real)" in text
    assert "documents   300, " in text
    assert sum(line.startswith("fold ") for line in found.lines) == 3
    assert "documents are truncated at 20" in text
    row = next(line for line in found.lines if line.startswith("Enlarged heart"))
    everything, *parts = [int(cell.replace(",", "")) for cell in row.split()[2:]]
    assert sum(parts) == everything > 50


def test_a_pair_is_as_long_as_both_texts():
    tiny = load_suite({}, {"encoder": "tiny"}).members[0].settings
    single = read_corpus(settings()).take(range(5))
    pairs = replace(single, seconds=single.texts)
    of_one, of_both = token_lengths(tiny, single), token_lengths(tiny, pairs)
    assert min(of_one) > 3
    assert of_both.tolist() == (2 * of_one - 1).tolist()  # both begin with a special token, a pair with one


def test_check_without_a_tokenizer_says_so():
    assert "not counted" in "\n".join(next(check_data(settings())).lines)


def test_check_of_a_table_shows_duplicates_rare_labels_and_why_it_cannot_be_divided(tmp_path):
    rows = "".join(f"text {i % 20},1,{int(i == 0)}\n" for i in range(24))
    (tmp_path / "t.csv").write_text("text,common,rare\n" + rows)
    columns = {"labels": ("common", "rare")}
    (found,) = check_data(settings(name="table", path=str(tmp_path / "t.csv"), columns=columns, folds=3))
    text = "\n".join(found.lines)
    assert "duplicates  4 documents" in text
    assert "fewer documents than folds: rare" in text
    assert "note        column `common` is always 1, so that a constant answer is right" in text
    assert found.problem is not None
    assert "label has no positives in the training part" in str(found.problem)


@pytest.mark.real_data
def test_check_of_openi(real_data):
    (found,) = check_data(settings(name="openi", path=str(real_data / "openi")))
    text = "\n".join(found.lines)
    assert "documents   2,766, 969 with no label set" in text
    assert "25 reports without findings and impression dropped" in text


def test_a_published_split_may_be_kept_whole(tmp_path):
    rows = [*((f"text {n}", "train", n % 2) for n in range(9)), ("text 0", "test", 0), ("other", "test", 1)]
    (tmp_path / "t.csv").write_text("text,part,a\n" + "".join(f"{t},{p},{a}\n" for t, p, a in rows))
    path, columns = str(tmp_path / "t.csv"), {"part": "part", "labels": ["a"]}
    for repeats, left in (("leave_out", 8), ("keep", 9)):
        data = settings(name="table", path=path, columns=columns, repeats=repeats, validation_share=0.3)
        (fold,) = read_folds(data, read_corpus(data))
        assert len(fold.train) + len(fold.validation) == left


def two_of_one_table(tmp_path, **changes):
    rows = [(f"text {n}", n % 2, "abc"[n % 3], "xy"[n % 7 == 0]) for n in range(90)]
    lines = "".join(f"{text},{flag},{topic},{ward}\n" for text, flag, topic, ward in rows)
    (tmp_path / "t.csv").write_text("text,flag,topic,ward\n" + lines)
    table = {"name": "table", "path": str(tmp_path / "t.csv")}
    topic = {"kind": "multiclass", "target": "topic"}
    sources = [
        table | {"alias": "flags", "columns": {"kind": "binary", "labels": ["flag"]}},
        table | {"alias": "topics", "columns": topic} | changes,
        table | {"alias": "wards", "columns": {"kind": "multiclass", "target": "ward"}},
    ]
    return settings(sources=sources, folds=3)


def test_columns_of_one_table_are_split_alike(tmp_path):
    data = two_of_one_table(tmp_path)
    corpus = read_corpus(data)
    for fold in read_folds(data, corpus):
        for part in ("train", "validation", "test"):
            rows = fold.part(part)
            one, *others = (set(rows[rows // 90 == source] % 90) for source in range(3))
            assert all(other == one for other in others), part
            for number, name in enumerate(("flag", "topic", "ward")):
                column = corpus.targets[name]
                whole = np.bincount(column[90 * number : 90 * number + 90]) * len(one) / 90
                here = np.bincount(column[rows[rows // 90 == number]], minlength=len(whole))
                assert np.abs(here - whole).max() < 1.5, "every column is stratified"
        assert len(fold.train) + len(fold.validation) + len(fold.test) == 270
        assert not fold.notes


def test_other_documents_are_split_on_their_own(tmp_path):
    data = two_of_one_table(tmp_path, limit=60)
    corpus = read_corpus(data)
    for fold in read_folds(data, corpus):
        assert len(fold.train) + len(fold.validation) + len(fold.test) < 240
        assert any("topics" in note for note in fold.notes)


def test_check_counts_what_is_left_of_each_source(tmp_path):
    data = two_of_one_table(tmp_path, limit=60)
    folds = read_folds(data, read_corpus(data))
    flags, topics, wards = check_data(data)
    assert "corpus      flags" in flags.lines
    for found, first, end in ((flags, 0, 90), (topics, 90, 150), (wards, 150, 240)):
        for fold in folds:
            counts = [
                int(((rows >= first) & (rows < end)).sum())
                for rows in (fold.train, fold.validation, fold.test)
            ]
            line = "fold {}      train {}, validation {}, test {}".format(fold.index, *counts)
            assert line in found.lines
    assert any("left out of training: one of their texts is in the" in line for line in topics.lines)
    assert not any("topics" in line and line.startswith("note") and "topics:" in line for line in flags.lines)


def test_descriptions_may_be_of_any_source(tmp_path):
    data = two_of_one_table(tmp_path)
    described = data.model_copy(update={"descriptions": {"flag": "A flag.", "ward": "A ward."}})
    found = {task.name: task.description for task in read_corpus(described).tasks}
    assert found == {"flag": "A flag.", "topic": "topic", "ward": "A ward."}
    wrong = data.model_copy(update={"descriptions": {"flags": "A flag."}})
    with pytest.raises(DataError, match=r"`data.descriptions`: .*no label `flags`.*did you mean `flag`"):
        read_corpus(wrong)
    alone = settings(descriptions={"unknown": "A label."})
    with pytest.raises(DataError, match="no label `unknown`"):
        read_corpus(alone)
