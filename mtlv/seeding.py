"""Seeds from content: the same unit draws the same numbers wherever and whenever it runs."""

from __future__ import annotations

import hashlib
import json


def content_key(content: object, length: int = 16) -> str:
    """Hexadecimal digest of JSON-able `content`, independent of key order."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def seed_from(*parts: object) -> int:
    """A seed in [0, 2**31) that depends on nothing but `parts`."""
    return int(content_key([str(part) for part in parts]), 16) % 2**31
