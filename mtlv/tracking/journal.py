"""A journal of tracker calls on local disk: written first, uploaded later, by this process or another.

Each tracking process has its own folder: `calls.jsonl` with one line per call; `files/N/` with the files of
call N; `sent` with the upload position; `journal.json` with the host, and the destination without user and
password.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import threading
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mtlv.errors import TrackingError
from mtlv.foreign import parse_json
from mtlv.locks import hold, release
from mtlv.sealed import write_sealed
from mtlv.tracking.address import kept_address
from mtlv.tracking.traces import discard, write_trace

FOLDER = "journal"
"""Folder of the journals in a store."""
FORMAT = 2
CALLS, SENT, ABOUT, FILES, BROKEN = "calls.jsonl", "sent", "journal.json", "files", "broken.jsonl"
LOCK, SENDING = "lock", "sending"
"""Locks of the process that writes a journal, and of the one that uploads it."""
MAX_LINE_BYTES = 500_000_000  # maximum bytes of a line, which is held in memory
CHUNK_BYTES = 2**20  # bytes of a file that are read together
HEAD_BYTES = len('{"crc":"01234567",')


@dataclass(frozen=True)
class Destination:
    """Destination of calls: the store's address without secrets (`kept_address`), and the experiment."""

    uri: str
    experiment: str


@dataclass(frozen=True)
class JournalRecord:
    """A tracker call."""

    number: int  # its position in the journal, from 1
    call: str  # name of the tracker's method
    run: str  # uid of the run; empty for calls about the experiment
    content: Mapping[str, Any]
    files: Mapping[str, Sequence[int]]  # size in bytes and CRC-32 of the files in `files/NUMBER/`, by name


def line_of(record: JournalRecord) -> bytes:
    """Return `record` as a line of strict JSON that begins with the CRC-32 of the rest.

    Raises:
        ValueError: a number that JSON does not support, invalid Unicode text, or a line that is too long.
    """
    body = json.dumps(vars(record), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    if len(body) > MAX_LINE_BYTES - HEAD_BYTES:
        raise ValueError(f"{len(body):,} bytes, more than {MAX_LINE_BYTES:,}")
    return f'{{"crc":"{zlib.crc32(body):08x}",'.encode() + body[1:] + b"\n"


def record_of(line: bytes) -> JournalRecord:
    """Return the record of a line.

    Raises:
        ValueError: it is incomplete or was changed.
    """
    body = b"{" + line[HEAD_BYTES:].removesuffix(b"\n")
    if line[:HEAD_BYTES] != f'{{"crc":"{zlib.crc32(body):08x}",'.encode():
        raise ValueError("its checksum does not match")
    try:
        return JournalRecord(**parse_json(body, MAX_LINE_BYTES))
    except TypeError as error:
        raise ValueError(str(error)) from error


class Journal:
    """The journal written by this process, which holds its lock until `close` or the end of the process.

    Raises:
        TrackingError: the folder cannot be written.
    """

    def __init__(self, root: Path, uri: str, experiment: str) -> None:
        self.to = Destination(kept_address(uri), experiment)
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{secrets.token_hex(3)}"
        self.folder, making = root / name, root / f".{name}"
        self.written = 0
        self._runs: dict[str, str] = {}  # names of the runs by uid
        self._end = 0
        self._alone = threading.Lock()
        try:
            (making / FILES).mkdir(parents=True)
            self._lock = hold(making / LOCK)
            write_sealed(making / ABOUT, self._about)
            self._file = os.open(making / CALLS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.replace(making, self.folder)  # it becomes visible with its lock held
        except OSError as error:
            raise _unwritable(root, error) from error

    @property
    def _about(self) -> dict[str, object]:
        return {"format": FORMAT, "host": socket.gethostname(), **asdict(self.to)}

    def append(
        self,
        call: str,
        run: str,
        content: Mapping[str, Any],
        files: Mapping[str, Path] | None = None,
        *,
        link: bool = False,
    ) -> int:
        """Append a call; its files may be changed or removed afterwards.

        Args:
            call, run, content: see `JournalRecord`.
            files: local file by its name in the folder of the call.
            link: whether the files never change, so that they may be linked.

        Returns:
            Number of the call.

        Raises:
            TrackingError: the journal cannot be written and is unchanged, or the call cannot be converted to
                JSON.
        """
        with self._alone:
            number = self.written + 1
            folder = self.folder / FILES / str(number)
            try:
                kept = {name: self._keep(path, folder / name, link) for name, path in (files or {}).items()}
                self._write(line_of(JournalRecord(number, call, run, content, kept)))
            except (OSError, ValueError) as error:
                shutil.rmtree(folder, ignore_errors=True)
                if isinstance(error, OSError):
                    raise _unwritable(self.folder, error) from error
                raise TrackingError(f"`{call}` cannot be written to the journal: {error}") from error
            self.written = number
            if call == "open_run":
                self._runs[content["uid"]] = content["name"]
                write_trace(self.folder, self.to.experiment, self._runs)
            return number

    def _keep(self, source: Path, target: Path, link: bool) -> tuple[int, int]:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if not link:
                raise OSError
            os.link(source.resolve(), target)
        except OSError:
            shutil.copyfile(source, target)
        return size_and_crc(target)

    def _write(self, line: bytes) -> None:
        try:
            rest = memoryview(line)
            while rest:  # a full disk writes only a part
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            os.ftruncate(self._file, self._end)
            raise
        self._end += len(line)

    def close(self, *, delivered: bool = False) -> None:
        """Release the journal for others to upload, or remove it if everything was uploaded."""
        if self._file < 0:
            return
        if delivered:
            discard(self.folder)
        elif self.folder.exists():
            with suppress(OSError):  # without the number, a cut of the journal's end is not noticed
                write_sealed(self.folder / ABOUT, {**self._about, "records": self.written})
            os.fsync(self._file)
        os.close(self._file)
        release(self._lock)
        self._file = -1


def size_and_crc(path: Path) -> tuple[int, int]:
    """Return the size of a file in bytes, and the CRC-32 of its content."""
    size = crc = 0
    with path.open("rb") as file:
        while block := file.read(CHUNK_BYTES):
            size, crc = size + len(block), zlib.crc32(block, crc)
    return size, crc


def _unwritable(folder: Path, error: OSError) -> TrackingError:
    return TrackingError(
        f"the tracking journal `{folder}` cannot be written: {error.strerror or error}",
        then="free disk space, or set `store.uri` to a writable folder",
    )
