"""Names that every store accepts, made from user-defined names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from mtlv.formatting import many
from mtlv.seeding import content_key

LONGEST = 60


def slug(name: str) -> str:
    """Return `name` in NFC with `_` for characters outside `[\\w.\\- ]`, at most 60 characters, not empty."""
    text = re.sub(r"[^\w.\- ]", "_", unicodedata.normalize("NFC", name)).strip()[:LONGEST].strip()
    return text if text.strip(".") else f"_{text.replace('.', '_')}"


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Return a slug for each name, unique regardless of case; duplicates get a digest of the name."""
    names = list(names)
    folded = [slug(name).casefold() for name in names]
    out = {}
    for name, fold in zip(names, folded, strict=True):
        text = slug(name)
        if folded.count(fold) > 1:
            text = f"{text[: LONGEST - 7].rstrip()} {content_key(name, 6)}"
        out[name] = text
    return out


def ascii_slug(name: str) -> str:
    """Return a slug for file names and image keys: only ASCII letters, digits, `.`, `_` and `-`."""
    text = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    text = re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._")[:LONGEST]
    return text or f"name-{content_key(name, 8)}"


def group_name(tasks: Sequence[str]) -> str:
    """Return a name for a set of tasks that depends only on the set.

    It is the name of a single task; otherwise the first task, a count and a digest.
    """
    first = slug(tasks[0])
    if len(tasks) > 1:
        tail = f" and {len(tasks) - 1} more {content_key(sorted(tasks), 6)}"
    else:  # other names may have the same slug
        tail = "" if first == tasks[0] else f" {content_key(tasks[0], 6)}"
    return first[: LONGEST - len(tail)].rstrip() + tail


def group_title(tasks: Sequence[str]) -> str:
    """Return a set of tasks in words: `pneumonia + 7 labels`. Sets with another first task have another."""
    first = group_name(tasks[:1])
    return first if len(tasks) == 1 else f"{first} + {many(len(tasks) - 1, 'label')}"
