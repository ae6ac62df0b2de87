"""Markdown that fits MLflow's pages, which cut long texts; the description of a comparison of any runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mtlv.formatting import plain
from mtlv.reporting.suite_table import SuiteMember, as_markdown, make_rows

LONGEST = 7500  # characters; MLflow truncates at 8000 without notice


def describe_page(page: str, answer: str, members: Sequence[SuiteMember]) -> str:
    """Describe a comparison of any runs: its page, the answer, and the table of the runs."""
    first = f"Open [{page}](artifact:{page}), with figures, tables and statistics."  # MLflow folds long texts
    return cut([first, plain(answer), fitting(airy(as_markdown(make_rows(members))), page)])


def airy(table: str) -> str:
    """Add space to each cell, because MLflow renders tables without gaps between columns."""
    head, rule, *rows = table.splitlines()
    return "\n".join([_gaps(head), rule, *map(_gaps, rows)])


def _gaps(line: str) -> str:
    return re.sub(r"(?<!\\) \|", "&emsp; |", line)


def fitting(table: str, file: str = "comparison.md") -> str:
    """Return as many lines of a table as fit, and the number of the others."""
    lines = table.splitlines()
    kept = len(lines)
    while sum(map(len, lines[:kept])) + kept > LONGEST - 1500:
        kept -= 1
    left = len(lines) - kept
    return "\n".join(lines[:kept]) + (f"\n\n... and {left} more in `{file}`" if left else "")


def cut(parts: Sequence[str]) -> str:
    """Join the parts with empty lines, truncated to `LONGEST` characters."""
    text = "\n\n".join(part.strip() for part in parts if part)
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + " …"
