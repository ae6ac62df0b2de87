"""A journal that was deleted is named with its runs until they are written again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mtlv.errors import TrackingError
from mtlv.tracking import RunSpec
from mtlv.tracking.journal import Journal
from mtlv.tracking.journal_reader import JournalReader, dead_journals
from mtlv.tracking.journal_tracker import JournalTracker
from mtlv.tracking.sync import sync_store, waiting
from mtlv.tracking.traces import FOLDER, report_deleted


def written(root: Path, *names: str) -> Journal:
    """A journal with runs of these names, which are their uids, too."""
    journal = Journal(root, "http://127.0.0.1:9", "demo")
    tracker = JournalTracker(journal)
    for name in names:
        tracker.open_run(RunSpec(name, name))
    return journal


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def told(root: Path) -> list[str]:
    texts: list[str] = []
    assert report_deleted(root, texts.append) == len(texts)
    return texts


@pytest.mark.parametrize("all_of_them", [False, True])
def test_a_deleted_journal_is_named_with_its_runs(root: Path, all_of_them: bool) -> None:
    journal = written(root, "a", "b", "c", "d", "e")
    journal.close()
    assert told(root) == []
    shutil.rmtree(root if all_of_them else journal.folder)
    (text,) = told(root)
    assert f"`{journal.folder}` was deleted" in text
    assert "5 runs of the experiment `demo` is missing in MLflow (`a`, `b`, `c` and 2 more)" in text
    texts: list[str] = []
    assert waiting(root.parent, texts.append) == 0
    assert texts == [text]
    with pytest.raises(TrackingError, match="1 journal cannot be uploaded, see above"):
        sync_store(root.parent, None, texts.append, patience=0.1)
    assert texts == [text, text]
    (trace,) = (root.parent / FOLDER).iterdir()
    assert f"delete `{trace}`" in text
    trace.unlink()
    assert told(root) == []


def test_a_journal_of_a_killed_process_leaves_a_trace(root: Path) -> None:
    shutil.rmtree(written(root, "a").folder)
    assert len(told(root)) == 1


def test_what_was_uploaded_leaves_no_trace(root: Path) -> None:
    written(root, "a").close(delivered=True)
    left = written(root, "b")
    left.close()
    reader = JournalReader(left.folder, print)
    reader.read()
    while records := reader.take():
        reader.mark_uploaded(records)
    reader.left_open = {}
    reader.close()
    assert not left.folder.exists()
    assert list((root.parent / FOLDER).iterdir()) == []


def test_runs_that_were_uploaded_later_are_missing_no_more(root: Path) -> None:
    for names in (("a", "b"), ("b",)):
        journal = written(root, *names)
        journal.close()
        shutil.rmtree(journal.folder)
    assert len(told(root)) == 2
    written(root, "b").close()
    assert len(told(root)) == 2, "not uploaded"
    written(root, "b", "c").close(delivered=True)
    (text,) = told(root)
    assert "1 run of the experiment `demo` is missing in MLflow (`a`)" in text
    written(root, "a").close(delivered=True)
    assert told(root) == []


def test_damage_of_a_trace_is_reported_and_stops_nothing(root: Path) -> None:
    journal = written(root, "a")
    journal.close()
    (trace,) = (root.parent / FOLDER).iterdir()
    trace.write_bytes(trace.read_bytes()[:-20])
    texts: list[str] = []
    assert report_deleted(root, texts.append) == 0
    (text,) = texts
    assert "is damaged" in text
    assert len(dead_journals(root, texts.append)) == 1
    assert report_deleted(root, texts.append) == 0
    assert texts == [text]
