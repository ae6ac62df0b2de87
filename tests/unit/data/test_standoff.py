"""Texts with marked entities: folders of BRAT and PubTator files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mtlv.data import catalog
from mtlv.data.joined import join
from mtlv.data.options import Columns, DataOptions
from mtlv.data.source import Corpus
from mtlv.data.standoff import standoff_path
from mtlv.errors import DataError
from mtlv.settings.load import default_settings
from mtlv.units.corpora import read_folds

NOTE = "Aspirin-induced asthma.\n\nNo fever, left and right knee\npain.\n"
ANN = (
    "T1\tDrug 0 7\tAspirin\n"
    "T2\tSign 16 22\tasthma\n"
    "T3\tSign 28 33\tfever\n"
    "T4\tSign 35 39;50 59\tleft knee pain\n"
    "T5\tSign 55 59\tpain\n"
    "R1\tCauses Arg1:T1 Arg2:T2\t\n"
    "A1\tNegated T3\n"
    "#1\tAnnotatorNotes T3\tsure\n"
)
ARTICLES = (
    "7|t|Aspirin and asthma.\n7|a|Asthma was rare.\n7\t0\t7\tAspirin\tChemical\tD001241\n"
    "7\t12\t18\tasthma\tDisease\tD001249\n7\t20\t26\tAsthma\tDisease\n7\tCID\tD001241\tD001249\n\n"
    "8|t|No pain.\n8|a|\n8\t3\t7\tpain\tDisease\tD010146\n"
)


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def read(path: Path, task: str | None = None) -> Corpus:
    return catalog.load("standoff", DataOptions(path=path, columns=Columns(task=task)))


def entities(corpus: Corpus) -> list[list[tuple[str, str]]]:
    (task,) = corpus.tasks
    return [
        [(" ".join(words[span.start : span.end]), span.type) for span in spans]
        for words, spans in zip(corpus.words, corpus.targets[task.name], strict=True)
    ]


def test_paragraphs_of_brat_with_their_entities(tmp_path: Path) -> None:
    corpus = read(write(tmp_path, {"one.txt": NOTE, "one.ann": ANN}))
    assert corpus.ids == ("one.1", "one.2")
    assert corpus.groups == ("one", "one")
    assert corpus.parts is None
    assert corpus.words[0] == ("Aspirin", "-", "induced", "asthma", ".")
    assert corpus.tasks[0].classes == ("Drug", "Sign")
    assert (corpus.names, corpus.tasks[0].main_metric) == (("entities",), "entity_f1")
    found = entities(corpus)
    assert found[0] == [("Aspirin", "Drug"), ("asthma", "Sign")]
    assert found[1] == [("fever", "Sign"), ("left and right knee pain", "Sign")]
    assert set(corpus.notes) == {
        "4 of 5 entities are learned (3 Sign, 1 Drug)",
        "1 attributes not read: only entities (T) and relations (R) are",
        "1 notes not read: only entities (T) and relations (R) are",
        "1 relations, which a source with `columns.kind: multiclass` reads",
        "1 entities in several parts, read from the first to the last (1 Sign)",
        "1 entities left out: they overlap an earlier one (1 Sign)",
    }
    assert read(tmp_path, "signs").names == ("signs",)


def test_words_are_cut_at_entities_and_the_longest_is_kept(tmp_path: Path) -> None:
    ann = "T1\tGene 0 4\tIL-2\nT2\tCell 0 13\tIL-2-dependen\n"
    corpus = read(write(tmp_path, {"a.txt": "IL-2-dependent cells", "a.ann": ann}))
    assert entities(corpus) == [[("IL - 2 - dependen", "Cell")]]


def test_folders_of_brat_may_be_parts(tmp_path: Path) -> None:
    files = {"train/a/1.txt": NOTE, "train/a/1.ann": ANN, "dev/2.txt": "No pain.", "dev/2.ann": ""}
    corpus = read(write(tmp_path, files))
    assert corpus.parts == ("validation", "train", "train")
    assert corpus.ids == ("dev/2.1", "train/a/1.1", "train/a/1.2")
    write(tmp_path, {"3.txt": "Pain.", "3.ann": ""})
    with pytest.raises(
        DataError, match=r"`3` is in no part, but others are; move it to `train`, `dev` or `test`"
    ):
        read(tmp_path)


def test_pubtator_has_titles_and_abstracts(tmp_path: Path) -> None:
    corpus = read(write(tmp_path, {"all.pubtator": ARTICLES}) / "all.pubtator")
    assert corpus.ids == ("7.1", "7.2", "8.1")
    assert corpus.groups == ("7", "7", "8")
    assert entities(corpus) == [
        [("Aspirin", "Chemical"), ("asthma", "Disease")],
        [("Asthma", "Disease")],
        [("pain", "Disease")],
    ]
    assert corpus.notes[1:] == ("1 relations, which a source with `columns.kind: multiclass` reads",)
    windows = write(tmp_path, {"crlf.txt": ARTICLES.replace("\n", "\r\n")}) / "crlf.txt"
    assert entities(read(windows)) == entities(corpus)
    one = {"train.txt": ARTICLES.split("\n\n")[0], "test.txt": ARTICLES.split("\n\n")[1]}
    parts = read(write(tmp_path / "parts", one))
    assert parts.parts == ("train", "train", "test")
    assert parts.notes[0] == "no file for the validation part"
    together = ARTICLES.replace("\n\n", "\n")  # without a blank line between the articles
    assert entities(read(write(tmp_path, {"b.txt": together}) / "b.txt")) == entities(corpus)


def test_an_entity_that_is_not_at_its_offsets(tmp_path: Path) -> None:
    wrong = "T9\tSign 28 33\tcough\n"
    with pytest.raises(
        DataError, match=r"`one.ann:9`: another text is at its offsets \(got fever\); allowed: cough"
    ):
        read(write(tmp_path, {"one.txt": NOTE, "one.ann": ANN + wrong}))
    many = {f"{n}.{end}": text for n in range(40) for end, text in (("txt", NOTE), ("ann", ANN))}
    corpus = read(write(tmp_path, many))
    assert "1 entities left out: another text is at their offsets (1 Sign)" in corpus.notes
    assert not any(("cough", "Sign") in spans for spans in entities(corpus))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.ann": ANN}, r"`a.ann` has no text; add a.txt beside it"),
        ({"a.txt": "x", "a.ann": "T1 Sign 0 1 x\n"}, r"`a.ann:1` cannot be read \(got T1 Sign 0 1 x\)"),
        ({"a.txt": "x", "a.ann": f"T1\tX 0 {'9' * 5000}\tx\n"}, r"`a.ann:1` cannot be read"),
        ({"train.txt": f"1|t|A b.\n1\t0\t{'9' * 5000}\tA\tX\n"}, r"`train.txt:2` cannot be read"),
        ({"a.txt": "", "a.ann": ""}, r"no documents in"),
        ({"train.txt": "1|t|A b.\n2\t0\t1\tA\tX\n"}, r"`train.txt:2` cannot be read"),
        (
            {"train.txt": "A title.\n"},
            r"`train.txt:1` cannot be read \(got A title.\); allowed: id\|t\|title",
        ),
        ({"x.csv": "a"}, r"no documents in"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, files: dict[str, str], said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(write(tmp_path, files))


def test_its_files_are_recognized(tmp_path: Path) -> None:
    brat = write(tmp_path / "brat", {"sub/one.txt": NOTE, "sub/one.ann": ANN})
    assert standoff_path(brat) == brat
    file = write(tmp_path, {"all.txt": ARTICLES}) / "all.txt"
    assert standoff_path(file) == file
    for other in ({"t.txt": "a text\n"}, {"t.csv": "a,b\n"}, {}):
        folder = write(tmp_path / "other" / str(len(other)), other)
        assert standoff_path(folder) is None
        assert all(standoff_path(folder / name) is None for name in other)
    assert standoff_path(tmp_path / "none") is None


# ---- Which entities are kept -------------------------------------------------------------------------------


def brat(folder: Path, text: str, *marks: tuple[str, str], more: str = "") -> Path:
    """Write a text, and its entities given as (type, places)."""
    lines = []
    for number, (type_, places) in enumerate(marks, start=1):
        parts = [text[slice(*map(int, place.split()))] for place in places.split(";")]
        said = " ".join(" ".join(parts).split())
        lines.append(f"T{number}\t{type_} {places}\t{said}\n")
    return write(folder, {"a.txt": text, "a.ann": "".join(lines) + more})


def test_which_type_is_kept_does_not_follow_the_hash_seed(tmp_path: Path) -> None:
    types = ("Drug", "NSAID", "Pill", "Brand")
    brat(tmp_path, "took aspirin daily", *((type_, "5 12") for type_ in types))
    code = (
        "import sys; from pathlib import Path; from mtlv.data import catalog;"
        "from mtlv.data.options import DataOptions;"
        "c = catalog.load('standoff', DataOptions(path=Path(sys.argv[1])));"
        "print(c.digest, c.targets['entities'][0], c.notes)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }
    (out,) = said
    assert "type='Drug'" in out
    assert "(1 Brand beside Drug, 1 NSAID beside Drug, 1 Pill beside Drug)" in out
    assert "types of which no entity is learned: 1 Brand, 1 NSAID, 1 Pill" in out


def test_an_entity_within_words_keeps_its_characters(tmp_path: Path) -> None:
    text = "low Ca2+, TNFalpha and xIL6y"
    corpus = read(
        brat(tmp_path, text, ("Ion", "4 6"), ("Gene", "10 13"), ("Gene", "24 27"), ("Other", "14 18"))
    )
    assert entities(corpus) == [[("Ca", "Ion"), ("TNF", "Gene"), ("lpha", "Other"), ("IL6", "Gene")]]
    assert corpus.words == (("low", "Ca", "2", "+", ",", "TNF", "a", "lpha", "and", "x", "IL6", "y"),)
    (note,) = (note for note in corpus.notes if "within a word" in note)
    assert note.startswith("4 entities")
    assert note.endswith("(2 Gene, 1 Ion, 1 Other)")


def test_words_at_the_ends_of_entities_are_not_counted_as_cut(tmp_path: Path) -> None:
    assert read(brat(tmp_path, "low Ca2+ and TNF", ("Ion", "4 8"), ("Gene", "13 16"))).notes == ()


@pytest.mark.parametrize("places", ["26 31;33 37", "26 37"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_entity_across_blank_lines_joins_its_paragraphs(tmp_path: Path, places: str, end: str) -> None:
    text = "Before.\n\nHe took it for chest\n\npain at night.\n\nAfter it.\n"
    text, at = text.replace("\n", end), text.replace("\n", end).index
    chest, pain = at("chest"), at("pain")
    places = f"{chest} {pain + 4}" if ";" not in places else f"{chest} {chest + 5};{pain} {pain + 4}"
    (tmp_path / "a.txt").write_bytes(text.encode())
    (tmp_path / "a.ann").write_text(f"T1\tSymptom {places}\tchest pain\n")
    corpus = read(tmp_path)
    assert corpus.ids == ("a.1", "a.2", "a.4")
    assert entities(corpus) == [[], [("chest pain", "Symptom")], []]
    assert [words[0] for words in corpus.words] == ["Before", "He", "After"]
    assert any("go on after a blank line" in note and "(1 Symptom)" in note for note in corpus.notes)
    assert not any("several parts" in note for note in corpus.notes)


def test_one_entity_may_join_three_paragraphs_and_two_entities_two_of_them(tmp_path: Path) -> None:
    text = "a b\n\nc d\n\ne f\n\ng h"
    corpus = read(brat(tmp_path, text, ("X", "2 11"), ("Y", "12 16")))
    assert entities(corpus) == [[("b c d e", "X"), ("f g", "Y")]]
    assert corpus.ids == ("a.1",)


def test_texts_without_annotations_are_counted(tmp_path: Path) -> None:
    files = {f"{n}.txt": f"No pain {n}." for n in range(5)} | {"0.ann": "T1\tSign 3 7\tpain\n", "3.ann": ""}
    corpus = read(write(tmp_path, {**files, "._0.ann": "binary"}))
    assert corpus.ids == ("0.1", "3.1")
    assert entities(corpus) == [[("pain", "Sign")], []]
    assert any(note.startswith("3 texts without an `.ann` file, such as `1.txt`") for note in corpus.notes)


def test_what_happened_to_entities_is_counted_by_type(tmp_path: Path) -> None:
    text = "one two three four five   six"
    marks = [("A", "0 7"), ("B", "4 13"), ("C", "4 7"), ("A", "0 7"), ("D", "14 18;24 29"), ("E", "5 5")]
    marks += [("F", "23 25"), ("D", "26 29")]
    corpus = read(brat(tmp_path, text, *marks))
    assert entities(corpus) == [[("one two", "A"), ("four five six", "D")]]
    notes = corpus.notes
    assert notes[0] == "2 of 8 entities are learned (1 A, 1 D)"
    assert "1 entities in several parts, read from the first to the last (1 D)" in notes
    assert "3 entities left out: they overlap an earlier one (1 B, 1 C, 1 D)" in notes
    assert "1 entities are there twice, and read once (1 A)" in notes
    assert "2 entities left out: they have no words (1 E, 1 F)" in notes
    assert "types of which no entity is learned: 1 B, 1 C, 1 E, 1 F" in notes


# ---- Offsets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        ("😀😀 had fever, é rash", lambda t: len(t.encode("utf-16-le")) // 2, "UTF-16"),
        ("é😀 had fever, é rash", lambda t: len(t.encode()), "bytes"),
        ("was\r\nwell\r\nhad fever, rash", lambda t: len(t.replace("\r\n", "\n")), "CR LF"),
        ("was\nwell\nhad fever, rash", lambda t: len(t.replace("\n", "\r\n")), "end of line as two"),
        ("he had fever, rash", lambda t: len(t) + 1, "from 1"),
        ("😀 he had fever, é rash", len, ""),
    ],
)
def test_offsets_in_other_units(tmp_path: Path, text: str, unit: Callable[[str], int], said: str) -> None:
    lines = []
    for number, name in enumerate(("fever", "rash", "had")):
        start = text.index(name)
        lines.append(f"T{number}\tSign {unit(text[:start])} {unit(text[: start + len(name)])}\t{name}\n")
    (tmp_path / "a.txt").write_bytes(text.encode())
    (tmp_path / "a.ann").write_text("".join(lines))
    corpus = read(tmp_path)
    assert entities(corpus) == [[("had", "Sign"), ("fever", "Sign"), ("rash", "Sign")]]
    assert [note for note in corpus.notes if said and said in note] == list(corpus.notes[1:])
    assert len(corpus.notes) == 2 * bool(said)


# ---- Relations ---------------------------------------------------------------------------------------------


def related(path: Path) -> tuple[Corpus, list[tuple[str, str, str]]]:
    """Return the corpus of relations, and (first entity, second entity, class) of each document."""
    corpus = catalog.load("standoff", DataOptions(path=path, columns=Columns(kind="multiclass")))
    (task,) = corpus.tasks
    rows = []
    for text, (first, second), target in zip(
        corpus.texts, corpus.mentions, corpus.targets[task.name], strict=True
    ):
        names = (text[span.start : span.end] for span in (first, second))
        rows.append((*names, task.classes[target]))
    return corpus, rows


CASES = (
    ("Aspirin caused rash and fever.\n\nIbuprofen healed pain. Metformin."),
    (
        ("Drug", "0 7"),
        ("Sign", "15 19"),
        ("Sign", "24 29"),
        ("Drug", "32 41"),
        ("Sign", "49 53"),
        ("Place", "55 64"),
    ),
)
LINES = "R1\tCauses Arg1:T1 Arg2:T2\nR2\tHeals Drug:T4 Sign:T5\t\n"


def test_relations_of_brat_and_pairs_without_one(tmp_path: Path) -> None:
    text, marks = CASES
    corpus, rows = related(brat(tmp_path, text, *marks, more=LINES))
    assert rows == [
        ("Aspirin", "rash", "Causes"),
        ("Aspirin", "fever", "none"),
        ("Ibuprofen", "pain", "Heals"),
    ]
    task = corpus.tasks[0]
    assert (task.name, task.kind, task.negative) == ("relations", "multiclass", ("none",))
    assert task.classes == ("none", "Causes", "Heals")
    assert corpus.groups == ("a", "a", "a")
    assert [span.type for span in corpus.mentions[0]] == ["Drug", "Sign"]
    assert corpus.texts[2] == "Ibuprofen healed pain. Metformin."


def test_mentions_are_in_the_order_of_their_roles(tmp_path: Path) -> None:
    text, marks = CASES
    lines = "R1\tHas Arg1:T2 Arg2:T1\nR2\tHas Arg1:T5 Arg2:T4\n"
    _, rows = related(brat(tmp_path, text, *marks, more=lines))
    assert rows == [("rash", "Aspirin", "Has"), ("fever", "Aspirin", "none"), ("pain", "Ibuprofen", "Has")]


def test_relations_both_ways_have_a_class_each(tmp_path: Path) -> None:
    text = "rash, then fever, then pain"
    marks = (("Sign", "0 4"), ("Sign", "11 16"), ("Sign", "23 27"))
    lines = "R1\tBefore Arg1:T1 Arg2:T2\nR2\tBefore Arg1:T3 Arg2:T2\n"
    _, rows = related(brat(tmp_path, text, *marks, more=lines))
    assert rows == [
        ("rash", "fever", "Before"),
        ("rash", "pain", "none"),
        ("fever", "pain", "Before (reversed)"),
    ]


def test_relations_that_are_left_out_are_counted(tmp_path: Path) -> None:
    text, marks = CASES
    lines = "R3\tHeals Arg1:T1 Arg2:T5\nR4\tHeals Arg1:T1 Arg2:T2\nR5\tCauses Arg1:T1 Arg2:E7\n"
    corpus, rows = related(brat(tmp_path, text, *marks, more=LINES + lines))
    assert rows[0] == ("Aspirin", "rash", "Causes")
    assert len(rows) == 3
    counted = [note for note in corpus.notes if note.startswith("1 relations left out")]
    assert len(counted) == 3
    assert [name for note in counted for name in ("Heals", "Causes") if f"1 {name}" in note] == [
        "Heals",
        "Heals",
        "Causes",
    ]


def test_only_types_related_in_training_make_pairs(tmp_path: Path) -> None:
    text, marks = CASES
    more = "R1\tIn Arg1:T4 Arg2:T6\n"
    brat(tmp_path / "train", text, *marks, more=LINES)
    corpus, rows = related(brat(tmp_path / "test", text, *marks, more=LINES + more).parent)
    assert corpus.parts == ("test",) * 3 + ("train",) * 3
    assert {answer for *_, answer in rows} == {"Causes", "Heals", "none"}


def test_relations_of_concepts_are_of_their_nearest_mentions(tmp_path: Path) -> None:
    title, abstract = (
        "Aspirin and asthma.",
        "Asthma came after a long time with aspirin, but aspirin had no asthma or rash.",
    )
    text = f"{title} {abstract}"
    names = ("aspirin", "Chemical", "D1"), ("asthma", "Disease", "D2|D9"), ("rash", "Disease", "-1")
    lines = [
        f"7\t{match.start()}\t{match.end()}\t{match[0]}\t{type_}\t{id_}\n"
        for name, type_, id_ in names
        for match in re.finditer(name, text, re.IGNORECASE)
    ]
    relation = "7\tCID\tD1\tD2\n"
    file = write(tmp_path, {"a.txt": f"7|t|{title}\n7|a|{abstract}\n{''.join(lines)}{relation}"}) / "a.txt"
    corpus, rows = related(file)
    assert rows == [("Aspirin", "asthma", "CID"), ("aspirin", "rash", "none")]
    assert corpus.groups == ("7", "7")


@pytest.mark.parametrize("between", "|;,+")
def test_a_mention_of_several_concepts_has_the_relations_of_each(tmp_path: Path, between: str) -> None:
    concepts = between.join(("D2", "-", "D9", "D4"))
    marks = (("0\t7\tAspirin\tC", "D1"), ("14\t20\trashes\tD", concepts), ("22\t26\tpain\tD", "-"))
    lines = "7|t|Aspirin heals rashes, pain.\n7|a|\n" + "".join(
        f"7\t{place}\t{id_}\n" for place, id_ in marks
    )
    for name in ("D2", "D9", "D4"):
        _, rows = related(write(tmp_path, {"a.txt": f"{lines}7\tCID\tD1\t{name}\n"}) / "a.txt")
        assert rows == [("Aspirin", "rashes", "CID"), ("Aspirin", "pain", "none")]
    with pytest.raises(DataError, match="no relations between marked entities"):
        related(write(tmp_path, {"a.txt": f"{lines}7\tCID\tD1\t-\n"}) / "a.txt")


def test_relations_of_concepts_have_no_direction(tmp_path: Path) -> None:
    title, names = "aspirin, rash, statin, cough", ("aspirin", "rash", "statin", "cough")
    lines = [
        f"7\t{title.index(name)}\t{title.index(name) + len(name)}\t{name}\t{'CD'[at % 2]}\tD{at}\n"
        for at, name in enumerate(names)
    ]
    content = f"7|t|{title}\n7|a|\n{''.join(lines)}7\tCID\tD0\tD1\n7\tCID\tD3\tD2\n"
    _, rows = related(write(tmp_path, {"a.txt": content}) / "a.txt")
    assert rows == [
        ("aspirin", "rash", "CID"),
        ("aspirin", "cough", "none"),
        ("rash", "statin", "none"),
        ("statin", "cough", "CID"),
    ]


def test_data_without_relations(tmp_path: Path) -> None:
    text, marks = CASES
    with pytest.raises(DataError, match="no relations between marked entities"):
        related(brat(tmp_path, text, *marks))
    with pytest.raises(DataError, match="kind` is none of marked entities"):
        catalog.load("standoff", DataOptions(path=tmp_path, columns=Columns(kind="regression")))


def test_relations_are_split_as_the_entities_of_their_texts(tmp_path: Path) -> None:
    for number in range(30):
        text = f"Aspirin caused rash {number}.\n\nIbuprofen healed {number} pains."
        names = {"Aspirin": "Drug", "rash": "Sign", "Ibuprofen": "Drug", "pains": "Sign"}
        marks = [(type_, f"{(at := text.index(name))} {at + len(name)}") for name, type_ in names.items()]
        lines = "R1\tCauses Arg1:T1 Arg2:T2\n" + "R2\tHeals Arg1:T3 Arg2:T4\n" * (number % 2)
        brat(tmp_path / str(number), text, *marks, more=lines)
    corpora = [
        replace(catalog.load("standoff", DataOptions(path=tmp_path, columns=Columns(kind=kind))), name=kind)
        for kind in ("multiclass", "tagging")
    ]
    data = default_settings().data.model_copy(update={"folds": 3})
    corpus = join(corpora)
    for fold in read_folds(data, corpus):
        groups = [
            {corpora[at].groups[row - first] for row in rows if first <= row < first + len(corpora[at])}
            for rows in (fold.train, fold.validation, fold.test)
            for at, first in ((0, 0), (1, len(corpora[0])))
        ]
        assert all(groups)
        assert groups[::2] == groups[1::2]
        assert sum(map(len, groups)) == 60
