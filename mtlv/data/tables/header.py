"""The first row of a table: names of its columns, or a row like the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from statistics import median

LOOKED_AT = 300  # rows
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
LONG = 5  # words of a text that is no name
REPEATS = 3  # rows for each value of a column of classes


def looks_like_data(first: Sequence[object], rows: Sequence[Sequence[object]]) -> bool:
    """Whether the first row of a table is like the others: numbers over numbers, a text over texts.

    Example: `looks_like_data(["good film", "1"], [["bad film", "0"], ["fine", "1"]])` is true, and with
    `["text", "1.5"]` over texts and numbers it is false, because `text` is no text.
    """
    names = [str(cell).strip() for cell in first]
    others = [row for row in rows[:LOOKED_AT] if list(map(str, row)) != list(map(str, first))]
    columns = [
        [text for row in others if place < len(row) and (text := str(row[place] or "").strip())]
        for place in range(len(names))
    ]
    return sum(_vote(name, cells) for name, cells in zip(names, columns, strict=True) if name and cells) > 0


def _vote(name: str, cells: Sequence[str]) -> int:
    """Return whether a name is like the cells below it: above 0 for yes, below for no."""
    numbers = sum(bool(NUMBER.fullmatch(cell)) for cell in cells)
    if numbers >= 0.95 * len(cells):
        if NUMBER.fullmatch(name):
            return 2
        return -6 if numbers else 0
    words = median(len(cell.split()) for cell in cells)
    counts = Counter(cells)
    if len(cells) >= REPEATS * len(counts):
        if name in counts:
            return 2
        return -4 if len(name) > 1.5 * max(map(len, counts)) else -1
    if words >= LONG:
        # a question of a survey is as long as its answers, but not repeated
        return 2 if len(name.split()) >= LONG and not name.endswith(("?", ":")) else -4
    longest = max(map(len, cells))
    return -1 if len(name) > 2 * longest else 0


def unique_names(names: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return names with a number at those that repeat, and a note about these."""
    unique: dict[str, None] = {}
    changed: list[str] = []
    numbers: Counter[str] = Counter()
    for place, name in enumerate(names, start=1):
        new = name
        while new in unique or (new != name and new in names):
            numbers[name] += 1
            new = f"{name or 'column'}.{numbers[name] + 1}"
        if new != name:
            changed.append(f"column {place} is called `{new}`")
        unique[new] = None
    note = f"several columns have the same name; {', '.join(changed[:10])}" if changed else ""
    return tuple(unique), note
