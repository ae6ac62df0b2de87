"""Words of texts to predict: split as those of the training documents were, or given."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mtlv.data.joined import join
from mtlv.data.options import Columns
from mtlv.data.source import Corpus
from mtlv.data.tables.corpus import table_corpus
from mtlv.data.tables.rows import Table
from mtlv.data.targets import spans_column
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.serving.input_frame import as_frame, as_texts
from mtlv.serving.inputs import InputSchema, ServedTask, served_tasks
from mtlv.serving.read_inputs import Query, read_documents
from mtlv.serving.texts import InputTexts, from_sentences
from mtlv.settings import load_overrides

ROWS = {
    "abbreviations": "The patient no. 5 took IL-2 .",
    "marks": "CD4+ cells , Ca2+ .",
    "edges": "a dose of 5 mg/kg ( IL-2 ) .",
}


def corpus_of(name: str, rows: list[str]) -> Corpus:
    words = tuple(tuple(row.split()) for row in rows)
    spans = spans_column([(Span(0, 1, "X"),)] * len(rows))
    ids = tuple(map(str, range(len(rows))))
    task = Task(name, "tagging", name, ("X",), main_metric="entity_f1")
    return Corpus(name, (task,), ids, tuple(rows), {name: spans}, words=words)


def asked(schema: InputSchema, *texts: str) -> list[list[str]]:
    read = read_documents(Query(InputTexts(texts, tuple(range(len(texts)))), schema, "task"))
    return [list(words) for words in read.words(len(texts))]


def test_each_source_splits_texts_as_its_training_documents() -> None:
    corpora = [corpus_of(rule, [text] * 3 + ["x-y . z+ , 5. a"]) for rule, text in ROWS.items()]
    data = (
        load_overrides(["data.sources=[" + ",".join(f"{{name: gad, alias: {rule}}}" for rule in ROWS) + "]"])
        .members[0]
        .settings.data
    )
    train = np.array([0, 1, 4, 6, 8, 9])  # the last document of the first two is in no training part
    joined = join(corpora)
    tasks = served_tasks(joined.tasks, joined, data, train)
    shares = {name: task.schema.agreement for name, task in tasks.items()}
    assert shares == {"abbreviations": 1.0, "marks": 1.0, "edges": 1.0}
    for rule, text in ROWS.items():
        prose = text.replace(" .", ".").replace(" ,", ",").replace("( ", "(").replace(" )", ")")
        assert asked(tasks[rule].schema, prose, text) == [text.split()] * 2
    every = served_tasks(joined.tasks, joined, data, np.arange(12))
    assert every["abbreviations"].schema.agreement == 0.75


def test_a_rule_that_made_the_words_needs_no_agreement() -> None:
    corpus = replace(corpus_of("a", ["IL - 2"]), rule="characters")
    schema = InputSchema.of(corpus, load_overrides([]).members[0].settings.data, [0])
    assert (schema.rule, schema.agreement) == ("characters", None)
    assert asked(schema, "IL-2") == [["I", "L", "-", "2"]]


def test_a_model_without_a_rule_splits_as_before() -> None:
    content = {"kind": "tagging", "source": "a", "classes": ["X"], "max_length": 8, "reads": ["words"]}
    served = ServedTask.read("a", content)
    assert asked(served.schema, "IL-2, no.") == [["IL", "-", "2", ",", "no", "."]]
    with_rule = ServedTask.read("a", content | {"rule": "marks", "agreement": 0.5})
    assert ServedTask.read("a", json.loads(json.dumps(with_rule.as_json()))) == with_rule
    for wrong in ({"rule": "other"}, {"rule": 3}, {"agreement": 2}, {"agreement": "1"}):
        with pytest.raises(ValueError, match=r"rule|agreement|text"):
            ServedTask.read("a", content | wrong)


@pytest.mark.parametrize(
    ("columns", "cells", "rule"),
    [
        (Columns(kind="tagging", tags="t"), {"text": "IL-2 is, (so)"}, "whitespace"),
        (Columns(kind="tagging", tags="t"), {"text": ["IL-2", "is", ","]}, ""),
        (Columns(kind="tagging", tags="t"), {"text": '["IL-2", "is", ","]'}, ""),
        (Columns(kind="tagging", tags="t", words="w"), {"w": "IL-2 is ,"}, ""),
        (Columns(kind="tagging", tags="t", words="w"), {"w": "['IL-2' 'is' ',']", "text": "IL-2 is,"}, ""),
    ],
)
def test_tables_know_how_their_words_were_made(columns: Columns, cells: dict, rule: str) -> None:
    row = {"t": "B-X O O", **cells}
    corpus = table_corpus("a", {"": Table(Path("t.jsonl"), tuple(row), ((1, row),))}, columns)
    assert corpus.rule == rule
    assert corpus.prose == (("IL-2 is,",) if "w" in cells and "text" in cells else None)
    assert corpus.take([0]).prose == corpus.prose


@pytest.mark.parametrize("kind", [list, tuple, pd.Series])
def test_lists_of_words_are_words(kind: type) -> None:
    rows = as_texts(as_frame(kind([["IL-2", "binds"], ["no.", "5"]]), {}))
    assert rows.more["words"] == (["IL-2", "binds"], ["no.", "5"])
    schema = InputSchema(max_length=8, reads=("words",), rule="runs", agreement=0.5)
    read = read_documents(Query(rows, schema, "task"))
    assert [list(words) for words in read.words(2)] == [["IL-2", "binds"], ["no.", "5"]]
    texts = [document.text for document in read.documents.values()]
    assert (texts, read.split) == (["IL-2 binds", "no. 5"], 0)


def test_a_conll_file_gives_words(tmp_path: Path) -> None:
    file = tmp_path / "new.conll"
    file.write_text("-DOCSTART- O\n\nIL-2\tO\nbinds\tO\n\nno.\tO\n5\tB-X\n")
    texts = from_sentences(file)
    assert texts.more["words"] == (("IL-2", "binds"), ("no.", "5"))
    assert (texts.texts, texts.numbers, texts.unit) == (("IL-2 binds", "no. 5"), (1, 2), "sentence")
