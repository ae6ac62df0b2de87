"""JSON that others may have written, such as a store's or a server's: read within limits.

YAML is read within those of `mtlv.settings.text`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MOST_BYTES = 50_000_000
SHORTEST = 5  # bytes of a value, on average: `[[],[],...` would need 25 times its size in memory
MOST_DEPTH = 20


def read_json(path: Path, most: int = MOST_BYTES) -> Any:
    """The content of a file in UTF-8, with or without a byte order mark.

    Args:
        path: the file.
        most: bytes that it may have.

    Raises:
        OSError: it cannot be opened.
        ValueError: as `parse_json`.
    """
    with path.open("rb") as file:
        _need("bytes", path.stat().st_size, most)
        return parse_json(file.read(most + 1), most)


def parse_json(content: bytes | str, most: int = MOST_BYTES) -> Any:
    """The value that a text holds.

    Args:
        content: the text, or its bytes in UTF-8.
        most: bytes, or characters, that it may have.

    Raises:
        ValueError: it is no UTF-8, no JSON, too large, or nested too deeply; says what is allowed.
    """
    _need("bytes", len(content), most)
    text = content if isinstance(content, str) else content.decode("utf-8-sig")
    # Those in texts too: it is a bound, from above, of what will be made.
    _need("values", sum(text.count(sign) for sign in ",[{"), most // SHORTEST)
    try:
        found = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    _need_depth(found)
    return found


def _need(what: str, count: int, most: int) -> None:
    if count > most:
        raise ValueError(f"{count:,} {what}, more than {most:,}")


def _need_depth(found: Any) -> None:
    """Refuse what is deeper than any file of ours: who walks through it later may recurse."""
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(MOST_DEPTH):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
    if level:
        raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"nested too deeply, more than {MOST_DEPTH} levels")
