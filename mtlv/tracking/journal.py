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
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mtlv.disk import digest_of, remove
from mtlv.errors import TrackingError
from mtlv.foreign import parse_json
from mtlv.locks import hold, release
from mtlv.sealed import write_sealed
from mtlv.tracking.address import kept_address

FOLDER = "journal"
"""Folder of the journals in a store."""
FORMAT = 3
CALLS, SENT, ABOUT, FILES, BROKEN = "calls.jsonl", "sent", "journal.json", "files", "broken.jsonl"
LOCK, SENDING = "lock", "sending"
"""Locks of the process that writes a journal, and of the one that uploads it."""
MAX_LINE_BYTES = 500_000_000  # maximum bytes of a line, which is held in memory
TAB = b"\t"  # between the parts of a line; JSON has none


@dataclass(frozen=True)
class JournalRecord:
    """A tracker call."""

    number: int  # its position in the journal, from 1
    call: str  # name of the tracker's method
    run: str  # uid of the run, also of one to open; empty for calls about the experiment
    content: Sequence[Any]  # the other arguments, for JSON
    files: Mapping[str, str]  # SHA-256 of the files in `files/NUMBER/`, by name


def line_of(record: JournalRecord) -> bytes:
    """Return `record` as a line that begins with the CRC-32 of the rest. Dataclasses become mappings.

    Raises:
        TypeError, ValueError: content that JSON does not support, invalid Unicode text, or a line that is too
            long.
    """
    content, files = (json.dumps(p, ensure_ascii=False, default=vars) for p in (record.content, record.files))
    body = "\t".join((str(record.number), record.call, record.run, content, files)).encode()
    if len(body) > MAX_LINE_BYTES:
        raise ValueError(f"{len(body):,} bytes, more than {MAX_LINE_BYTES:,}")
    return b"%08x\t%s\n" % (zlib.crc32(body), body)


def record_of(line: bytes) -> JournalRecord:
    """Return the record of a line.

    Raises:
        ValueError: it is incomplete or was changed.
    """
    crc, _, body = line.removesuffix(b"\n").partition(TAB)
    if crc != b"%08x" % zlib.crc32(body):
        raise ValueError("its checksum does not match")
    number, call, run, content, files = body.split(TAB)
    arguments = parse_json(content, MAX_LINE_BYTES)
    return JournalRecord(int(number), call.decode(), run.decode(), arguments, parse_json(files))


class Journal:
    """The journal written by this process, which holds its lock until `close` or the end of the process.

    Raises:
        TrackingError: the folder cannot be written.
    """

    def __init__(self, root: Path, uri: str, experiment: str) -> None:
        self.uri, self.experiment = kept_address(uri), experiment
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{secrets.token_hex(3)}"
        self.folder, making = root / name, root / f".{name}"
        self.written = 0
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
        there = {"uri": self.uri, "experiment": self.experiment}
        return {"format": FORMAT, "host": socket.gethostname(), **there}

    def append(
        self,
        call: str,
        run: str,
        content: Sequence[Any],
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
            except (OSError, TypeError, ValueError) as error:
                shutil.rmtree(folder, ignore_errors=True)
                if isinstance(error, OSError):
                    raise _unwritable(self.folder, error) from error
                raise TrackingError(f"`{call}` cannot be written to the journal: {error}") from error
            self.written = number
            return number

    def _keep(self, source: Path, target: Path, link: bool) -> str:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if not link:
                raise OSError
            os.link(source.resolve(), target)
        except OSError:
            shutil.copyfile(source, target)
        return digest_of(target)

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
            remove(self.folder)
        elif self.folder.exists():
            with suppress(OSError):  # without the number, a cut of the journal's end is not noticed
                write_sealed(self.folder / ABOUT, {**self._about, "records": self.written})
            os.fsync(self._file)
        os.close(self._file)
        release(self._lock)
        self._file = -1


def _unwritable(folder: Path, error: OSError) -> TrackingError:
    return TrackingError(
        f"the tracking journal `{folder}` cannot be written: {error.strerror or error}",
        then="free disk space, or set `store.uri` to a writable folder",
    )
