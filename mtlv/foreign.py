"""JSON from untrusted sources, such as a store or a server, read with limits.

YAML is read with the limits of `mtlv.settings.text`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mtlv.disk import open_regular

MAX_BYTES = 50_000_000
MIN_BYTES_PER_VALUE = (
    5  # minimum average bytes per value: `[[],[],...` would need 25 times its size in memory
)
MAX_DEPTH = 20


def read_json(path: Path, most: int = MAX_BYTES) -> Any:
    """Return the content of a UTF-8 file, with or without a byte order mark.

    Raises:
        OSError: it cannot be opened.
        ValueError: as for `parse_json`.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        _need("bytes", size, most)
        # As many bytes are reserved in memory; a file that is no file on disk has size 0.
        return parse_json(file.read((size or most) + 1), most)


def read_config(path: Path) -> dict[str, Any]:
    """Return the content of a config of an encoder or tokenizer; empty if it cannot be read."""
    try:
        content = read_json(path)
    except (OSError, ValueError):  # reported when the encoder is loaded
        return {}
    return content if isinstance(content, dict) else {}


def parse_json(content: bytes | str, most: int = MAX_BYTES) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not UTF-8, not JSON, too large, or nested too deeply; with the limit.
    """
    _need("bytes", len(content), most)
    text = content if isinstance(content, str) else content.decode("utf-8-sig")
    # Including those in strings: an upper bound of the number of values.
    _need("values", sum(text.count(sign) for sign in ",[{"), most // MIN_BYTES_PER_VALUE)
    try:
        value = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    _need_depth(value)
    return value


def _need(what: str, count: int, most: int) -> None:
    if count > most:
        raise ValueError(f"{count:,} {what}, more than {most:,}")


def _need_depth(value: Any) -> None:
    """Raise an error for content nested more deeply than any file of mtlv, because code may recurse."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for items in level
            for inner in (items.values() if isinstance(items, dict) else items)
            if isinstance(inner, dict | list)
        ]
    if level:
        raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"nested too deeply, more than {MAX_DEPTH} levels")
