"""Fetch a corpus from its source: https only, resumed, checked, unpacked without leaving its folder."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from mtlv import __version__
from mtlv.data.archives import unpack
from mtlv.data.source import Card, Download
from mtlv.errors import DataError

# (bytes so far, bytes in all or None where the source does not say)
Progress = Callable[[int, int | None], None]
Open = Callable[[urllib.request.Request], Any]

CHUNK = 1 << 16


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only if it stays on https."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        _need_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(
    card: Card, folder: Path, *, progress: Progress | None = None, opener: Open | None = None
) -> list[str]:
    """Get all files of a corpus into `folder` and unpack its archives there.

    Args:
        card: of the corpus.
        folder: made where it is missing.
        progress: told how far each file is.
        opener: how a request becomes a response; for tests.

    Returns:
        What was done, a line each.

    Raises:
        DataError: nothing to fetch automatically, no https, no connection, a file above its size limit, a
            wrong checksum, or an archive that `unpack` refuses.
    """
    if not card.downloads:
        then = card.by_hand or "nothing needs to be fetched"
        raise DataError(f"corpus `{card.name}` cannot be fetched automatically", then=then)
    lines = []
    for item in card.downloads:
        path = folder / item.filename
        if path.exists():
            check_sum(path, item)
            lines.append(f"{path} is already there")
        else:
            download(item, folder, progress=progress, opener=opener)
            lines.append(f"{item.url} -> {path} ({path.stat().st_size:,} bytes)")
        if item.sha256 is None:
            lines.append(f"sha256 {_sha256(path)} (no published checksum to compare with)")
        if item.unpack:
            lines.append(f"{unpack(path, folder)} files unpacked into {folder}")
    return lines


def download(
    item: Download, folder: Path, *, progress: Progress | None = None, opener: Open | None = None
) -> Path:
    """Get one file; a part left by an interrupted download is taken up again where the source allows it."""
    _need_https(item.url)
    part, mark = folder / f"{item.filename}.part", folder / f"{item.filename}.part.version"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (opener or _open)(_request(item, part, mark)) as response:
            _receive(response, item, part, mark, progress or _silent)
        check_sum(part, item)
        part.replace(folder / item.filename)
        mark.unlink(missing_ok=True)
    except (OSError, http.client.HTTPException) as error:
        raise DataError(
            f"`{item.url}` could not be downloaded",
            got=str(error),
            then="run the command again to go on from where it stopped, or get the file by hand",
        ) from error
    return folder / item.filename


def check_sum(path: Path, item: Download) -> None:
    """Refuse and delete a file whose checksum is known and differs."""
    if item.sha256 is not None and (got := _sha256(path)) != item.sha256:
        path.unlink()
        raise DataError(f"`{path.name}` has a wrong checksum and was deleted", got=got, allowed=item.sha256)


def _silent(done: int, total: int | None) -> None:
    """Progress that nobody wants to see."""


def _need_https(url: str) -> None:
    if not url.lower().startswith("https://"):
        raise DataError(
            "only https is downloaded from", got=url, then="get the file by hand, set `data.path`"
        )


def _open(request: urllib.request.Request) -> Any:
    return urllib.request.build_opener(_HttpsOnly).open(request, timeout=60)


def _request(item: Download, part: Path, mark: Path) -> urllib.request.Request:
    """A request for the file, or for its rest if a part and the source's version of it are known."""
    headers = {"User-Agent": f"mtlv/{__version__}", "Accept-Encoding": "identity"}
    if part.exists() and part.stat().st_size and mark.exists():
        headers |= {"Range": f"bytes={part.stat().st_size}-", "If-Range": mark.read_text(encoding="utf-8")}
    return urllib.request.Request(item.url, headers=headers)


def _receive(response: Any, item: Download, part: Path, mark: Path, progress: Progress) -> None:
    resumed = response.status == 206
    done = part.stat().st_size if resumed else 0
    length = response.headers.get("Content-Length")
    total = done + int(length) if length else None
    _need_size(total or done, item)
    _remember(response, mark)
    with part.open("ab" if resumed else "wb") as out:
        done = _copy(response, out, done, total, item, progress)
    if total is not None and done < total:
        raise OSError(f"the connection ended after {done:,} of {total:,} bytes")


def _copy(
    response: Any, out: IO[bytes], done: int, total: int | None, item: Download, progress: Progress
) -> int:
    while chunk := response.read(CHUNK):
        done += len(chunk)
        _need_size(done, item)
        out.write(chunk)
        progress(done, total)
    return done


def _remember(response: Any, mark: Path) -> None:
    """Keep the source's strong version of the file; without one a part cannot be taken up safely."""
    version = response.headers.get("ETag") or ""
    if not version or version.startswith("W/"):
        version = response.headers.get("Last-Modified") or ""
    if version:
        mark.write_text(version, encoding="utf-8")
    else:
        mark.unlink(missing_ok=True)


def _need_size(size: int, item: Download) -> None:
    if size > item.max_bytes:
        raise DataError(
            f"`{item.url}` is larger than expected", got=f"{size:,} bytes", allowed=f"{item.max_bytes:,}"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
