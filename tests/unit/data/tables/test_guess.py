"""What the columns of a table are: lists, uncertain labels, groups, pairs, and what is no text."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from mtlv.data.tables.guess import TableGuess, guess
from mtlv.errors import DataError
from mtlv.suite.token_counts import estimate_pieces, max_length

COUNT = 120
WORDS = ["the", "heart", "lung", "is", "of", "normal", "size", "no", "edema", "seen", "in", "this", "view"]
DRAWS = random.Random(1)
TEXTS = [f"case {n} " + " ".join(DRAWS.choices(WORDS, k=8)) for n in range(COUNT)]


def of(folder: Path, labels: tuple[str, ...] = (), **columns: object) -> TableGuess:
    """Return the guess for texts and columns: lists of values that repeat, or functions of the row."""
    path = folder / "t.jsonl"
    cells = {
        name: [value(n) if callable(value) else value[n % len(value)] for n in range(COUNT)]
        for name, value in ({"text": TEXTS} | columns).items()
    }
    rows = [{name: column[n] for name, column in cells.items()} for n in range(COUNT)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return guess(path, labels=labels)


@pytest.mark.parametrize(
    ("cells", "settings", "labels"),
    [
        (
            ["anger, joy", "joy", "anger", "fear, joy", "fear", "anger, fear, joy"],
            {"separator": ","},
            ["anger", "fear", "joy"],
        ),
        (["2,5", "5", "2", "2,5,7", "7"], {"separator": ","}, ["2", "5", "7"]),
        (["a|b", "b", "", "c|a"], {"separator": "|"}, ["a", "b", "c"]),
        (["a/b", "b", "a", "a/c/b", "c"], {"separator": "/"}, ["a", "b", "c"]),
        ([[3, 17], [17], [], [3]], {}, ["3", "17"]),
        (["[0 0 1]", "[1 0 1]", "[0 1 0]"], {}, ["x 1", "x 2", "x 3"]),
        (["0 0 1", "1 0 1", "0 1 0"], {"separator": " "}, ["x 1", "x 2", "x 3"]),
        (["0;1", "1;1", "0;0", "1;0"], {"separator": ";"}, ["x 1", "x 2"]),
        (["001", "101", "010"], {}, ["x 1", "x 2", "x 3"]),
    ],
)
def test_lists_are_found(tmp_path, cells, settings, labels) -> None:
    found = of(tmp_path, x=cells)
    assert found.columns == {"text": "text", "kind": "binary", "label_list": "x", **settings}
    assert list(found.labels) == labels


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["lung, left", "heart", "skin"], "multiclass"),
        (["New York, NY", "Boston, MA"], "multiclass"),
        (["a;b;a", "b;c;b", "x"], "multiclass"),
    ],
)
def test_names_with_a_separator_are_classes(tmp_path, cells, kind) -> None:
    assert of(tmp_path, x=cells).columns["kind"] == kind


def test_numbers_with_a_comma_are_no_lists(tmp_path) -> None:
    found = of(tmp_path, x=["4,4", "4,1", "2,9", "3,0", "1,5"])
    assert found.columns == {"text": "text", "kind": "regression", "target": "x"}


def test_rare_names_of_hundreds_are_left_out(tmp_path) -> None:
    found = of(tmp_path, x=lambda n: f"often;{'twice' if n % 3 else 'thrice'};rare {n // 2}" if n % 9 else "")
    assert set(found.labels) == {"often", "twice", "thrice"}
    assert len(found.rare) > 50


def test_uncertain_labels_of_several_columns(tmp_path) -> None:
    marks = ["1.0", "0.0", "-1.0", ""]
    found = of(tmp_path, a=marks, b=lambda n: marks[n * n % 7 % 4], only=["1.0", "", ""])
    assert found.columns["labels"] == ["a", "b"]
    assert (found.columns["uncertain"], found.columns["missing_labels"]) == ("unknown", "unknown")
    assert found.uncertain["a"] == found.empty["a"] == COUNT // 4
    assert found.learned[0].counts["a"] == COUNT // 4
    (only,) = found.learned[1:]
    assert only.columns == {"kind": "binary", "labels": ["only"], "missing_labels": "no"}
    assert only.counts == {"only": COUNT // 3}


def test_three_numbers_of_one_column_are_classes_with_a_note(tmp_path) -> None:
    found = of(tmp_path, mood=[-1, 0, 1])
    assert found.columns["kind"] == "multiclass"
    assert "if -1 means uncertain" in found.notes[0]
    few = of(tmp_path, mood=lambda n: -1 if n % 20 == 0 else n % 2)
    assert (few.columns["kind"], few.columns["uncertain"]) == ("binary", "unknown")
    signs = of(tmp_path, mood=[-1, 1, 1])
    assert (signs.columns["kind"], signs.columns["uncertain"]) == ("binary", "no")
    words = of(tmp_path, mood=["positive", "neutral", "negative"])
    assert words.columns["kind"] == "multiclass"


@pytest.mark.parametrize(
    ("name", "value", "group"),
    [
        ("SUBJECT_ID", lambda n: 1000 + n // 3, True),
        ("patientId", lambda n: f"p{n // 2}", True),
        ("PMID", lambda n: n // 4, True),
        ("author", lambda n: f"Ann {n % 30}", True),
        ("key", lambda n: f"K{n // 2:03d}", True),
        ("PMID", lambda n: n, False),  # never repeats
        ("patient", ["a", "b", "c"], False),  # too few to be divided
        ("age", lambda n: 20 + n % 60, False),
        ("Note", lambda n: f"{n % 30},{n % 3}", False),
        ("note", lambda n: n % 60, False),
        ("day", lambda n: f"2020-0{1 + n % 9}-{10 + n % 7}", False),
        ("note", lambda n: f"a note of many words about {n // 2}", False),
    ],
)
def test_columns_that_repeat_are_groups(tmp_path, name, value, group) -> None:
    found = of(tmp_path, y=[0, 1, 1, 0, 1], **{name: value})
    assert found.columns.get("group") == (name if group else None)
    assert any("100% of the rows share" in note for note in found.notes) == group


def test_persons_are_larger_groups_than_their_notes(tmp_path) -> None:
    found = of(tmp_path, y=[0, 1, 1], note_id=lambda n: n // 2, subject=lambda n: n // 6)
    assert found.columns["group"] == "subject"


def test_a_label_of_one_group_is_rare(tmp_path) -> None:
    found = of(tmp_path, patient=lambda n: n // 6, y=[0, 1, 1], z=lambda n: int(n < 24))
    assert found.columns["labels"] == ["y"]
    assert found.rare == {"z": 24}


def test_pairs_are_found_by_their_names(tmp_path) -> None:
    tree = [f"(S (NP ({word})) (VP (is)))" for word in WORDS]
    of(
        tmp_path, sentence1=TEXTS, sentence1_parse=tree, sentence2=TEXTS[::-1], sentence2_parse=tree,
        gold_label=["yes", "no", "maybe"], pairID=lambda n: f"x{n}-y-z-w",
    )  # fmt: skip
    path = tmp_path / "t.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({k: v for k, v in row.items() if k != "text"}) + "\n" for row in rows))
    pair = guess(path)
    assert (pair.columns["text"], pair.columns["text_pair"]) == ("sentence1", "sentence2")
    assert pair.labels == ("gold_label",)


def test_what_holds_the_answer_is_no_text(tmp_path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [
        {
            "id": n,
            "uuid": f"{n:08x}-a-b-c-d-e-f-g",
            "long_answer": 9 * TEXTS[n],
            "question": TEXTS[n],
            "answer": n % 2,
        }
        for n in range(COUNT)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = guess(path)
    assert (found.text, found.labels, found.texts) == ("question", ("answer",), ())


def test_records_of_annotation_and_copies_are_not_learned(tmp_path) -> None:
    found = of(
        tmp_path, annotator=["ann", "bob"], answer=["accept", "reject", "accept"],
        created_at=["2020-01-02", "2020-01-03"],
        _hash=["a", "b"], lang=["en", "de"], topic=["x", "y", "z"], topic_name=["of x", "of y", "of z"],
        flag=[0, 1, 1, 0, 1], same=["no", "yes", "yes", "no", "yes"],
    )  # fmt: skip
    assert found.labels == ("flag", "topic")
    assert found.others == ("lang", "topic_name")
    assert "`same` says the same as `flag`" in found.notes[0]


def test_a_flaw_hides_no_other_column(tmp_path) -> None:
    flawed = {"a": lambda n: "2" if n == 5 else n % 2, "b": [0, 1, 1], "c": ["x", "y", "z"]}
    found = of(tmp_path, **flawed)
    assert found.labels == ("b", "c")
    assert "line 6 has '2'" in found.flawed[0]
    with pytest.raises(DataError, match=r"`a`: 119 of 120 cells .* line 6 .*--labels b,c`") as caught:
        of(tmp_path, ("a", "b", "c"), **flawed)
    assert "name what to learn" not in str(caught.value)


def test_blanks_are_unknown_classes_and_numbers(tmp_path) -> None:
    found = of(tmp_path, ("topic", "score"), topic=["x", "", "y"], score=["1.5", "2.5", "", "0.5"])
    assert [one.columns["missing_labels"] for one in found.learned] == ["unknown", "unknown"]
    assert found.empty == {"topic": COUNT // 3, "score": COUNT // 4}


def test_few_texts_are_cut() -> None:
    short = ["word " * 10] * 98
    assert max_length((*short, "word " * 90, "word " * 90)) == (96, 0)
    assert max_length((*short, *short, "word " * 90))[0] == 32
    length, cut = max_length(("word " * 900,) * 30 + ("word " * 300,) * 70)
    assert (length, cut) == (512, 0.3)


def test_other_scripts_have_more_pieces() -> None:
    assert estimate_pieces("word " * 10) == 16
    assert estimate_pieces("القلب طبيعي") > 10
    assert max_length(("القلب والرئتان في الحدود الطبيعية " * 10,) * 20)[0] > 128


def tagged(folder: Path, marks: list[list[str | int]], **columns: list[str]) -> TableGuess:
    """Return the guess for words with these tags, in lists; a row has the marks of one row of `marks`."""
    words = [[DRAWS.choice(WORDS) for _ in marks[n % len(marks)]] + [f"w{n}"] for n in range(COUNT)]
    rows = [
        {"tokens": row, "tags": [*marks[n % len(marks)], marks[0][0]], "names": [f"a{n}", f"b{n}"]}
        | {name: [value[ord(word[0]) % len(value)] for word in row] for name, value in columns.items()}
        for n, row in enumerate(words)
    ]
    path = folder / "t.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return guess(path, labels=["tags", *columns])


@pytest.mark.parametrize(
    ("marks", "classes"),
    [
        ([[0, 1, 2, 2, 0], [0, 3, 0, 1], [0, 1, 3, 4, 0, 0]], ("O", "B-1", "I-1", "B-3", "I-3")),
        ([[0, 2, 1, 0, 0], [0, 3, 4, 0], [0, 2, 3, 0, 0, 0]], ("O", "I-2", "B-2", "B-3", "I-3")),
        ([[0, 1, 3, 2, 0, 0], [0, 4, 0, 1, 2, 0, 0]], ("O", "B-1", "I-1", "I-1", "B-4")),
        ([[0, 1, 0, 2, 2], [0, 0, 2, 1], [0, 0, 1, 1]], ("O", "1", "2")),
        ([[3, 1, 2, 3], [3, 3, 1], [2, 3, 1, 1, 3]], ("0", "1", "2", "3")),
        ([["N", "V", "N"], ["N", "D", "V", "D"]], ()),
        ([["Drug", "none", "none"], ["none", "none", "Drug", "none"]], ()),
    ],
)
def test_tags_of_any_names_follow_the_lengths_of_words(tmp_path, marks, classes) -> None:
    (learned,) = tagged(tmp_path, marks).learned
    assert learned.columns["kind"] == "tagging"
    assert (learned.columns["words"], learned.classes) == ("tokens", classes)


def test_classes_of_words_are_no_words_of_other_tags(tmp_path) -> None:
    found = tagged(tmp_path, [["N", "V", "N"], ["N", "V", "N", "V"]], other=["a", "b", "c"])
    assert [one.columns["words"] for one in found.learned] == ["tokens", "tokens"]


@pytest.mark.parametrize(
    ("last", "reason"), [([0, 1], "2 tags for 6 words of `tokens` at line 7"), ([-100, 1, 0, 0, 1, 1], "cut")]
)
def test_a_flaw_of_tags_is_named(tmp_path, last, reason) -> None:
    tagged(tmp_path, [[0, 1, 0, 0, 1], [0, 1, 1, 0]])
    rows = (tmp_path / "t.jsonl").read_text().splitlines()
    rows[6] = json.dumps(json.loads(rows[6]) | {"tags": last})
    (tmp_path / "t.jsonl").write_text("\n".join(rows))
    with pytest.raises(DataError, match=reason):
        guess(tmp_path / "t.jsonl")


def test_lists_of_equal_length_are_no_tags(tmp_path) -> None:
    found = of(tmp_path, x=lambda n: [n % 2, 1, n % 2], words=lambda n: [f"w{n}", "of", "three"])
    assert {one.columns["kind"] for one in found.learned} == {"binary"}
