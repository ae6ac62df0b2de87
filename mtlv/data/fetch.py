"""Download of a corpus: only https, and verified."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mtlv import __version__
from mtlv.data.source import Card, Download
from mtlv.disk import digest_of, write_atomically
from mtlv.errors import DataError

# (bytes so far, total bytes or None if unknown)
Progress = Callable[[int, int | None], None]

CHUNK = 1 << 16


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to https."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        _need_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(card: Card, folder: Path, *, progress: Progress | None = None) -> list[str]:
    """Download all files of a corpus into `folder`, created if missing.

    Returns:
        Lines that describe what was done.

    Raises:
        DataError: nothing can be downloaded automatically, no https, no connection, a file above its size
            limit, or a wrong checksum.
    """
    if not card.downloads:
        then = card.by_hand or "nothing needs to be downloaded"
        raise DataError(f"corpus `{card.name}` cannot be downloaded automatically", then=then)
    lines = []
    for item in card.downloads:
        path = folder / item.filename
        if path.exists():
            check_sum(path, item)
            lines.append(f"{path} already exists")
        else:
            download(item, folder, progress=progress)
            lines.append(f"{item.url} -> {path} ({path.stat().st_size:,} bytes)")
        if item.sha256 is None:
            lines.append(f"sha256 {digest_of(path)} (no published checksum to compare with)")
    return lines


def download(item: Download, folder: Path, *, progress: Progress | None = None) -> Path:
    """Download one file; nothing of an interrupted download is kept."""
    _need_https(item.url)
    headers = {"User-Agent": f"mtlv/{__version__}", "Accept-Encoding": "identity"}
    request = urllib.request.Request(item.url, headers=headers)
    try:
        with write_atomically(folder / item.filename) as part, _open(request) as response:
            _receive(response, item, part, progress or (lambda *_: None))
            check_sum(part, item)
    except (OSError, http.client.HTTPException) as error:
        raise DataError(
            f"`{item.url}` could not be downloaded",
            got=str(error),
            then="run the command again, or download the file by hand",
        ) from error
    return folder / item.filename


def check_sum(path: Path, item: Download) -> None:
    """Delete a file with a wrong checksum, and raise an error."""
    if item.sha256 is not None and (got := digest_of(path)) != item.sha256:
        path.unlink()
        raise DataError(
            f"`{item.filename}` has a wrong checksum and was deleted", got=got, allowed=item.sha256
        )


def _need_https(url: str) -> None:
    if not url.lower().startswith("https://"):
        raise DataError(
            "only https is supported for downloads",
            got=url,
            then="download the file by hand and set `data.path`",
        )


def _open(request: urllib.request.Request) -> Any:
    return urllib.request.build_opener(_HttpsOnly).open(request, timeout=60)


def _receive(response: Any, item: Download, part: Path, progress: Progress) -> None:
    length = response.headers.get("Content-Length")
    total = int(length) if length else None
    done = 0
    _need_size(total or 0, item)
    with part.open("wb") as out:
        while chunk := response.read(CHUNK):
            done += len(chunk)
            _need_size(done, item)
            out.write(chunk)
            progress(done, total)
    if total is not None and done < total:
        raise OSError(f"the connection ended after {done:,} of {total:,} bytes")


def _need_size(size: int, item: Download) -> None:
    if size > item.max_bytes:
        raise DataError(
            f"`{item.url}` is larger than expected", got=f"{size:,} bytes", allowed=f"{item.max_bytes:,}"
        )
