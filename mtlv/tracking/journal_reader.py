"""What of a journal is still to be delivered, and the note of how far that got."""

from __future__ import annotations

import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

from mtlv.disk import flush
from mtlv.errors import TrackingError, shorten
from mtlv.foreign import read_json
from mtlv.locks import hold, release
from mtlv.tracking.journal import (
    ABOUT,
    BROKEN,
    CALLS,
    FILES,
    FORMAT,
    LOCK,
    LONGEST,
    SENDING,
    SENT,
    Destination,
    JournalRecord,
    record_of,
    remove,
)

ASIDE = "set-aside"
POINTS = 1000  # of one request to MLflow
KEPT = 1_000_000  # bytes of a broken line that are kept
Tell = Callable[[str], None]


def journals(root: Path) -> list[Path]:
    """Folders of a store's journals, the oldest first."""
    if not root.is_dir():
        return []
    return sorted(
        path
        for path in root.iterdir()
        if path.is_dir() and not path.name.startswith(".") and path.name != ASIDE
    )


def dead_journals(root: Path, tell: Tell) -> list[JournalReader]:
    """Journals that no other process writes or delivers, oldest first; `tell` hears of unreadable ones."""
    found = []
    for folder in journals(root):
        try:
            found.append(JournalReader(folder, tell))
        except BlockingIOError:
            continue
        except TrackingError as error:
            tell(str(error))
    return found


class JournalReader:
    """A journal to deliver, by one process at a time.

    Args:
        folder: the journal's.
        tell: hears of records that cannot be read.
        live: whether a process still writes it; else nobody may.

    Raises:
        TrackingError: it is no journal that this release can read.
        BlockingIOError: another process writes or delivers it, or has delivered it.
    """

    def __init__(self, folder: Path, tell: Tell, *, live: bool = False) -> None:
        self.folder, self._tell, self._live = folder, tell, live
        self._locks: list[int] = []
        try:
            for name in (SENDING,) if live else (LOCK, SENDING):
                self._take_lock(folder / name)
            self._stop_if_delivered()
            self.to = _destination(folder)
            self.sent, self._offset, self.runs = self._read_sent()
        except BaseException:
            self._release()
            raise
        self._read, self._next = self._offset, self.sent + 1
        self._waiting: deque[tuple[JournalRecord, int]] = deque()
        self._remove_files(up_to=self.sent)

    def _take_lock(self, path: Path) -> None:
        try:
            lock = hold(path)
        except FileNotFoundError:
            raise BlockingIOError("delivered") from None
        if lock is None:
            raise BlockingIOError("another process")
        self._locks.append(lock)

    def _stop_if_delivered(self) -> None:
        if not (self.folder / CALLS).exists():  # delivered and removed by who held the lock
            shutil.rmtree(self.folder, ignore_errors=True)
            raise BlockingIOError("delivered")

    def _release(self) -> None:
        while self._locks:
            release(self._locks.pop())

    def take(self) -> list[JournalRecord]:
        """The next call of those read, or as many of `metrics` of one run as fit into a request; or none."""
        taken: list[JournalRecord] = []
        points = 0
        for record, _ in self._waiting:
            points += len(record.content.get("points", ())) if record.call == "metrics" else POINTS
            if taken and (points > POINTS or (record.call, record.run) != (taken[0].call, taken[0].run)):
                break
            taken.append(record)
        return taken

    def done(self, records: list[JournalRecord]) -> None:
        """Note that these, the first ones of `take`, were delivered; their files are removed."""
        for _ in records:
            record, self._offset = self._waiting.popleft()
            self.sent = record.number
        if not self._waiting:
            self._offset = self._read  # behind broken lines too
        self._write_sent()
        for record in records:
            if record.files:
                shutil.rmtree(self.folder / FILES / str(record.number), ignore_errors=True)

    def put_aside(self, record: JournalRecord, why: str) -> None:
        """Keep the first record of `take` and its files where nobody delivers them, and go on."""
        self._aside(json.dumps(record.content, ensure_ascii=False), f"{record.number} (`{record.call}`)", why)
        files = self.folder / FILES / str(record.number)
        if files.is_dir():
            shutil.move(files, self._aside_folder / FILES / str(record.number))
        self.done([record])

    def left(self) -> int:
        """How many calls were not delivered yet."""
        with suppress(FileNotFoundError), (self.folder / CALLS).open("rb") as file:
            file.seek(self._offset)
            return sum(1 for _ in file)
        return 0

    def close(self) -> None:
        """Give the locks back; a journal of which all was delivered, and which nobody writes, is removed."""
        if not self._live and not self.left():
            remove(self.folder)
        self._release()

    def read(self) -> None:
        """Read what is new in the file, for `take`; what is still written is made to outlive the machine."""
        known = len(self._waiting)
        with (self.folder / CALLS).open("rb") as file:
            file.seek(self._read)
            for line in iter(partial(file.readline, LONGEST), b""):
                if not line.endswith(b"\n") and self._live and len(line) < LONGEST:
                    break  # just being written
                self._read += len(line)
                self._keep(line)
        if not self._waiting and self._read > self._offset:  # broken lines alone: not to be told again
            self._offset = self._read
            self._write_sent()
        if self._live and len(self._waiting) > known:
            self._flush(islice(self._waiting, known, None))

    def _flush(self, fresh: Iterable[tuple[JournalRecord, int]]) -> None:
        """Here and not where it is written, because it takes milliseconds."""
        for record, _ in fresh:
            for name in record.files:
                with suppress(OSError):  # a damaged record's
                    flush(self.folder / FILES / str(record.number) / name)
        flush(self.folder / CALLS)

    def _keep(self, line: bytes) -> None:
        try:
            record = record_of(line)
        except ValueError as error:
            torn = "it was torn off" if not line.endswith(b"\n") else str(error)
            self._aside(line[:KEPT].decode(errors="backslashreplace").rstrip("\n"), str(self._next), torn)
            self._next += 1
            return
        if record.number > self._next:
            self._tell(f"records {self._next} to {record.number - 1} of `{self.folder}` are missing")
        self._next = record.number + 1
        self._waiting.append((record, self._read))

    @property
    def _aside_folder(self) -> Path:
        return self.folder.parent / ASIDE / self.folder.name

    def _aside(self, text: str, which: str, why: str) -> None:
        target = self._aside_folder / BROKEN
        (self._aside_folder / FILES).mkdir(parents=True, exist_ok=True)
        with target.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"record": which, "why": why, "text": text}, ensure_ascii=False) + "\n")
        self._tell(f"record {which} of `{self.folder}` was set aside into `{target}`: {shorten(why, 300)}")

    def _read_sent(self) -> tuple[int, int, dict[str, str]]:
        path = self.folder / SENT
        try:
            held = read_json(path)
            sent, offset, runs = held["sent"], held["offset"], held["runs"]
            size = (self.folder / CALLS).stat().st_size
            if not (isinstance(sent, int) and isinstance(offset, int) and 0 <= offset <= size):
                raise ValueError(f"offset {offset} of {size}")
            return sent, offset, {str(uid): str(run) for uid, run in runs.items()}
        except FileNotFoundError:
            return 0, 0, {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self._tell(f"`{path}` is broken ({shorten(error)}): all of this journal is delivered again")
            return 0, 0, {}

    def _write_sent(self) -> None:
        new = self.folder / f"{SENT}.new"
        held = {"sent": self.sent, "offset": self._offset, "runs": self.runs}
        new.write_text(json.dumps(held, ensure_ascii=False), encoding="utf-8")
        flush(new)
        os.replace(new, self.folder / SENT)

    def _remove_files(self, up_to: int) -> None:
        """What an end between the note and the removal left behind."""
        with suppress(FileNotFoundError):
            for path in (self.folder / FILES).iterdir():
                if path.name.isdecimal() and int(path.name) <= up_to:
                    shutil.rmtree(path, ignore_errors=True)


def _destination(folder: Path) -> Destination:
    try:
        about = read_json(folder / ABOUT)
        if about["format"] != FORMAT:
            raise ValueError(f"format {about['format']}, this release reads {FORMAT}")
        return Destination(str(about["uri"]), str(about["experiment"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrackingError(
            f"the tracking journal `{folder}` cannot be read: {shorten(error)}",
            then="deliver it with the release that wrote it, or delete the folder to give it up",
        ) from error
