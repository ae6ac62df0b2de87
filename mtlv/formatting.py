"""Words for a person, which everyone tells alike."""

from __future__ import annotations

import csv
import math
import re
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from mtlv.errors import shorten


def many(count: int, noun: str) -> str:
    """`1 unit`, `2 units`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """`45 s`, `12 min 05 s` or `3 h 20 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def safe(text: str) -> str:
    """`text` on one line, with everything a terminal would obey made visible."""
    return shorten(text, sys.maxsize)


def plain(text: str) -> str:
    """`text` as plain Markdown that fits into a cell: no line ends, no cell ends, no tags, no links."""
    text = safe(" ".join(text.split()))
    for sign in "\\|`*_<>[]":
        text = text.replace(sign, "\\" + sign)
    # Bare addresses become links by themselves.
    return re.sub(r"(?i)(:(?=//)|(?<=www)\.)", r"\\\1", text)


def finite(value: Any) -> Any:
    """The value, or None for what JSON cannot say."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV with all fields; what is not known is empty."""
    fields = list(dict.fromkeys(field for row in rows for field in row))
    out = StringIO()
    writer = csv.DictWriter(out, fields, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({field: finite(value) for field, value in row.items()} for row in rows)
    return out.getvalue()
