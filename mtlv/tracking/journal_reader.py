"""Reads the calls of a journal that have not been uploaded yet, and stores the upload position."""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

from mtlv.disk import flush, remove
from mtlv.errors import TrackingError, shorten
from mtlv.locks import hold, release
from mtlv.sealed import read_sealed, unseal, write_sealed
from mtlv.tracking.journal import (
    ABOUT,
    BROKEN,
    CALLS,
    FILES,
    FORMAT,
    LOCK,
    MAX_LINE_BYTES,
    SENDING,
    SENT,
    TAB,
    JournalRecord,
    record_of,
)

Tell = Callable[[str], None]
ASIDE = "set-aside"
MAX_POINTS = 1000  # maximum points of one request to MLflow
OPENS_OR_CLOSES = ([b"open_run"], [b"close"])
MAX_INVALID_BYTES = 1_000_000  # bytes of an invalid line that are kept


def journals(root: Path) -> list[Path]:
    """Return the folders of a store's journals, oldest first."""
    if not root.is_dir():
        return []
    return sorted(
        path
        for path in root.iterdir()
        if path.is_dir() and not path.name.startswith(".") and path.name != ASIDE
    )


def dead_journals(root: Path, tell: Tell, unreadable: list[Path] | None = None) -> list[JournalReader]:
    """Return journals unused by other processes, oldest first.

    `tell` gets messages on unreadable ones, which are appended to `unreadable`.
    """
    readers = []
    for folder in journals(root):
        try:
            readers.append(JournalReader(folder, tell))
        except BlockingIOError:
            continue
        except TrackingError as error:
            tell(str(error))
            if unreadable is not None:
                unreadable.append(folder)
    return readers


class JournalReader:
    """A journal to upload, used by one process at a time; `live` if a process may still write to it.

    Raises:
        TrackingError: this release cannot read the journal.
        BlockingIOError: another process writes or uploads it, or has uploaded it.
    """

    def __init__(self, folder: Path, tell: Tell, *, live: bool = False) -> None:
        self.folder, self._tell, self._live = folder, tell, live
        self._locks: list[int] = []
        try:
            for name in (SENDING,) if live else (LOCK, SENDING):
                self._take_lock(folder / name)
            if not folder.exists():  # uploaded and removed by the holder of the lock
                raise BlockingIOError("delivered")
            self.uri, self.experiment, self.host, records = _about(folder)
            self.sent, self._offset, self.runs = self._read_sent()
        except BaseException:
            self._release()
            raise
        if not live:
            lines, least = self._count_lines(0), max(records, self.sent)
            if lines < least:
                self._tell(
                    f"`{self.folder / CALLS}` has {lines} records, but had at least {least}: the others are "
                    "lost, and missing in MLflow"
                )
        self._read, self._next = self._offset, self.sent + 1
        self._waiting: deque[tuple[JournalRecord, int]] = deque()

    def _take_lock(self, path: Path) -> None:
        try:
            lock = hold(path)
        except FileNotFoundError:
            raise BlockingIOError("delivered") from None
        if lock is None:
            raise BlockingIOError("another process")
        self._locks.append(lock)

    def _release(self) -> None:
        while self._locks:
            release(self._locks.pop())

    def take(self) -> list[JournalRecord]:
        """Return the next call, or as many `metrics` calls of one run as fit into a request; may be empty."""
        taken: list[JournalRecord] = []
        points = 0
        for record, _ in self._waiting:
            points += len(record.content[0]) if record.call == "metrics" else MAX_POINTS
            if taken and (points > MAX_POINTS or (record.call, record.run) != (taken[0].call, taken[0].run)):
                break
            taken.append(record)
        return taken

    def mark_uploaded(self, records: list[JournalRecord]) -> None:
        """Record that these calls, the first ones of `take`, were uploaded, and remove their files."""
        for _ in records:
            record, self._offset = self._waiting.popleft()
            self.sent = record.number
        if not self._waiting:
            self._offset = self._read  # also after invalid lines
        self._write_sent()
        for record in records:
            if record.files:
                shutil.rmtree(self.folder / FILES / str(record.number), ignore_errors=True)

    def put_aside(self, record: JournalRecord, why: str) -> None:
        """Move the first record of `take` and its files aside without uploading it, and continue."""
        self._aside(json.dumps(record.content, ensure_ascii=False), f"{record.number} (`{record.call}`)", why)
        files = self.folder / FILES / str(record.number)
        if files.is_dir():
            shutil.move(files, self._aside_folder / FILES / str(record.number))
        self.mark_uploaded([record])

    def count_left(self) -> int:
        """Return the number of calls that have not been uploaded yet."""
        return self._count_lines(self._offset)

    def _count_lines(self, offset: int) -> int:
        with suppress(FileNotFoundError), (self.folder / CALLS).open("rb") as file:
            file.seek(offset)
            return sum(1 for _ in file)
        return 0

    def close(self) -> None:
        """Release the locks; remove a journal that was fully uploaded and is no longer written.

        A journal with runs in `left_open` is kept.
        """
        if not self._live and not self.count_left() and not self.left_open:
            remove(self.folder)
        self._release()

    @cached_property
    def left_open(self) -> dict[str, str]:
        """Names, by uid, of the runs that an ended process did not close."""
        return {} if self._live else open_runs(self.folder)

    @property
    def written_at(self) -> float:
        """Time of the last call, in seconds since 1970."""
        return (self.folder / CALLS).stat().st_mtime

    def read(self) -> None:
        """Read new records from the file, for `take`, and flush them to disk."""
        known = len(self._waiting)
        with (self.folder / CALLS).open("rb") as file:
            file.seek(self._read)
            for line in iter(partial(file.readline, MAX_LINE_BYTES), b""):
                if not line.endswith(b"\n") and self._live and len(line) < MAX_LINE_BYTES:
                    break  # is being written
                self._read += len(line)
                self._keep(line)
        if not self._waiting and self._read > self._offset:  # only invalid lines: do not report them again
            self._offset = self._read
            self._write_sent()
        if self._live and len(self._waiting) > known:
            self._flush(islice(self._waiting, known, None))

    def _flush(self, fresh: Iterable[tuple[JournalRecord, int]]) -> None:
        """Flush new records to disk; done here and not by the writer, because it takes milliseconds."""
        for record, _ in fresh:
            for name in record.files:
                with suppress(OSError):  # file of a damaged record
                    flush(self.folder / FILES / str(record.number) / name)
        flush(self.folder / CALLS)

    def _keep(self, line: bytes) -> None:
        try:
            record = record_of(line)
        except ValueError as error:
            torn = "it is incomplete" if not line.endswith(b"\n") else str(error)
            self._aside(
                line[:MAX_INVALID_BYTES].decode(errors="backslashreplace").rstrip("\n"), str(self._next), torn
            )
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
        self._tell(f"record {which} of `{self.folder}` was moved to `{target}`: {shorten(why, 300)}")

    def _read_sent(self) -> tuple[int, int, dict[str, str]]:
        position = read_sealed(self.folder / SENT, self._tell, "this whole journal is uploaded again")
        if position is None:
            return 0, 0, {}
        size = (self.folder / CALLS).stat().st_size
        return position["sent"], min(position["offset"], size), position["runs"]

    def _write_sent(self) -> None:
        position = {"sent": self.sent, "offset": self._offset, "runs": self.runs}
        write_sealed(self.folder / SENT, position, flushed=True)


def open_runs(folder: Path) -> dict[str, str]:
    """Return the names, by uid, of the runs of a journal that it opens and does not close."""
    runs: dict[str, str] = {}
    with suppress(FileNotFoundError), (folder / CALLS).open("rb") as file:
        for line in iter(partial(file.readline, MAX_LINE_BYTES), b""):
            if line.split(TAB, 3)[2:3] not in OPENS_OR_CLOSES:
                continue
            with suppress(ValueError):  # a damaged line, which is set aside when it is uploaded
                record = record_of(line)
                if record.call == "close":
                    runs.pop(record.run, None)
                else:
                    runs[record.run] = record.content[0]["name"]
    return runs


def _about(folder: Path) -> tuple[str, str, str, int]:
    """Return a journal's destination without secrets, experiment, host and least number of records."""
    try:
        about = unseal((folder / ABOUT).read_bytes())
        if about["format"] != FORMAT:
            raise ValueError(f"format {about['format']}, this release reads {FORMAT}")
        known = str(about["uri"]), str(about["experiment"]), str(about["host"]), about.get("records", 1)
    except (OSError, ValueError, KeyError) as error:
        raise TrackingError(
            f"the tracking journal `{folder}` cannot be read: {shorten(str(error), 300)}",
            then="upload it with the release that wrote it, or delete the folder to discard it",
        ) from error
    if not (folder / CALLS).exists():
        raise TrackingError(
            f"the tracking journal `{folder}` has lost its file `{CALLS}`, and its records are missing in "
            "MLflow",
            then="delete the folder; `mtlv run` with the same config writes them again",
        )
    return known
