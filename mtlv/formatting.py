"""Formatting of text for users."""

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
    """Format a count: `1 unit`, `2 units`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def list_first(names: Sequence[object], most: int = 12) -> str:
    """Return the first names or numbers, and the number of the others."""
    more = len(names) - most
    return ", ".join(map(str, names[:most])) + (f" and {more} more" if more > 0 else "")


def duration(seconds: float) -> str:
    """Format seconds: `45 s`, `12 min 05 s` or `3 h 20 min`."""
    total = max(0, round(seconds))
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60:02d} s"
    return f"{total // 3600} h {total % 3600 // 60:02d} min"


def about(seconds: float) -> str:
    """Format seconds that are not exact: `45 s`, `12 min` or `3 h 20 min`."""
    return duration(seconds) if seconds < 60 else duration(round(seconds / 60) * 60).replace(" 00 s", "")


def with_spread(mean: float, sd: float | None, digits: int) -> str:
    """Format a mean with its standard deviation, if it is known: `0.912 ± 0.005`."""
    return f"{mean:.{digits}f}" + ("" if sd is None else f" ± {sd:.{digits}f}")


def safe(text: str) -> str:
    """Return `text` on one line, with control characters escaped."""
    return shorten(text, sys.maxsize)


def plain(text: str) -> str:
    """Escape `text` for a Markdown table cell: no line breaks, cell separators, tags or links."""
    text = safe(" ".join(text.split()))
    for sign in "\\|`*_<>[]":
        text = text.replace(sign, "\\" + sign)
    # Bare addresses would become links.
    return re.sub(r"(?i)(:(?=//)|(?<=www)\.)", r"\\\1", text)


def finite(value: Any) -> Any:
    """Return the value, or None for numbers that JSON does not support."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV with all fields; unknown values are empty."""
    fields = list(dict.fromkeys(field for row in rows for field in row))
    out = StringIO()
    writer = csv.DictWriter(out, fields, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({field: finite(value) for field, value in row.items()} for row in rows)
    return out.getvalue()
