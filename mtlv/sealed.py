"""Small JSON files with a checksum. Damage is detected when they are read, moved aside, and reported."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mtlv.disk import flush, open_regular, remove, write_atomically
from mtlv.errors import shorten
from mtlv.foreign import MAX_BYTES, parse_json

SUM = "sha256"
"""Key of the checksum of the other content."""
DAMAGED = ".damaged"
"""Suffix of the names of damaged files."""
CHANGED = "its checksum does not match: it was changed"


def seal(content: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return a mapping as JSON, with the SHA-256 of its content.

    Example:
        >>> unseal(seal({"epoch": 3}))
        {'epoch': 3}
    """
    return json.dumps({**content, SUM: _sum(content)}, indent=indent)


def unseal(text: bytes | str, most_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Return the content of a text of `seal`.

    Raises:
        ValueError: it was changed.
    """
    content = parse_json(text, most_bytes)
    if not isinstance(content, dict):
        raise ValueError("it is not a mapping")
    if content.pop(SUM, None) != _sum(content):
        raise ValueError(CHANGED)
    return content


def write_sealed(path: Path, content: Mapping[str, Any], *, flushed: bool = False) -> None:
    """Write a mapping atomically, for `read_sealed`; if `flushed`, it is on disk afterwards.

    Raises:
        OSError: it cannot be written.
    """
    with write_atomically(path) as part:
        part.write_text(seal(content) + "\n", encoding="utf-8")
        if flushed:
            flush(part)


def read_sealed(
    path: Path, warn: Callable[[str], None], then: str, *, most_bytes: int = MAX_BYTES
) -> dict[str, Any] | None:
    """Return the content of a file of `write_sealed`; None if there is none.

    A damaged file is renamed to `NAME.damaged`, and `warn` is called with its name, its fault and `then`,
    which says what is done without it. Other processes then find no file.
    """
    try:
        with open_regular(path) as file:
            return unseal(file.read(most_bytes + 1), most_bytes)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        warn(f"{path} is damaged ({shorten(str(error))}); {set_aside(path)}; {then}")
        return None


def set_aside(path: Path) -> str:
    """Rename a damaged file or folder, and return a sentence that names its new place."""
    place = path.with_name(path.name + DAMAGED)
    try:
        remove(place)  # of an earlier time
        path.replace(place)
    except OSError as error:
        return f"it cannot be moved aside ({error.strerror})"
    return f"it was renamed to `{place.name}`"


def _sum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
