"""A journal of tracker calls on local disk: written first, delivered later, by this process or another.

A folder for each process that tracks: `calls.jsonl`, a line for each call; `files/N/`, what call N gives
away; `sent`, how far it was delivered; `journal.json`, where to. No address in it holds a user or password.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import threading
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mtlv.errors import TrackingError
from mtlv.foreign import parse_json
from mtlv.locks import hold, release
from mtlv.tracking.address import kept_address

FOLDER = "journal"
"""In a store."""
FORMAT = 1
CALLS, SENT, ABOUT, FILES, BROKEN = "calls.jsonl", "sent", "journal.json", "files", "broken.jsonl"
LOCK, SENDING = "lock", "sending"
"""Locks of who writes a journal, and of who delivers it."""
LONGEST = 500_000_000  # bytes of a line: it is held in memory
HEAD = len('{"crc":"01234567",')


@dataclass(frozen=True)
class Destination:
    """Where calls go: a store's address as it may be written down (`kept_address`), and the experiment."""

    uri: str
    experiment: str


@dataclass(frozen=True)
class JournalRecord:
    """A call.

    Args:
        number: its place in the journal, from 1.
        call: name of the tracker's method.
        run: uid of the run; empty where it concerns the experiment.
        content: its arguments.
        files: sizes in bytes of what lies in `files/NUMBER/`, by name.
    """

    number: int
    call: str
    run: str
    content: Mapping[str, Any]
    files: Mapping[str, int]


def line_of(record: JournalRecord) -> bytes:
    """`record` as a line of strict JSON that begins with the CRC-32 of the rest.

    Raises:
        ValueError: a number that JSON does not have, text that is not Unicode, or too long a line.
    """
    body = json.dumps(vars(record), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    if len(body) > LONGEST - HEAD:
        raise ValueError(f"{len(body):,} bytes, more than {LONGEST:,}")
    return f'{{"crc":"{zlib.crc32(body):08x}",'.encode() + body[1:] + b"\n"


def record_of(line: bytes) -> JournalRecord:
    """The record of a line.

    Raises:
        ValueError: it is torn or was changed.
    """
    body = b"{" + line[HEAD:].removesuffix(b"\n")
    if line[:HEAD] != f'{{"crc":"{zlib.crc32(body):08x}",'.encode():
        raise ValueError("its checksum does not fit")
    try:
        return JournalRecord(**parse_json(body, LONGEST))
    except TypeError as error:
        raise ValueError(str(error)) from error


class Journal:
    """The journal that this process writes; it holds its lock until `close` or the process's end.

    Args:
        root: folder of a store's journals; made where it is not there.
        uri: of the store, as MLflow takes it.
        experiment: its name.

    Raises:
        TrackingError: the folder cannot be written.
    """

    def __init__(self, root: Path, uri: str, experiment: str) -> None:
        self.to = Destination(kept_address(uri), experiment)
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{secrets.token_hex(3)}"
        self.folder, making = root / name, root / f".{name}"
        self.written = 0
        self._end = 0
        self._alone = threading.Lock()
        try:
            (making / FILES).mkdir(parents=True)
            self._lock = hold(making / LOCK)
            about = {"format": FORMAT, **asdict(self.to)}
            (making / ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
            self._file = os.open(making / CALLS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.replace(making, self.folder)  # it appears with its lock held
        except OSError as error:
            raise _unwritable(root, error) from error

    def append(
        self,
        call: str,
        run: str,
        content: Mapping[str, Any],
        files: Mapping[str, Path] | None = None,
        *,
        link: bool = False,
    ) -> int:
        """Write a call down; what it gives away may be changed or removed afterwards.

        Args:
            call, run, content: see `JournalRecord`.
            files: local file by the name it gets in the call's folder.
            link: the files never change, so they may be linked.

        Returns:
            Its number.

        Raises:
            TrackingError: the journal cannot be written, and is as before; or no JSON can be made of it.
        """
        with self._alone:
            number = self.written + 1
            folder = self.folder / FILES / str(number)
            try:
                sizes = {name: self._keep(path, folder / name, link) for name, path in (files or {}).items()}
                self._write(line_of(JournalRecord(number, call, run, content, sizes)))
            except (OSError, ValueError) as error:
                shutil.rmtree(folder, ignore_errors=True)
                if isinstance(error, OSError):
                    raise _unwritable(self.folder, error) from error
                raise TrackingError(f"`{call}` cannot be written down: {error}") from error
            self.written = number
            return number

    def _keep(self, source: Path, target: Path, link: bool) -> int:
        target.parent.mkdir(parents=True, exist_ok=True)
        if link:
            with suppress(OSError):
                os.link(source.resolve(), target)
                return target.stat().st_size
        shutil.copyfile(source, target)
        return target.stat().st_size

    def _write(self, line: bytes) -> None:
        try:
            rest = memoryview(line)
            while rest:  # a disk that fills takes a part
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            os.ftruncate(self._file, self._end)
            raise
        self._end += len(line)

    def close(self, *, delivered: bool = False) -> None:
        """Give the journal back, for others to deliver; or remove it, where all of it was delivered."""
        if self._file < 0:
            return
        if delivered:
            remove(self.folder)
        else:
            os.fsync(self._file)
        os.close(self._file)
        release(self._lock)
        self._file = -1


def remove(folder: Path) -> None:
    """Remove a journal; only who holds its lock may."""
    with suppress(FileNotFoundError):
        (folder / CALLS).unlink()  # first: a folder without it is an end, not a journal
    shutil.rmtree(folder, ignore_errors=True)


def _unwritable(folder: Path, error: OSError) -> TrackingError:
    return TrackingError(
        f"the tracking journal `{folder}` cannot be written: {error.strerror or error}",
        then="make room on the disk, or set `store.uri` to a folder that can be written",
    )
