"""What is written down comes back whole, or is named and set aside; nothing in it is a secret."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import pytest

from mtlv.errors import TrackingError
from mtlv.locks import release
from mtlv.sealed import seal
from mtlv.tracking import DataPart, Metric, RunSpec, TableFile, TrackedModel
from mtlv.tracking.journal import ABOUT, CALLS, FILES, SENT, Journal, JournalRecord, line_of, record_of
from mtlv.tracking.journal_reader import ASIDE, JournalReader, dead_journals, journals
from mtlv.tracking.journal_tracker import JournalTracker
from mtlv.tracking.replay import UnplayableError, call_of


@pytest.fixture
def journal(tmp_path):
    made = Journal(tmp_path / "journal", "sqlite:///mlflow.db", "e")
    yield made
    made.close()


@pytest.fixture
def told():
    return []


def taken(reader):
    """All records, group by group, each noted as delivered."""
    groups = []
    reader.read()
    while records := reader.take():
        groups.append([record.number for record in records])
        reader.mark_uploaded(records)
    return groups


def test_any_change_of_a_line_is_seen():
    record = JournalRecord(3, "text", "a b", ["肺炎\n\t", "a.md"], {"f": "00"})
    line = line_of(record)
    assert record_of(line) == record
    assert line.count(b"\n") == 1
    for at in range(len(line) - 1):
        with pytest.raises(ValueError, match=r"."):
            record_of(line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :])
    with pytest.raises(ValueError, match="checksum"):
        record_of(line[: len(line) // 2])


def test_a_torn_last_line_is_named_set_aside_and_not_told_twice(journal, told):
    for number in range(3):
        journal.append("describe", "u", [str(number)])
    journal.close()
    file = journal.folder / CALLS
    file.write_bytes(file.read_bytes()[:-5])
    reader = JournalReader(journal.folder, told.append)
    assert taken(reader) == [[1], [2]]
    assert reader.count_left() == 0
    assert len(told) == 1
    assert f"record 3 of `{journal.folder}` was moved to" in told[0]
    assert "it is incomplete" in told[0]
    (kept,) = (journal.folder.parent / ASIDE / journal.folder.name / "broken.jsonl").read_text().splitlines()
    assert "describe" in json.loads(kept)["text"]
    reader.close()
    assert journals(journal.folder.parent) == []


def test_a_broken_line_in_the_middle_does_not_take_others_with_it(journal, told):
    for number in range(3):
        journal.append("describe", "u", [f"text {number}"])
    journal.close()
    file = journal.folder / CALLS
    file.write_bytes(file.read_bytes().replace(b"text 1", b"text X"))
    assert taken(JournalReader(journal.folder, told.append)) == [[1], [3]]
    assert "record 2 " in told[0]
    assert "checksum" in told[0]


def test_lines_that_are_missing_are_named(journal, told):
    for _ in range(4):
        journal.append("describe", "u", [""])
    journal.close()
    file = journal.folder / CALLS
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[3])
    assert taken(JournalReader(journal.folder, told.append)) == [[1], [4]]
    assert "has 2 records, but had at least 4" in told[0]
    assert told[1:] == [f"records 2 to 3 of `{journal.folder}` are missing"]


def test_a_line_that_is_just_being_written_is_waited_for(journal, told):
    reader = JournalReader(journal.folder, told.append, live=True)
    line = line_of(JournalRecord(1, "describe", "u", ["x"], {}))
    with (journal.folder / CALLS).open("ab") as file:
        file.write(line[:30])
        file.flush()
        reader.read()
        assert reader.take() == []
        file.write(line[30:])
    reader.read()
    assert [record.number for record in reader.take()] == [1]
    assert told == []


def test_where_delivery_got_to_outlives_the_process(journal, told):
    for number in range(3):
        journal.append("describe", "u", [str(number)])
    reader = JournalReader(journal.folder, told.append, live=True)
    reader.runs["u"] = "id"
    reader.read()
    reader.mark_uploaded(reader.take())
    reader.close()
    journal.close()
    later = JournalReader(journal.folder, told.append)
    assert later.runs == {"u": "id"}
    assert later.count_left() == 2
    assert taken(later) == [[2], [3]]


def test_a_broken_note_of_how_far_means_all_again(journal, told):
    journal.append("describe", "u", [""])
    journal.close()
    for broken in ("", "{", '{"sent": 1, "offset": 10000000, "runs": {}}', "[]", '{"sent": 1}'):
        (journal.folder / SENT).write_text(broken)
        reader = JournalReader(journal.folder, told.append)
        assert reader.count_left() == 1
        assert "this whole journal is uploaded again" in told.pop()
        (journal.folder / CALLS).touch()
        reader._release()


def test_metrics_of_one_run_go_together_up_to_a_thousand_and_never_out_of_order(journal, told):
    tracker = JournalTracker(journal)
    tracker.open_run(RunSpec("u", "n"))
    tracker.open_run(RunSpec("v", "n"))
    for step in range(5):
        tracker.metrics("u", [Metric(f"k{n}", 1.0, step) for n in range(300)])
    tracker.metrics("v", [Metric("k", 1.0)])
    tracker.text("v", "t", "a.txt")
    tracker.metrics("v", [Metric("k", 1.0, 1)])
    groups = taken(JournalReader(journal.folder, told.append, live=True))
    assert groups == [[1], [2], [3, 4, 5], [6, 7], [8], [9], [10]]


def test_two_processes_never_deliver_one_journal(journal, tmp_path, told):
    root = tmp_path / "journal"
    journal.append("describe", "u", [""])
    assert dead_journals(root, told.append) == []
    script = (
        "import sys; from pathlib import Path; from mtlv.tracking.journal_reader import dead_journals;"
        "print(len(dead_journals(Path(sys.argv[1]), print)))"
    )
    ask = [sys.executable, "-c", script, str(root)]
    assert subprocess.run(ask, capture_output=True, text=True).stdout == "0\n"
    journal.close()
    assert subprocess.run(ask, capture_output=True, text=True).stdout == "1\n"
    assert len(dead_journals(root, told.append)) == 1, "a process that ended holds nothing"


def test_a_disk_that_fills_leaves_the_journal_whole(journal, monkeypatch, told):
    tracker = JournalTracker(journal)
    tracker.open_run(RunSpec("u", "n"))
    real = os.write

    def full(file, data):
        if file == journal._file:
            real(file, bytes(data)[:10])
            raise OSError(28, "No space left on device")
        return real(file, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(
        TrackingError, match=r"journal .* cannot be written: No space left on device; free disk space"
    ):
        tracker.text("u", "text", "a.txt")
    monkeypatch.undo()
    tracker.text("u", "text", "b.txt")
    reader = JournalReader(journal.folder, told.append, live=True)
    assert taken(reader) == [[1], [2]]
    assert told == []


def test_a_file_that_changes_later_is_delivered_as_it_was(journal, tmp_path):
    tracker = JournalTracker(journal)
    tracker.open_run(RunSpec("u", "n"))
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "folder" / "deep" / "f.txt").write_text("first")
    (tmp_path / "p.png").write_bytes(b"first")
    tracker.artifact("u", tmp_path / "folder" / "deep" / "f.txt", "scores")
    tracker.artifact("u", tmp_path / "folder")
    tracker.image("u", tmp_path / "p.png", "pictures/p")
    for path in (tmp_path / "folder" / "deep" / "f.txt", tmp_path / "p.png"):
        path.write_text("later")
    held = [path.read_text() for path in (journal.folder / FILES).rglob("*") if path.is_file()]
    assert held == ["first"] * 3


def test_weights_are_linked_and_all_else_is_copied(journal, tmp_path):
    tracker = JournalTracker(journal)
    tracker.open_run(RunSpec("u", "n"))
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"weights")
    (tmp_path / "link.safetensors").symlink_to(weights)
    tracker.model("u", TrackedModel({"a": weights, "b": tmp_path / "link.safetensors"}, {}, "c", "d", {}))
    tracker.artifact("u", weights)
    assert weights.stat().st_nlink == 3
    weights.unlink()
    kept = journal.folder / FILES / "2"
    assert {(kept / name).read_bytes() for name in "ab"} == {b"weights"}
    assert not (kept / "b").is_symlink()


POISON = {
    "a bad key": lambda t, p: t.metrics("u", [Metric("good", 1.0), Metric("a,b", 1.0)]),
    "a value that is text": lambda t, p: t.metrics("u", [Metric("a", "1")]),
    "a step that is none": lambda t, p: t.metrics("u", [Metric("a", 1.0, 1.5)]),
    "a tag's key": lambda t, p: t.tags("u", {"a;b": "c"}),
    "a param's key": lambda t, p: t.open_run(RunSpec("v", "n", params={"a=b": 1})),
    "a uid": lambda t, p: t.open_run(RunSpec("v'", "n")),
    "an unknown parent": lambda t, p: t.open_run(RunSpec("v", "n", parent="w")),
    "an unknown run": lambda t, p: t.metrics("w", [Metric("a", 1.0)]),
    "a text's name": lambda t, p: t.text("u", "t", "../a"),
    "text that is no Unicode": lambda t, p: t.text("u", "\ud800", "a.txt"),
    "a file's name": lambda t, p: t.artifact("u", p / "a?.txt"),
    "a file that is not there": lambda t, p: t.artifact("u", p / "no.txt"),
    "a name in a folder": lambda t, p: t.artifact("u", p / "folder"),
    "a picture that is none": lambda t, p: t.image("u", p / "a?.txt", "k"),
    "a picture that is not there": lambda t, p: t.image("u", p / "no.png", "k"),
    "a table's name": lambda t, p: t.table("u", TableFile("a#.json", ("a",), [[1]])),
    "a table's content": lambda t, p: t.table("u", TableFile("a.json", ("a",), [[object()]])),
    "a model's file": lambda t, p: t.model("u", TrackedModel({"m": p / "no"}, {}, "c", "d", {})),
    "a model's name": lambda t, p: t.model("u", TrackedModel({}, {"/m": ""}, "c", "d", {})),
    "a model's metric": lambda t, p: t.model(
        "u", TrackedModel({}, {}, "c", "d", {}, metrics=[Metric("", 1)])
    ),
    "a model's other run": lambda t, p: t.model("u", TrackedModel({}, {}, "c", "d", {}, metrics_run="w")),
}


@pytest.mark.parametrize("poison", POISON.values(), ids=POISON)
def test_what_the_store_would_refuse_is_refused_at_once_and_not_written(poison, journal, tmp_path):
    (tmp_path / "a?.txt").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "b%.txt").write_text("")
    tracker = JournalTracker(journal)
    tracker.open_run(RunSpec("u", "n"))
    before = (journal.folder / CALLS).read_bytes()
    with pytest.raises(TrackingError):
        poison(tracker, tmp_path)
    assert (journal.folder / CALLS).read_bytes() == before
    assert list((journal.folder / FILES).iterdir()) == []


SECRET = "hunter2-s3cret"
SECRETS = (
    f"http://ada:{SECRET}@h:5000",
    f"postgresql+psycopg2://ada:{SECRET}@h/db",
    f"postgresql://h/db?user=ada&password={SECRET}",
    f"https://h/?token={SECRET}",
)


@pytest.mark.parametrize("uri", SECRETS)
def test_no_secret_is_written_down(uri, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", SECRET)
    journal = Journal(tmp_path / "journal", uri, "e")
    tracker = JournalTracker(journal)
    tracker.open_run(RunSpec("u", "n"))
    tracker.data("u", [DataPart("a", "b", "training", "c", 1, ("t",))])
    tracker.close("u")
    written = [path for path in journal.folder.rglob("*") if path.is_file()]
    assert len(written) == 3
    assert not any(SECRET.encode() in path.read_bytes() for path in written)
    assert "***" in json.loads((journal.folder / ABOUT).read_text())["uri"]
    journal.close()


def test_a_file_address_is_kept_absolute(journal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Journal(tmp_path / "j", "sqlite:///a/mlflow.db?timeout=3", "e")
    assert made.uri == f"sqlite:///{tmp_path}/a/mlflow.db?timeout=3"
    made.close()


def test_a_journal_of_another_release_is_left_alone(journal, told):
    journal.append("describe", "u", [""])
    journal.close()
    others = [seal({"format": 4}), seal({"format": 3}).replace("3", "7", 1)]
    for about in ('{"format": 1, "uri": "u", "experiment": "e"}', "{", "[]", '{"format": 3}', *others):
        (journal.folder / ABOUT).write_text(about)
        assert dead_journals(journal.folder.parent, told.append) == []
        assert "cannot be read" in told.pop()
    assert (journal.folder / CALLS).stat().st_size > 0


def test_nan_and_infinity_are_written_as_nan(journal, told):
    tracker = JournalTracker(journal)
    tracker.open_run(RunSpec("u", "n"))
    tracker.metrics("u", [Metric("a", math.nan), Metric("b", math.inf), Metric("c", 0.1 + 0.2)])
    reader = JournalReader(journal.folder, told.append, live=True)
    reader.read()
    reader.mark_uploaded(reader.take())
    (record,) = reader.take()
    expected = [["a", math.nan, 0, 0], ["b", math.nan, 0, 0], ["c", 0.1 + 0.2, 0, 0]]
    assert repr(record.content) == repr([expected])


def test_a_journal_that_is_not_there_or_empty_is_nothing_to_deliver(journal, tmp_path, told):
    assert journals(tmp_path / "none") == []
    assert dead_journals(tmp_path / "none", told.append) == []
    root = journal.folder.parent
    journal.close()
    (empty,) = dead_journals(root, told.append)
    assert (empty.count_left(), taken(empty)) == (0, [])
    empty.close()
    assert told == []
    assert list(root.iterdir()) == []


def test_a_journal_without_its_calls_is_named(journal, told):
    journal.append("describe", "u", [""])
    journal.close()
    (journal.folder / CALLS).unlink()
    unreadable = []
    assert dead_journals(journal.folder.parent, told.append, unreadable) == []
    assert CALLS in told.pop()
    assert unreadable == [journal.folder]


@pytest.mark.parametrize("lines", [0, 1, 2])
@pytest.mark.parametrize("sent", [0, 1, 3])
def test_a_journal_that_was_cut_says_so(journal, told, lines, sent):
    for number in range(3):
        journal.append("describe", "u", [str(number)])
    reader = JournalReader(journal.folder, told.append, live=True)
    reader.read()
    for _ in range(sent):
        reader.mark_uploaded(reader.take())
    reader.close()
    journal.close()
    content = (journal.folder / CALLS).read_bytes().splitlines(keepends=True)
    (journal.folder / CALLS).write_bytes(b"".join(content[:lines]))
    (later,) = dead_journals(journal.folder.parent, told.append)
    assert f"has {lines} records, but had at least 3" in told[-1]
    assert taken(later) == [[number] for number in range(sent + 1, lines + 1)]
    assert later.count_left() == 0


def test_an_emptied_journal_of_a_process_that_was_killed_says_so(journal, told):
    journal.append("describe", "u", [""])
    os.close(journal._file)
    release(journal._lock)
    journal._file = -1
    (journal.folder / CALLS).write_bytes(b"")
    (reader,) = dead_journals(journal.folder.parent, told.append)
    assert "has 0 records" in told.pop()
    assert reader.count_left() == 0


def test_a_file_that_was_changed_is_not_uploaded(journal, tmp_path, told):
    (tmp_path / "x").write_bytes(bytes(range(256)) * 3)
    number = journal.append("artifact", "u", ["a", ""], {"a": tmp_path / "x"})
    path = journal.folder / FILES / str(number) / "a"
    reader = JournalReader(journal.folder, told.append, live=True)
    reader.read()
    records = reader.take()
    assert call_of(records, {"u": "id"}, journal.folder)
    content = bytearray(path.read_bytes())
    content[500] ^= 4
    path.write_bytes(content)
    with pytest.raises(UnplayableError, match="changed"):
        call_of(records, {"u": "id"}, journal.folder)


def test_a_journal_without_its_calls_says_that_they_are_lost(journal, told):
    journal.append("describe", "u", [""])
    journal.close()
    (journal.folder / CALLS).unlink()
    assert dead_journals(journal.folder.parent, told.append) == []
    assert "has lost its file `calls.jsonl`, and its records are missing in MLflow" in told[-1]
    assert "`mtlv run` with the same config writes them again" in told.pop()
    assert journal.folder.is_dir()


def test_a_journal_without_its_destination_is_named_and_kept(journal, told):
    journal.append("describe", "u", [""])
    journal.close()
    for harm in (lambda path: path.write_text(""), lambda path: path.unlink()):
        harm(journal.folder / ABOUT)
        assert dead_journals(journal.folder.parent, told.append) == []
        assert "cannot be read" in told[-1]
        assert "delete the folder to discard it" in told.pop()
    assert (journal.folder / CALLS).stat().st_size > 0


def test_a_huge_call_is_delivered_whole(journal, told):
    text = "é" * 10_000_000
    journal.append("text", "u", [text])
    reader = JournalReader(journal.folder, told.append, live=True)
    reader.read()
    (record,) = reader.take()
    assert record.content == [text]
    assert told == []


@pytest.mark.parametrize("live", [True, False])
def test_a_huge_line_that_is_none_is_set_aside_in_part(journal, told, live, monkeypatch):
    monkeypatch.setattr("mtlv.tracking.journal_reader.MAX_LINE_BYTES", 3_000_000)
    journal.append("describe", "u", ["before"])
    with (journal.folder / CALLS).open("ab") as file:  # as a disk leaves it when the power goes
        file.write(b"\0" * 5_000_000 + b"\n")
    journal.append("describe", "u", ["behind"])
    if not live:
        journal.close()
    reader = JournalReader(journal.folder, told.append, live=live)
    assert taken(reader) == [[1], [2]]
    assert len(told) == 2
    assert all(len(line) < 600 and "was moved to" in line for line in told)
    aside = journal.folder.parent / ASIDE / journal.folder.name / "broken.jsonl"
    assert aside.stat().st_size < 13_000_000, "escaped"


def test_a_call_above_the_limit_is_refused_at_once_and_not_written(journal, monkeypatch):
    monkeypatch.setattr("mtlv.tracking.journal.MAX_LINE_BYTES", 1000)
    with pytest.raises(
        TrackingError, match=r"`text` cannot be written to the journal: [\d,]+ bytes, more than 1,000"
    ):
        journal.append("text", "u", ["x" * 1000])
    assert (journal.folder / CALLS).stat().st_size == 0
    journal.append("text", "u", ["x" * 800])
