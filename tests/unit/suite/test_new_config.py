"""`mtlv init`: the columns of a table are found, and its config runs."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from mtlv.cli import main
from mtlv.data.splits import group_same_documents
from mtlv.data.tables.guess import guess
from mtlv.errors import DataError
from mtlv.planning.check import check_suite
from mtlv.settings import load_suite
from mtlv.suite import new_config
from mtlv.suite.new_config import config_text
from mtlv.units.corpora import read_corpus

COUNT = 60
LABELS = ("heart", "lung", "bone", "skin")


def flags(seed, rate=0.5):
    return (np.random.default_rng(seed).random(COUNT) < rate).astype(int)


COLUMNS = {
    "uid": [f"d{n}" for n in range(COUNT)],
    "title": [f"film {n}" for n in range(COUNT)],
    "report": [f"report {n} of a patient with several findings" for n in range(COUNT)],
    "split": [("train", "train", "dev", "test")[n % 4] for n in range(COUNT)],
    **{name: flags(seed) for seed, name in enumerate(LABELS)},
    "rare": [1] * 3 + [0] * (COUNT - 3),
    "common": [0] * 3 + [1] * (COUNT - 3),
    "year": [2000 + n % 7 for n in range(COUNT)],
}
OTHERS = ("uid", "title", "report", "split")
WITHOUT = {name: COLUMNS[name] for name in OTHERS}
ROWS = zip(*(COLUMNS[name] for name in LABELS), strict=True)
LISTS = ["; ".join(name for name, on in zip(LABELS, row, strict=True) if on) for row in ROWS]
SCORES = [f"{n % 9}.5" for n in range(COUNT)]
CLASSES = [("low", "middle", "high")[n % 3] for n in range(COUNT)]


def write(folder: Path, columns, name="t.csv") -> Path:
    path = folder / name
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def test_columns_of_labels_text_ids_and_parts_are_found(tmp_path):
    found = guess(write(tmp_path, COLUMNS))
    assert found.columns == {
        "text": "report", "id": "uid", "part": "split", "kind": "binary", "labels": list(LABELS),
    }  # fmt: skip
    assert found.learned[0].counts == {name: int(COLUMNS[name].sum()) for name in LABELS}
    assert found.rare == {"rare": 3, "common": COUNT - 3}
    assert found.unused == ("title", "year")
    assert found.words == (8, 8, 8)
    assert found.documents == COUNT


def test_an_index_without_a_name_is_not_named(tmp_path):
    """As pandas writes it."""
    found = guess(write(tmp_path, {"": range(COUNT)} | COLUMNS))
    assert found.unused == ("title", "year")


@pytest.mark.parametrize(
    ("columns", "learned", "tasks"),
    [
        ({"found": LISTS}, {"kind": "binary", "label_list": "found", "separator": ";"}, set(LABELS)),
        ({"grade": CLASSES}, {"kind": "multiclass", "target": "grade"}, {"low", "middle", "high"}),
        ({"grade": [n % 4 for n in range(COUNT)]}, {"kind": "multiclass", "target": "grade"}, set("0123")),
        ({"score": SCORES}, {"kind": "regression", "target": "score"}, set()),
    ],
)
def test_other_tasks_are_found(tmp_path, columns, learned, tasks):
    found = guess(write(tmp_path, WITHOUT | columns))
    assert {
        key: value for key, value in found.columns.items() if key not in ("text", "id", "part")
    } == learned
    assert set(found.learned[0].counts) == tasks


@pytest.mark.parametrize("written", [json.dumps, list, repr, lambda names: str(np.array(names, object))])
def test_lists_as_in_json_and_python_are_found(tmp_path, written):
    path = tmp_path / "t.jsonl"
    lists = [[name.strip() for name in text.split(";") if name.strip()] for text in LISTS]
    cells = [written(names) for names in lists]
    rows = zip(COLUMNS["report"], cells, CLASSES, strict=True)
    lines = [json.dumps({"report": a, "found": b, "grade": c}) for a, b, c in rows]
    path.write_text("\n".join(lines))
    found = guess(path)
    assert found.columns == {"text": "report", "kind": "binary", "label_list": "found"}
    assert found.learned[0].counts == {name: int(COLUMNS[name].sum()) for name in found.learned[0].counts}
    assert set(found.learned[0].counts) == set(LABELS)
    lines.append(json.dumps({"report": "a last report", "found": "[sic]", "grade": "low"}))
    path.write_text("\n".join(lines))
    assert guess(path).columns["kind"] == "multiclass", "the grade, because these are no lists"


WORDS = [f"drug{n} helps against pain".split() for n in range(COUNT)]
TAGS = [["B-Drug", "O", "O", "B-Sign"][: len(words)] for words in WORDS]
TAGGED = {"kind": "tagging", "tags": "ner"}


def write_lines(folder: Path, columns) -> Path:
    path = folder / "t.jsonl"
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_tags_of_words_are_found(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = write_lines(tmp_path, {"ner": TAGS, "tokens": WORDS, "source": CLASSES})
    for more in ({}, {"labels": ["ner"]}, {"text": "tokens", "labels": ["ner"]}):
        found = guess(path, **more)
        assert found.columns == {"words": "tokens"} | TAGGED
        assert (found.text, found.labels, found.words[0]) == ("tokens", ("ner",), 4)
        assert found.sample == tuple(map(" ".join, WORDS))
    assert main(["init", "t.jsonl", "--text", "tokens"]) == 0
    said = capsys.readouterr().out
    assert "text in `tokens`\nto learn (tagging): ner\nnot learned: source;" in said
    suite = load_suite("t.yml", ["encoder=tiny"])
    check_suite(suite)
    as_text = {"report": map(" ".join, WORDS), "ner": map(" ".join, TAGS)}
    assert guess(write(tmp_path, as_text)).columns == {"text": "report"} | TAGGED
    with_text = {"report": COLUMNS["report"], "tokens": WORDS, "ner": TAGS}
    assert guess(write_lines(tmp_path, with_text)).columns == {"words": "tokens"} | TAGGED


@pytest.mark.parametrize("labels", ["ner,grade,heart", "grade", ""])
def test_lists_of_words_are_texts_of_other_kinds(tmp_path, monkeypatch, labels):
    """Words that are no texts elsewhere, and whose documents are split alike for all kinds."""
    monkeypatch.chdir(tmp_path)
    heart = [int(on) for on in COLUMNS["heart"]]
    write_lines(tmp_path, {"tokens": WORDS, "ner": TAGS, "grade": CLASSES, "heart": heart})
    assert main(["init", "t.jsonl", *(["--labels", labels] if labels else [])]) == 0
    suite = load_suite("t.yml", ["encoder=tiny"])
    assert check_suite(suite).units
    corpus = read_corpus(suite.members[0].settings.data)
    members = corpus.members or (corpus,)
    kinds = {"grade": ["multiclass"], "": ["binary", "multiclass"]}
    assert sorted(one.tasks[0].kind for one in members) == kinds.get(
        labels, ["binary", "multiclass", "tagging"]
    )
    assert all(one.texts == tuple(map(" ".join, WORDS)) for one in members)
    assert all((one.words is not None) == (one.tasks[0].kind == "tagging") for one in members)
    assert len(group_same_documents(members)) == 1


def test_a_label_of_all_documents_is_named_with_the_others(tmp_path):
    found = guess(write(tmp_path, COLUMNS | {"always": [1] * COUNT, "never": [0] * COUNT}))
    assert found.rare == {"rare": 3, "common": COUNT - 3, "always": COUNT, "never": 0}


def test_tags_beside_labels_are_named(tmp_path):
    columns = {"report": COLUMNS["report"], "tokens": WORDS, "ner": TAGS}
    found = guess(write_lines(tmp_path, columns | {"heart": [int(on) for on in COLUMNS["heart"]]}))
    assert found.columns == {"text": "report", "kind": "binary", "labels": ["heart"]}
    assert found.others == ("ner",)


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        (
            {"ner": [row[:3] for row in TAGS]},
            {},
            r"`ner` has tags such as `B-Drug`, but no column has a word",
        ),
        (
            {"spans": [[[0, 5, "Drug"]][: n % 2] for n in range(COUNT)]},
            {},
            r"\(got spans\).*`spans` has entities in characters; to find them, set `data.name: standoff`",
        ),
    ],
)
def test_tags_and_entities_that_cannot_be_learned_are_said(tmp_path, columns, more, message):
    path = write_lines(tmp_path, {"report": COLUMNS["report"]} | columns)
    with pytest.raises(DataError, match=message):
        guess(path, **more)


PAIRS = [[[0, 6, "A"], [9 + n % 2, 11, "B"]] for n in range(COUNT)]


@pytest.mark.parametrize("kinds", [{"grade": CLASSES}, {"grade": CLASSES, "score": SCORES}])
def test_marked_entities_of_each_text_are_read(tmp_path, monkeypatch, capsys, kinds):
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path, {"report": COLUMNS["report"], "entities": PAIRS, **kinds})
    assert main(["init", "t.jsonl", "--labels", ",".join(kinds)]) == 0
    out = capsys.readouterr().out
    assert "marked entities in `entities`; `data.mentions` sets how the encoder sees them" in out
    assert "not read" not in out
    suite = load_suite(Path("t.yml"))
    assert {each.columns.mentions for each in suite.members[0].settings.data.each_source} == {"entities"}
    assert check_suite(suite).units


@pytest.mark.parametrize(
    "spans",
    [
        [*PAIRS[1:], PAIRS[0][:1]],  # another number of entities
        [*PAIRS[1:], [[0, 6, "A"], [9, 99, "B"]]],  # outside the text
        [*PAIRS[1:], [[0, 6, "A"], [9, 9, "B"]]],
        [*PAIRS[1:], [[0, 6], [9, 11]]],
        [*PAIRS[1:], None],
    ],
)
def test_other_entities_are_named(tmp_path, monkeypatch, capsys, spans):
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path, {"report": COLUMNS["report"], "entities": spans, "grade": CLASSES})
    assert main(["init", "t.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "not read: `entities` has entities in characters; to find them, set `data.name: standoff`" in out
    assert "not learned" not in out
    assert "mentions" not in Path("t.yml").read_text()


def test_entities_beside_tags_are_not_read(tmp_path):
    found = guess(write_lines(tmp_path, {"tokens": WORDS, "ner": TAGS, "entities": [[[0, 1, "A"]]] * COUNT}))
    assert "mentions" not in found.columns


def test_labels_that_look_like_bare_tags_are_labels(tmp_path):
    lists = [["O", "B"][: 1 + n % 2] for n in range(COUNT)]
    found = guess(write_lines(tmp_path, {"report": COLUMNS["report"], "blood": lists}))
    assert found.columns == {"text": "report", "kind": "binary", "label_list": "blood"}


def test_further_texts_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    said = "for pairs of texts add"
    second = [f"another report {n}" + " with many words" * 15 for n in range(COUNT)]
    write(tmp_path, COLUMNS | {"second": second, "third": second})
    assert main(["init", "t.csv", "--text", "report"]) == 0
    add = "`text_pair: second` to `data.columns`, with `data.max_length: 64`"
    assert f"not read: second, third; {said} {add}" in capsys.readouterr().out
    assert "max_length: 32 " in Path("t.yml").read_text()
    write(tmp_path, COLUMNS, "u.csv")
    assert main(["init", "u.csv"]) == 0
    assert said not in capsys.readouterr().out


@pytest.mark.parametrize(("words", "text"), [(5, "first"), (4, "second"), (7, "first")])
def test_the_first_of_nearly_the_longest_texts_is_the_text(tmp_path, words, text):
    first, second = (["word " * count + str(n) for n in range(COUNT)] for count in (words - 1, 5))
    columns = {"title": ["a chest film"] * COUNT, "first": first, "second": second, "heart": COLUMNS["heart"]}
    assert guess(write(tmp_path, columns)).text == text


def test_a_config_in_no_folder_is_refused(tmp_path, capsys):
    out = tmp_path / "none" / "c.yml"
    assert main(["init", str(write(tmp_path, COLUMNS)), "--out", str(out)]) == 2
    said = (
        f"`--out` {out} cannot be written (got No such file or directory); give a file in an existing folder"
    )
    assert said in capsys.readouterr().err


def test_a_column_that_repeats_is_no_id(tmp_path):
    found = guess(write(tmp_path, COLUMNS | {"uid": ["d1"] * 2 + COLUMNS["uid"][2:]}))
    assert "id" not in found.columns
    assert "uid" in found.unused


def test_columns_can_be_named(tmp_path):
    path = write(tmp_path, COLUMNS | {"grade": CLASSES})
    assert guess(path, labels=["lung", "bone"]).labels == ("lung", "bone")
    assert guess(path, labels=["grade"]).columns["kind"] == "multiclass"
    assert guess(path, text="title").columns["text"] == "title"


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        (WITHOUT, {}, r"has no column that could be learned \(got title\)"),
        (
            WITHOUT | {"a": [n % 3 for n in range(COUNT)], "b": [n % 4 for n in range(COUNT)]},
            {},
            r"has several columns that could .* \(got a, b\).*--labels a",
        ),
        ({"uid": OTHERS, "lung": flags(0)[:4]}, {}, "no column of `t.csv` looks like texts.*--text"),
        (WITHOUT | {"rare": COLUMNS["rare"]}, {}, "no label of `t.csv` can be .* .got rare: 3 documents"),
        (COLUMNS, {"text": "reprot"}, "no column `reprot` .--text.*did you mean `report`"),
        (COLUMNS, {"labels": ["hart"]}, "no column `hart` .--labels.*did you mean `heart`"),
    ],
)
def test_what_cannot_be_guessed_is_said(tmp_path, columns, more, message):
    with pytest.raises(DataError, match=message):
        guess(write(tmp_path, columns), **more)


@pytest.mark.parametrize("words", [("False", "True"), ("No", "Yes"), ("n", "y")])
def test_labels_of_true_and_false_or_yes_and_no_are_found(tmp_path, words):
    columns = WITHOUT | {name: [words[on] for on in flags(seed)] for seed, name in enumerate(LABELS)}
    path = write(tmp_path, columns)
    assert guess(path).learned[0].counts == {name: int(COLUMNS[name].sum()) for name in LABELS}
    assert guess(path, labels=["lung", "bone"]).labels == ("lung", "bone")


@pytest.mark.parametrize("often", [1, 3, 12])
def test_yes_no_and_maybe_are_classes(tmp_path, often):
    answers = ["maybe"] * often + [("yes", "no")[n % 2] for n in range(COUNT - often)]
    path = write(tmp_path, WITHOUT | {"answer": answers})
    if often == 1:
        with pytest.raises(DataError, match=r"`answer`: 59 of 60 cells are 0 or 1, or yes or no; line 2 has"):
            guess(path)
        return
    for labels in ([], ["answer"]):
        found = guess(path, labels=labels)
        assert found.columns["kind"] == "multiclass"
        assert set(found.learned[0].counts) == {"yes", "no", "maybe"}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({9: "maybe"}, "59 of 60 cells are 0 or 1, or yes or no; line 11 has 'maybe'"),
        ({9: "2", 20: "2"}, "58 of 60 cells are 0 or 1, or yes or no; line 11 has '2'; also at line 22"),
    ],
)
def test_a_label_with_few_other_cells_is_left_out_with_a_reason(tmp_path, monkeypatch, capsys, bad, said):
    monkeypatch.chdir(tmp_path)
    heart = [bad.get(n, on) for n, on in enumerate(COLUMNS["heart"])]
    path = write(tmp_path, COLUMNS | {"heart": heart})
    assert main(["init", path.name]) == 0
    shown = capsys.readouterr().out
    assert "to learn (binary): lung, bone, skin\n" in shown
    assert (
        f"left out: `heart`: {said}; to learn it, fill or remove these cells, then run this again\n" in shown
    )
    assert "`year`" not in shown
    for named in (["heart"], ["heart", "lung"]):
        with pytest.raises(DataError, match=r"a label of .* is not always 0 or 1, or yes or no") as caught:
            guess(path, labels=named)
        assert said in str(caught.value)


@pytest.mark.parametrize("count", [1, 25])
def test_empty_cells_are_unknown_labels(tmp_path, monkeypatch, capsys, count):
    monkeypatch.chdir(tmp_path)
    heart = ["" if n < count else on for n, on in enumerate(COLUMNS["heart"])]
    path = write(tmp_path, COLUMNS | {"heart": heart})
    assert main(["init", path.name]) == 0
    shown = capsys.readouterr().out
    assert "to learn (binary): heart, lung, bone, skin\n" in shown
    assert f"empty cells: heart {count}; such a cell is neither learned nor tested; if it means no" in shown
    settings = load_suite(tmp_path / "t.yml", []).members[0].settings
    assert settings.data.columns.missing_labels == "unknown"
    assert guess(path).learned[0].counts["heart"] == COLUMNS["heart"][count:].sum()


def test_ones_without_zeros_are_no_labels_and_too_few_zeros_are_left_out(tmp_path):
    ones = [1 if on else "" for on in COLUMNS["heart"]]
    few = ["" if not on and n > 20 else on for n, on in enumerate(COLUMNS["lung"])]
    assert 0 < sum(cell == 0 for cell in few) < 10
    found = guess(write(tmp_path, COLUMNS | {"heart": ones, "lung": few}))
    assert found.columns["labels"] == ["bone", "skin"]
    assert list(found.rare) == ["lung", "rare", "common"]
    assert "missing_labels" not in found.columns


def test_a_lone_label_with_a_few_other_cells_is_no_class(tmp_path):
    spoiled = ["maybe", *COLUMNS["heart"][1:]]
    with pytest.raises(DataError, match=r"no column that could be learned.*59 of 60 cells are 0 or 1"):
        guess(write(tmp_path, WITHOUT | {"heart": spoiled}))


def test_names_with_commas_are_quoted(tmp_path, capsys, monkeypatch):
    write(tmp_path, WITHOUT | {"heart, large": COLUMNS["heart"], "lung": COLUMNS["heart"]})
    monkeypatch.chdir(tmp_path)
    assert main(["init", "t.csv", "--labels", '"heart, large", lung']) == 0
    assert "to learn (binary): heart, large, lung\n" in capsys.readouterr().out
    data = yaml.safe_load(Path("t.yml").read_text())["data"]
    assert data["columns"]["labels"] == ["heart, large", "lung"]
    check_suite(load_suite("t.yml", []))
    assert main(["init", "t.csv", "--labels", "heart\nlung"]) == 2
    assert "`--labels` cannot be read" in capsys.readouterr().err


def test_columns_of_different_kinds_are_learned_from_one_table(tmp_path, capsys, monkeypatch):
    ages = [20 + n for n in range(COUNT)]  # whole, and too many for classes
    many = [f"c{n}" for n in range(COUNT)]
    path = write(
        tmp_path, WITHOUT | {"heart": COLUMNS["heart"], "grade": CLASSES, "age": ages, "s": SCORES, "x": many}
    )
    monkeypatch.chdir(tmp_path)
    assert main(["init", "t.csv", "--labels", "age,heart,grade,s"]) == 0
    said = capsys.readouterr().out
    assert "to learn (binary, regression, multiclass): heart, age, grade, s\n" in said
    assert "not learned" not in said
    own = yaml.safe_load(Path("t.yml").read_text())["data"]
    assert own["columns"] == {"text": "report", "id": "uid", "part": "split"}
    assert [(each["alias"], each["path"], each["columns"]) for each in own["sources"]] == [
        ("labels", "t.csv", {"kind": "binary", "labels": ["heart"]}),
        ("age", "t.csv", {"kind": "regression", "target": "age"}),
        ("grade", "t.csv", {"kind": "multiclass", "target": "grade"}),
        ("s", "t.csv", {"kind": "regression", "target": "s"}),
    ]
    check_suite(load_suite("t.yml", []))
    for labels in (["x"], ["heart", "x"], ["x", "age"]):
        with pytest.raises(DataError, match=r"has columns that cannot be learned \(got x\)"):
            guess(path, labels=labels)
    with pytest.raises(DataError, match="`--labels`: `report` is the column of the texts; leave it out"):
        guess(path, labels=["heart", "report"])
    assert guess(path, labels=["age"]).columns["kind"] == "regression"
    assert guess(path, labels=["grade"]).columns["kind"] == "multiclass"


def test_lists_are_learned_beside_other_kinds(tmp_path):
    lists = [text if n % 5 else "" for n, text in enumerate(LISTS)]
    lists[1] = "; ".join([lists[1], "once"])
    path = write(tmp_path, WITHOUT | {"tags": lists, "score": SCORES, "same": [7] * COUNT})
    found = guess(path, labels=["tags", "score"])
    assert set(found.labels) == {*LABELS, "score"}
    own = yaml.safe_load(config_text(found, str(path), 4000.0))["data"]["sources"]
    first = {"name": "table", "alias": "tags", "path": str(path)}
    assert own[0] == first | {
        "columns": {"kind": "binary", "label_list": "tags", "separator": ";"},
        "labels": list(found.labels[:-1]),
    }
    assert own[1]["columns"] == {"kind": "regression", "target": "score"}
    other = guess(path, labels=["score", "tags"])
    assert other.columns["target"] == "score"
    assert set(other.labels) == {*LABELS, "score"}
    config = tmp_path / "c.yml"
    config.write_text(config_text(other, str(path), 4000.0))
    check_suite(load_suite(config, ["encoder=tiny"]))
    with pytest.raises(DataError, match=r"cannot be learned \(got same\).*two values or more"):
        guess(path, labels=["score", "same"])


def test_columns_that_are_not_learned_are_named(tmp_path, capsys, monkeypatch):
    numbers = {"age": [20 + n % 30 for n in range(COUNT)], "serial": range(COUNT)}
    path = write(tmp_path, WITHOUT | {"heart": COLUMNS["heart"], "grade": CLASSES, "s": SCORES} | numbers)
    monkeypatch.chdir(tmp_path)
    assert main(["init", "t.csv"]) == 0
    said = capsys.readouterr().out
    assert "to learn (binary, multiclass): heart, grade\n" in said
    assert "not learned: s, age; name all that you want to learn with `--labels`" in said
    assert guess(path, labels=["serial"]).columns["kind"] == "regression"
    path = write(tmp_path, WITHOUT | {"grade": CLASSES, "s": SCORES} | numbers)
    assert guess(path).labels == ("grade",)
    path = write(tmp_path, WITHOUT | numbers)
    with pytest.raises(
        DataError, match=r"has a column of whole numbers that .* \(got age\).*with `--labels`"
    ):
        guess(path)


def test_a_name_of_the_labels_that_is_taken_is_not_used(tmp_path):
    found = guess(
        write(tmp_path, WITHOUT | {"heart": COLUMNS["heart"], "labels": CLASSES}), labels=["heart", "labels"]
    )
    own = yaml.safe_load(config_text(found, "t.csv", 4000.0))["data"]["sources"]
    assert [each["alias"] for each in own] == ["t labels", "labels"]


@pytest.fixture(autouse=True)
def speed(monkeypatch):
    """Tokens a second that `mtlv init` measures, which do not depend on this machine."""
    monkeypatch.setattr("mtlv.suite.speed.measure_speed", lambda _: 4000.0)


KINDS = [COLUMNS, *(WITHOUT | {"found": column} for column in (LISTS, CLASSES, SCORES))]


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_the_config_is_valid_and_names_what_will_be_trained(tmp_path, monkeypatch, capsys, number):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, KINDS[number], name="my table: 1.csv")
    assert main(["init", "my table: 1.csv", "--out", "c.yml"]) == 0
    shown = capsys.readouterr().out
    assert "wrote c.yml; next: `mtlv run c.yml`" in shown
    rare = "left out: rare, common; fewer than 10 documents have them, or lack them\n"
    assert (rare in shown) == (number == 0)
    suite = load_suite("c.yml")
    check_suite(suite)
    names = [member.name for member in suite.members]
    several = ["one model for all", "one model each", "groups", "random groups", "layers per group"]
    assert names == (several if number < 2 else ["MTL"])
    assert suite.members[0].settings.data.max_length == 32
    assert main(["init", "my table: 1.csv", "--out", "c.yml"]) == 2
    assert "`c.yml` is there already; choose another file with `--out`" in capsys.readouterr().err


def test_a_suite_that_takes_long_is_made_smaller_and_says_what_more_would_take(tmp_path, monkeypatch, capsys):
    path = write(tmp_path, COLUMNS)
    counts = new_config.token_counts(guess(path).sample)
    seconds_of_one = sum(counts) * 0.75 * 15  # of one model, at a token a second
    several = ["one model for all", "one model each", "groups", "random groups", "layers per group"]

    def written(speed: float, documents: int = len(counts)) -> tuple[str, dict, list[str]]:
        text = config_text(
            replace(guess(path), documents=documents), "t.csv", speed * documents / len(counts)
        )
        config = yaml.safe_load(text)
        return text, config, [run["name"] for run in config["runs"]]

    fits = 900 / seconds_of_one  # passes of one model in 15 minutes, at a token a second
    all_models = 1 + 4 + 4 + 4 + 2  # layers of groups: four lower ones once, two upper ones for four groups
    text, config, names = written(1.01 * all_models / fits)
    assert (config["encoder"], names, "Left out" in text) == ("minilm", several, False)
    text, config, names = written(0.99 * all_models / fits)
    assert (config["encoder"], names) == ("minilm", [name for name in several if name != "one model each"])
    pair = 1 + 4  # one model for all and groups, which stay
    text, config, names = written(1.01 * pair / fits)
    assert (config["encoder"], names) == ("minilm", ["one model for all", "groups"])
    text, config, names = written(0.99 * pair / fits)
    assert (config["encoder"], names) == (
        {"name": "minilm", "frozen_layers": 4},
        ["one model for all", "groups"],
    )
    assert "# quicker, but may score lower; without it 15 min" in text
    text, config, names = written(0.1 / fits)
    assert names == ["one model for all"], "and no fewer documents: there are few"
    many_epochs = 10 / 15  # of those of few documents
    _, config, names = written(0.99 * all_models * many_epochs / fits, 4_000)
    assert (config["encoder"], names) == ({"name": "minilm", "frozen_layers": 4}, several), "there are many"
    frozen_models = (1 + 4 + 4 + 4 + 4) / 3  # of those without frozen layers
    _, _, names = written(0.99 * frozen_models * many_epochs / fits, 4_000)
    assert names == [name for name in several if name != "one model each"]
    for run in several[1:]:
        text = text.replace(f"# - {{name: {run}", f"- {{name: {run}").replace(
            f"# - name: {run}", f"- name: {run}"
        )
    text = text.replace("  #   architecture", "    architecture").replace("  #   training", "    training")
    assert [run["name"] for run in yaml.safe_load(text)["runs"]] == several, (
        "what is left out can be put back"
    )
    monkeypatch.setattr("mtlv.suite.speed.measure_speed", lambda _: 0.99 * pair / fits)
    assert main(["init", str(path), "--out", str(tmp_path / "small.yml")]) == 0
    shown = capsys.readouterr().out
    rest = "`one model each`, `random groups`, `layers per group`"
    assert f"with the lower 4 of 6 layers frozen, without {rest}; all of it takes" in shown
    minutes = shown.split("`--minutes ")[1].split("`")[0]
    assert main(["init", str(path), "--out", str(tmp_path / "all.yml"), "--minutes", minutes]) == 0
    assert "frozen" not in capsys.readouterr().out
    assert "# left out, because fewer than 10 documents have them, or lack them: rare 3, common 57" in text


def test_of_many_documents_some_are_trained_first(tmp_path):
    many = replace(guess(write(tmp_path, COLUMNS)), documents=1_000_000)
    data = yaml.safe_load(config_text(many, "t.csv", 4000.0))["data"]
    assert 1000 <= data["limit"] < 1_000_000
    assert "limit" not in yaml.safe_load(config_text(many, "t.csv", 4000.0, 1e9))["data"]


@pytest.mark.parametrize(("documents", "epochs"), [(2_000, 15), (2_001, 10), (20_000, 10), (20_001, 5)])
def test_small_tables_are_learned_for_more_epochs(tmp_path, documents, epochs):
    of_that_size = replace(guess(write(tmp_path, COLUMNS)), documents=documents)
    assert yaml.safe_load(config_text(of_that_size, "t.csv", 1e9))["training"]["epochs"] == epochs


def test_a_table_that_is_not_there_is_said_so(tmp_path, capsys):
    gone = tmp_path / "gone.csv"
    assert main(["init", str(gone)]) == 2
    said = capsys.readouterr().err
    assert f"there is no such file (got {gone}); check its name and folder" in said
    (tmp_path / "folder.csv").mkdir()
    assert main(["init", str(tmp_path / "folder.csv")]) == 2
    said = capsys.readouterr().err
    assert "folder.csv`; allowed: a file, or a folder with train, dev and test files ending in .csv," in said


@pytest.mark.parametrize("given", ["one two", "one two/train.tsv"])
def test_conll_files_have_a_config_that_runs(tmp_path, monkeypatch, capsys, given):
    monkeypatch.chdir(tmp_path)
    Path("one two").mkdir()
    Path("one two/train.tsv").write_text("".join(f"Pain\tB-sign\n{n}\tO\n\n" for n in range(20)))
    assert main(["init", given, "--out", "c.yml"]) == 0
    told = capsys.readouterr().out
    assert "20 documents, read with `data.name: conll`" in told
    assert "to learn (tagging): sign" in told
    data = yaml.safe_load(Path("c.yml").read_text())["data"]
    assert data == {"name": "conll", "path": "one two", "columns": {"task": "entities"}, "max_length": 32}
    assert main(["check", "c.yml"]) == 0
    assert main(["init", given, "--out", "c.yml"]) == 2
    assert "`c.yml` is there already" in capsys.readouterr().err


def test_marked_texts_have_a_config_with_windows_if_they_are_long(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "Pain and much else as well. " * 200
    Path("all.txt").write_text("".join(f"{n}|t|{text}{n}\n{n}\t0\t4\tPain\tSign\n\n" for n in range(30)))
    assert main(["init", "all.txt"]) == 0
    config = yaml.safe_load(Path("all.yml").read_text())
    assert config["data"]["name"] == "standoff"
    assert (config["data"]["max_length"], config["data"]["window"]) == (512, 200)
    assert main(["check", "all.yml"]) == 0


def test_exports_are_tables_if_other_columns_can_be_learned(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    row = '{"text": "Pain is number %d", "entities": [{"start": 0, "end": 4, "label": "X"}]'
    plain = [row % n for n in range(40)]
    Path("a.jsonl").write_text("".join(line + ', "annotator": 3}\n' for line in plain))
    assert main(["init", "a.jsonl"]) == 0
    assert yaml.safe_load(Path("a.yml").read_text())["data"]["name"] == "standoff"
    # Other columns that can be learned are not lost without a word.
    Path("b.jsonl").write_text("".join(f'{line}, "bad": {n % 2}}}\n' for n, line in enumerate(plain)))
    assert main(["init", "b.jsonl"]) == 0
    assert yaml.safe_load(Path("b.yml").read_text())["data"]["name"] == "table"
    assert "`data.name: standoff`" in capsys.readouterr().out


def test_a_table_is_no_config(tmp_path, capsys):
    path = write(tmp_path, COLUMNS)
    assert main(["run", str(path)]) == 2
    assert f"a table, not a config; write one for it: `mtlv init {path}`" in capsys.readouterr().err


def test_a_column_of_lists_is_learned_rather_than_years(tmp_path):
    years = [f"{1990 + n % 7}" for n in range(COUNT)]
    assert guess(write(tmp_path, WITHOUT | {"found": LISTS, "year": years})).columns["label_list"] == "found"


def test_texts_without_spaces_are_texts_and_not_english(tmp_path):
    texts = ["左肺に小さな結節を認める。心臓は正常。" + "肺" * n for n in range(COUNT)]
    path = tmp_path / "t.csv"
    rows = "".join(f"{text},{n % 2}\n" for n, text in enumerate(texts))
    path.write_text(f"所見,肺炎\n{rows}", encoding="utf-8")
    found = guess(path)
    assert (found.columns["text"], found.english) == ("所見", False)
    assert found.words[0] > 15
    assert "do not look like English" in config_text(found, "t.csv", 4000.0)
    path.write_text("text,a\n" + "".join(f"the heart is of normal size {n},{n % 2}\n" for n in range(COUNT)))
    assert guess(path).english
    assert "English" not in config_text(guess(path), "t.csv", 4000.0)
