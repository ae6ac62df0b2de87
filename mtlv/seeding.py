"""Seeds computed from content: a unit has the same random numbers wherever and whenever it runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
VALUES_AT_ONCE = 4096  # values of a sequence that are held at once


def content_key(content: object, length: int = 16) -> str:
    """Return a hexadecimal digest of JSON-serializable `content`, regardless of the order of keys.

    A sequence that is no list or tuple is digested like a list, and read a part at a time.
    """
    digest = hashlib.sha256()
    for text in _json(content):
        digest.update(text.encode())
    return digest.hexdigest()[:length]


def _json(content: object) -> Iterator[str]:
    """Yield JSON in pieces."""
    try:
        text = _ENCODER.encode(content)
    except TypeError:  # it is, or has, a sequence of another class
        yield from _json_of_parts(content)
    else:
        yield text


def _json_of_parts(content: object) -> Iterator[str]:
    if isinstance(content, Mapping):
        for place, (key, value) in enumerate(sorted(content.items())):
            yield f"{',' if place else '{'}{_ENCODER.encode(key)}:"
            yield from _json(value)
        yield "}"
    elif isinstance(content, list | tuple):
        for place, value in enumerate(content):
            yield "," if place else "["
            yield from _json(value)
        yield "]"
    elif isinstance(content, Sequence):
        yield "["
        for start in range(0, len(content), VALUES_AT_ONCE):
            yield ("," if start else "") + _ENCODER.encode(list(content[start : start + VALUES_AT_ONCE]))[
                1:-1
            ]
        yield "]"
    else:
        raise TypeError(f"a digest of {type(content).__name__}")


def seed_from(*parts: object) -> int:
    """Return a seed in [0, 2**31) that depends only on `parts`."""
    return int(content_key([str(part) for part in parts]), 16) % 2**31
