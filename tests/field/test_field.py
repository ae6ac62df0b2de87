"""Files in the shapes that strangers bring: `mtlv init` writes a config that `mtlv check` accepts.

The files lie beside the checkout, as the real corpora do (`MTLV_FIELD` names another folder).
`tests/unit/suite/test_any_new_config.py` does the same with generated tables.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from mtlv.cli import main
from mtlv.data.source import Corpus
from mtlv.settings import load_suite
from mtlv.units.corpora import read_corpus


@pytest.fixture(autouse=True)
def speed(monkeypatch):
    """Tokens a second that `mtlv init` measures, which do not depend on this machine."""
    monkeypatch.setattr("mtlv.suite.speed.measure_speed", lambda _: 4000.0)


ROOT = Path(__file__).resolve().parents[2]
FIELD = Path(os.environ.get("MTLV_FIELD", ROOT.parent / "shared" / "field"))
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not FIELD.is_dir(), reason="the files are not here; set MTLV_FIELD to their folder"),
]


@dataclass(frozen=True)
class Expected:
    """What is right for a file.

    Args:
        documents: number of documents.
        kinds: kinds of the tasks.
        tasks: names of the tasks; or their number.
        classes: classes of the first task with classes.
        notes: texts in what `mtlv init` prints.
        can_be_split: whether there are different texts enough.
    """

    documents: int
    kinds: tuple[str, ...]
    tasks: tuple[str, ...] | int = 1
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    can_be_split: bool = True


BINARY, TAGGING = ("binary",), ("tagging",)
FILES = {
    "tables/multihot_three.csv": Expected(200, BINARY, ("labels 1", "labels 2", "labels 3")),
    "tables/multihot_five.csv": Expected(200, BINARY, 5),
    "tables/no_header_comma_ids.tsv": Expected(300, BINARY, tuple("012345"), notes=("no header",)),
    "tables/comma_names.csv": Expected(300, BINARY, 6),
    "tables/classes_with_blanks.csv": Expected(
        300, ("binary", "multiclass", "multiclass"), ("urgent", "sentiment", "topic"), notes=("empty cells",)
    ),
    "tables/uncertain_minus_one.csv": Expected(300, BINARY, 10, notes=("-1 or uncertain", "No Finding")),
    "tables/semicolon_decimal_comma_ja_nein.csv": Expected(
        160, BINARY, ("Verspätet", "Defekt"), notes=("separated by semicolons", "Note")
    ),
    "tables/cp1252_semicolon.csv": Expected(160, BINARY, ("Verspätet", "Defekt"), notes=("cp1252",)),
    "tables/second_header_empty_texts.csv": Expected(121, BINARY, ("A", "B", "C")),
    "tables/label_lists_272_names.csv": Expected(2000, BINARY, 134, notes=("left out",)),
    "tables/three_positives.csv": Expected(400, BINARY, ("common", "medium"), notes=("rare3",)),
    "kinds/brat_two_types_one_span": Expected(60, TAGGING, classes=("Drug",), notes=("NSAID beside Drug",)),
    "kinds/brat_part_of_word": Expected(60, TAGGING, classes=("Gene", "Ion"), notes=("within a word",)),
    "kinds/brat_without_ann": Expected(30, TAGGING, classes=("Drug",), notes=("30 texts without an `.ann`",)),
    "kinds/brat_across_paragraph": Expected(60, TAGGING, classes=("Drug", "Symptom"), notes=("blank line",)),
    "kinds/conll_four_columns": Expected(120, TAGGING, classes=(".", "CD", "DT", "IN", "NN", "VBD")),
    "kinds/conll_hyphens": Expected(120, TAGGING, classes=("DIS", "DRUG"), notes=("column 4 of 4",)),
    "kinds/doccano_relation.jsonl": Expected(80, TAGGING, classes=("ADE", "DRUG"), notes=("80 relations",)),
    "kinds/labelstudio_min.json": Expected(60, TAGGING, classes=("ADE", "Drug")),
    "kinds/prodigy.jsonl": Expected(59, TAGGING, classes=("ADE", "DRUG"), notes=("rejected or ignored",)),
    "kinds/integer_tags.jsonl": Expected(80, TAGGING, classes=("1", "3"), notes=("numbers as tags",)),
    "kinds/labelstudio.conll": Expected(60, TAGGING, classes=("ADE", "Drug")),
    "kinds/gad_no_header": Expected(180, BINARY, ("label",), notes=("no header",)),
    "kinds/mednli_train.jsonl": Expected(120, ("multiclass",), ("gold_label",)),
    "kinds/bioc.xml": Expected(80, TAGGING, classes=("Chemical",)),
    "kinds/ud.conllu": Expected(30, TAGGING, classes=("NOUN", "PRON", "PUNCT", "VERB"), can_be_split=False),
}


def config_of(file: Path, folder: Path, *arguments: str) -> Path:
    """Write a config for a file."""
    config = folder / "c.yml"
    assert main(["init", str(file), "--out", str(config), *arguments]) == 0
    return config


def corpus_of(config: Path) -> Corpus:
    return read_corpus(load_suite(config).members[0].settings.data)


@pytest.mark.parametrize("name", FILES)
def test_a_config_that_runs_reads_what_is_right(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = FILES[name]
    config = config_of(FIELD / name, tmp_path)
    printed = capsys.readouterr().out
    corpus = corpus_of(config)
    members = corpus.members or (corpus,)
    assert {len(member) for member in members} == {expected.documents}
    assert tuple(sorted({task.kind for task in corpus.tasks})) == tuple(sorted(set(expected.kinds)))
    names = [task.name for task in corpus.tasks]
    assert expected.tasks == (len(names) if isinstance(expected.tasks, int) else tuple(names))
    if expected.classes:
        assert corpus.tasks[0].classes == expected.classes
    assert [note for note in expected.notes if note not in printed] == []
    assert main(["check", str(config)]) == (0 if expected.can_be_split else 2)


def test_several_kinds_of_one_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = FIELD / "kinds" / "five_kinds_one_text.jsonl"
    config = config_of(file, tmp_path, "--labels", "tags,intent,urgent,score")
    corpus = corpus_of(config)
    assert {task.kind for task in corpus.tasks} == {"tagging", "multiclass", "binary", "regression"}
    assert {len(member) for member in corpus.members} == {160}
    assert main(["check", str(config)]) == 0


def test_tags_that_are_numbers_are_named_by_classes(tmp_path: Path) -> None:
    config = tmp_path / "c.yml"
    config.write_text(
        f"data:\n  name: table\n  path: {FIELD / 'kinds' / 'integer_tags.jsonl'}\n"
        "  columns: {kind: tagging, words: tokens, tags: ner_tags, classes: [O, B-D, I-D, B-X, I-X]}\n"
        "encoder: tiny\narchitecture: mtl\n"
    )
    assert corpus_of(config).tasks[0].classes == ("D", "X")
