"""Tables of every kind of task: one corpus each, and every fault with its place."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtlv.data import catalog
from mtlv.data.options import Columns, DataOptions
from mtlv.data.source import Corpus
from mtlv.data.tables.corpus import columns_of, table_corpus
from mtlv.data.tables.readers import TAG_METRICS, ClassColumn, NumberColumn
from mtlv.data.tables.rows import Table
from mtlv.errors import DataError
from mtlv.evaluation.scoring import task_figures
from mtlv.plan import Task, TaskScores
from mtlv.plan.spans import Span
from mtlv.settings.data_schema import ColumnSettings
from tests.unit.data.test_main_metrics import MADE

CLASSES = Columns(kind="multiclass", target="label")
NUMBERS = Columns(kind="regression", text_pair="other", target="score")
TAGS = Columns(kind="tagging", words="tokens", tags="ner_tags")
MARKED = Columns(kind="multiclass", mentions="spans", target="label", negative=("none",))


def write(folder: Path, rows: list[dict[str, Any]], name: str = "t.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def load(path: Path, columns: Columns, **options: Any) -> Corpus:
    return catalog.load("table", DataOptions(path=path, columns=columns, **options))


def test_the_settings_and_the_columns_agree() -> None:
    assert {field.name for field in fields(Columns)} == set(ColumnSettings.model_fields)


def test_classes_in_order_and_chosen(tmp_path) -> None:
    rows = [{"text": "x", "label": 10}, {"text": "y", "label": 9}, {"text": "z", "label": "10"}]
    corpus = load(write(tmp_path, rows), CLASSES)
    (task,) = corpus.tasks
    assert (task.name, task.kind, task.classes, task.main_metric) == (
        "label",
        "multiclass",
        ("9", "10"),
        "accuracy",
    )
    assert corpus.targets["label"].tolist() == [1, 0, 1]
    named = load(
        tmp_path / "t.jsonl", replace(CLASSES, classes=("10", "9", "8"), task="Topic", metric="f1_macro")
    )
    assert named.targets["Topic"].tolist() == [0, 1, 0]
    assert named.tasks[0].classes == ("10", "9", "8")
    assert named.tasks[0].main_metric == "f1_macro"


def test_pairs_with_a_number(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("text,other,score\n x ,  y,0.5\nu,v,3\n")
    corpus = load(tmp_path / "t.csv", NUMBERS)
    assert (corpus.texts, corpus.seconds) == (("x", "u"), ("y", "v"))
    assert corpus.targets["score"].dtype == np.float32
    assert corpus.targets["score"].tolist() == [0.5, 3.0]
    assert corpus.tasks[0].main_metric == "pearson"


def test_marked_entities_keep_their_places(tmp_path) -> None:
    rows = [
        {"text": " A hits B", "spans": [[1, 2, "DRUG"], [8, 9, "GENE"]], "label": "acts"},
        {"text": "A or B", "spans": [[0, 1, "DRUG"], [5, 6, "GENE"]], "label": "none"},
    ]
    corpus = load(write(tmp_path, rows), MARKED)
    assert corpus.texts[0] == " A hits B", "blanks are kept, or the places would not fit"
    assert corpus.mentions is not None
    assert corpus.mentions[0] == (Span(1, 2, "DRUG"), Span(8, 9, "GENE"))
    assert corpus.tasks[0].negative == ("none",)
    assert corpus.tasks[0].main_metric == "f1_micro_positive"


@pytest.mark.parametrize("listed", [True, False])
def test_tags_of_words(tmp_path, listed) -> None:
    words, tags = ["Aspirin", "helps", "him", "."], ["B-Drug", "O", "I-Who", "O"]
    put = (lambda row: row) if listed else " ".join
    rows = [{"tokens": put(words), "ner_tags": put(tags)}, {"tokens": put(["No"]), "ner_tags": put(["O"])}]
    corpus = load(write(tmp_path, rows), TAGS)
    assert corpus.words == (tuple(words), ("No",))
    assert corpus.texts == ("Aspirin helps him .", "No")
    assert corpus.tasks[0].classes == ("Drug", "Who")
    assert corpus.targets["ner_tags"].tolist() == [(Span(0, 1, "Drug"), Span(2, 3, "Who")), ()]


def test_without_words_a_text_is_split_at_its_blanks(tmp_path) -> None:
    (tmp_path / "t.tsv").write_text("text\ttags\nIL-2 binds\tB O\n")
    corpus = load(tmp_path / "t.tsv", Columns(kind="tagging", tags="tags"))
    assert corpus.words == (("IL-2", "binds"),)
    assert corpus.targets["tags"][0] == (Span(0, 1, "entity"),)


def test_yes_and_no_are_classes_where_asked_for(tmp_path) -> None:
    path = write(tmp_path, [{"text": str(n), "label": ("yes", "no")[n % 2]} for n in range(4)])
    corpus = load(path, CLASSES)
    assert (corpus.tasks[0].kind, corpus.tasks[0].classes) == ("multiclass", ("no", "yes"))
    assert corpus.targets["label"].tolist() == [1, 0, 1, 0]
    assert load(path, Columns(labels=("label",))).matrix().tolist() == [[1], [0], [1], [0]]


def test_yes_no_labels_of_pairs_and_groups(tmp_path) -> None:
    rows = [
        {"text": "x", "other": "y", "yes": 1, "note": 7},
        {"text": "u", "other": "v", "yes": 0, "note": 8},
    ]
    corpus = load(write(tmp_path, rows), Columns(labels=("yes",), text_pair="other", group="note"))
    assert (corpus.seconds, corpus.groups) == (("y", "v"), ("7", "8"))
    assert corpus.matrix().tolist() == [[1], [0]]


def test_subgroups_are_read_beside_what_is_learned(tmp_path) -> None:
    rows = [{"text": "x", "label": "a", "sex": "F ", "year": 2001.0, "site": None}]
    rows += [{"text": "y", "label": "b", "sex": "", "year": 1.5, "site": 3}]
    columns = replace(CLASSES, subgroups=("sex", "year", "site"))
    corpus = load(write(tmp_path, rows), columns)
    assert corpus.subgroups == {"sex": ["F", ""], "year": ["2001", "1.5"], "site": ["", "3"]}
    assert corpus.digest == load(tmp_path / "t.jsonl", CLASSES).digest
    assert {name: list(column) for name, column in corpus.take([1]).subgroups.items()} == {
        "sex": [""], "year": ["1.5"], "site": ["3"],
    }  # fmt: skip
    assert set(columns_of(columns)) == {"text", "label", "sex", "year", "site"}
    with pytest.raises(
        DataError, match=r"no column `scanner` \(`data.columns.subgroups`\); allowed: text, label"
    ):
        load(tmp_path / "t.jsonl", replace(columns, subgroups=("sex", "scanner")))
    with pytest.raises(DataError, match="`kind: mlm` does not use it"):
        load(tmp_path / "t.jsonl", Columns(kind="mlm", subgroups=("sex",)))


def test_a_folder_has_a_file_for_each_part(tmp_path) -> None:
    for name in ("train", "dev", "test"):
        write(tmp_path, [{"text": f"{name} {n}", "label": n} for n in range(2)], f"{name}.jsonl")
    corpus = load(tmp_path, CLASSES)
    assert corpus.parts == ("train", "train", "validation", "validation", "test", "test")
    assert corpus.ids[0] == "train.1"
    with pytest.raises(DataError, match=r"`data.columns.part` is set, but there is a file for each part"):
        load(tmp_path, replace(CLASSES, part="text"))


def test_an_alias_stands_for_the_name(tmp_path) -> None:
    path = write(tmp_path, [{"text": str(n), "label": n % 2} for n in range(4)])
    corpus = load(path, CLASSES, alias="notes")
    assert corpus.name == corpus.tasks[0].source == "notes"
    assert catalog.tasks("table", DataOptions(path=path, columns=CLASSES, alias="notes"))[0].source == "notes"


GOOD = {
    "text": "A b",
    "other": "c",
    "label": "x",
    "score": 1,
    "tokens": "A b",
    "ner_tags": "O O",
    "spans": [[0, 1]],
}
FAULTS = [
    (
        CLASSES,
        {"label": None},
        r"line 2, column `label` is empty .got None.; allowed: a name or a whole number; fill it, leave",
    ),
    (CLASSES, {"label": 0.5}, r"line 2, column `label` is not a class .got 0.5"),
    (replace(CLASSES, classes=("y", "x")), {"label": "z"}, r"is an unknown class .got 'z'.; allowed: y, x"),
    (
        replace(CLASSES, negative=("none",)),
        {},
        r"`data.columns.negative` has values that are not classes .got none.; allowed: x",
    ),
    (
        replace(CLASSES, target=None),
        {},
        r"`data.columns.target` is not set.*`t.jsonl` has the columns text, other",
    ),
    (replace(CLASSES, target="lable"), {}, r"no column `lable` ..data.columns.target..*did you mean `label`"),
    (
        replace(CLASSES, metric="accurate"),
        {},
        r"not a metric .* .got accurate.; allowed: accuracy, .*mean `accuracy`",
    ),
    (
        replace(CLASSES, tags="ner_tags"),
        {},
        r"`data.columns.tags` is set, but `kind: multiclass` does not use it",
    ),
    (
        replace(CLASSES, kind="binary"),
        {},
        r"must have a column for the labels(.|\n)*`data.columns.target` is set, but",
    ),
    (NUMBERS, {"score": "much"}, r"line 2, column `score` is not a number .got 'much'"),
    (NUMBERS, {"score": 1e39}, r"is not a number"),
    (NUMBERS, {"score": True}, r"is not a number"),
    (NUMBERS, {"other": " "}, r"column `other` is empty"),
    (NUMBERS, {"other": 3}, r"column `other` is not text"),
    (
        TAGS,
        {"ner_tags": "O"},
        r"column `ner_tags` has 1 tags for 2 words .got 'O'.; allowed: as many tags as words",
    ),
    (TAGS, {"ner_tags": "O X-Drug"}, r"has an unknown tag `X-Drug`"),
    (TAGS, {"ner_tags": [0, 1]}, r"has numbers as tags, without names"),
    (TAGS, {"tokens": [["A"], "b"]}, r"column `tokens` is not a list of words"),
    (
        replace(TAGS, classes=("Drug",)),
        {"ner_tags": "B-Gene O"},
        r"`data.columns.tags` has values that are not classes .got Gene",
    ),
    (
        replace(TAGS, text_pair="other"),
        {},
        r"`data.columns.text_pair` is set, but `kind: tagging` does not use",
    ),
    (MARKED, {"spans": [[0, 9, "DRUG"]]}, r"has an entity outside its text of 3 characters"),
    (
        MARKED,
        {"spans": "first"},
        r"column `spans` has no marked entities .*allowed: first character, the one after",
    ),
    (MARKED, {"spans": []}, r"column `spans` is empty"),
    (replace(CLASSES, group="part"), {}, r"no column `part` ..data.columns.group"),
]


@pytest.mark.parametrize(("columns", "change", "message"), FAULTS)
def test_faults_have_a_place(tmp_path, columns, change, message) -> None:
    path = write(tmp_path, [GOOD, GOOD | change])
    with pytest.raises(DataError, match=message) as caught:
        load(path, columns)
    assert "\n\n" not in str(caught.value)


def test_every_metric_of_a_kind_is_a_figure() -> None:
    known = {
        "multiclass": ClassColumn()._metrics(replace(CLASSES, negative=("b",))),
        "regression": NumberColumn.metrics,
        "tagging": TAG_METRICS,
    }
    for kind, metrics in known.items():
        task = Task("t", kind=kind, classes=("a", "b"), negative=("b",))
        outputs, targets = MADE[kind](task)
        figures = task_figures(task, TaskScores(outputs, targets, np.ones(len(targets), bool)))
        assert set(metrics) <= set(figures)


@pytest.mark.parametrize(
    "cell", [[0, 1, 2, 3], "[0 1 2 3]", "0 1 2 3", "[0, 1, 2, 3]", np.array([0, 1, 2, 3])]
)
def test_tags_that_are_numbers_have_the_names_of_classes(cell: object) -> None:
    row = {"text": "The left lung IL-2", "t": cell}
    table = {"": Table(Path("t.jsonl"), tuple(row), ((1, row),))}
    columns = Columns(kind="tagging", tags="t", classes=("O", "B-Part", "I-Part", "B-Drug", "I-Drug"))
    corpus = table_corpus("a", table, columns)
    assert corpus.targets["t"][0] == (Span(1, 3, "Part"), Span(3, 4, "Drug"))
    assert (corpus.tasks[0].classes, corpus.tasks[0].main_metric) == (("Drug", "Part"), "entity_f1")
    nouns = replace(columns, classes=("DET", "ADJ", "NOUN", "NAME"))
    (task,) = table_corpus("a", table, nouns).tasks
    assert (task.classes, task.main_metric) == (("ADJ", "DET", "NAME", "NOUN"), "word_f1_macro")
    with pytest.raises(DataError, match=r"without names .* name each number in order, from 0: `data.columns"):
        table_corpus("a", table, replace(columns, classes=None))
    with pytest.raises(DataError, match=r"got 0 to 3, and 3 names"):
        table_corpus("a", table, replace(columns, classes=("O", "B-Part", "I-Part")))
