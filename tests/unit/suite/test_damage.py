"""Each kind of file in a store is damaged: nothing is read wrongly, and damage is reported."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from listening import Watcher
from memory_tracker import MemoryTracker
from what_came import files, points

from mtlv.settings import Suite
from mtlv.suite.run import run_suite
from mtlv.suite.status import status_lines
from mtlv.tracking.journal import FOLDER as JOURNAL
from mtlv.tracking.journal_reader import dead_journals
from mtlv.tracking.replay import UnplayableError, call_of

DAMAGE = re.compile("damaged|lost|incomplete|changed|cannot be read|are missing")
HARMLESS = {"locks"}  # folders of files whose content only names a process in messages
ABSENT = {
    "attempts",
    "checkpoints",
    "encoders",
    "ledger",
    "references",
    "splits",
    "status",
    "tokens",
}
"""Folders of files that are made again without a word if they are missing."""


def flip(path: Path) -> None:
    """Change a bit in the middle, so that text is no longer UTF-8."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x80
    path.write_bytes(content)


def alter(path: Path) -> None:
    """Change a bit of the last letter or digit, so that text stays readable."""
    content = path.read_bytes()
    place = [match.start() for match in re.finditer(rb"[0-9A-Za-z]", content)][-1]
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def delete(path: Path) -> None:
    path.unlink()


DAMAGES: tuple[Callable[[Path], None], ...] = (flip, alter, cut, empty, delete)


def kind_of(path: Path, store: Path) -> str:
    """Return the folder and the name of a file, without keys and numbers."""
    name = re.sub(r"[0-9a-f]{8,}", "KEY", path.name)
    return f"{path.relative_to(store).parts[0]} {re.sub(r'[0-9]+', 'N', name)}"


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def kinds(store: Path) -> dict[str, Path]:
    """Return a file of each kind in a store, by kind."""
    return {kind_of(path, store): path for path in sorted(store.rglob("*")) if _has_content(path)}


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory, writers: tuple) -> Callable[..., Suite]:
    """Return the suite with another store; in the first, `store`, it was interrupted, and not uploaded."""
    folder = tmp_path_factory.mktemp("ran")
    write_table, write_suite = writers
    path = write_table(folder, "t")
    run_suite(write_suite(folder, path, store="other"), Watcher(), MemoryTracker())
    (folder / "store").mkdir()
    for name in ("encoders", "references"):  # written when a member ends
        (folder / "other" / name).rename(folder / "store" / name)
    changes = ("architecture=stl", "tracking.uri=http://127.0.0.1:9", "tracking.flush_seconds=0")
    suite = partial(write_suite, folder, path, *changes, "store.checkpoint_steps=2")
    epochs = count()

    def stop() -> None:
        if next(epochs) == 4:  # in the last of three units
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_suite(suite(), Watcher(stop), if_exists="rerun")
    return suite


def outcome(suite: Suite, store: Path) -> tuple[object, list[str]]:
    """Return results and points of a suite that goes on with a store, and what is reported of the store."""
    watcher, tracker = Watcher(), MemoryTracker()
    reports, _ = status_lines(store, None)
    run_suite(suite, watcher, tracker)
    came = sorted(map(repr, points(tracker).values()))
    read_journals(store, reports.append)
    return (files(store), came), [*watcher.warned, *watcher.notes, *reports]


def read_journals(store: Path, tell: Callable[[str], None]) -> None:
    """Make the calls of journals as an upload does."""
    for reader in dead_journals(store / JOURNAL, tell):
        reader.read()
        while records := reader.take():
            try:
                call_of(records, {records[0].run: "id"}, reader.folder)
            except UnplayableError as error:
                tell(str(error))
            reader.mark_uploaded(records)
        reader.close()


@pytest.mark.slow
def test_damage_of_any_file_changes_no_result_and_is_reported(again: Callable[..., Suite]) -> None:
    first = Path(again().members[0].settings.store.uri)
    store = again(store="whole").members[0].settings.store.uri
    shutil.copytree(first, store)
    expected, reports = outcome(again(store="whole"), Path(store))
    assert not list(filter(DAMAGE.search, reports))
    seen = kinds(first)
    folders = "attempts checkpoints encoders journal ledger locks references splits status tokens units"
    assert {kind.split()[0] for kind in seen} >= set(folders.split())
    failures = []
    for number, (kind, path) in enumerate(seen.items()):
        for damage in DAMAGES:
            name = f"damaged-{number}-{damage.__name__}"
            suite = again(store=name)
            store = Path(suite.members[0].settings.store.uri)
            shutil.copytree(first, store)
            damage(store / path.relative_to(first))
            try:
                result, reports = outcome(suite, store)
            except Exception as error:
                failures.append(f"{kind} {damage.__name__}: {type(error).__name__}: {error}")
                continue
            if result != expected:
                failures.append(f"{kind} {damage.__name__}: other results")
            harmless = kind.split()[0] in HARMLESS or (damage is delete and kind.split()[0] in ABSENT)
            if not harmless and not any(map(DAMAGE.search, reports)):
                failures.append(f"{kind} {damage.__name__}: not reported")
    assert not failures, "\n".join(failures)
