"""Seeds computed from content: a unit has the same random numbers wherever and whenever it runs."""

from __future__ import annotations

import hashlib
import json


def content_key(content: object, length: int = 16) -> str:
    """Return a hexadecimal digest of JSON-serializable `content`, regardless of the order of keys."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def seed_from(*parts: object) -> int:
    """Return a seed in [0, 2**31) that depends only on `parts`."""
    return int(content_key([str(part) for part in parts]), 16) % 2**31
