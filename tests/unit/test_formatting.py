"""Counts, durations and names as a person reads them."""

from __future__ import annotations

import pytest

from mtlv.formatting import duration, many, safe


@pytest.mark.parametrize(("count", "shown"), [(0, "0 units"), (1, "1 unit"), (2, "2 units")])
def test_counts(count: int, shown: str) -> None:
    assert many(count, "unit") == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.2, "0 s"), (59.6, "1 min 00 s"), (125, "2 min 05 s"), (3600, "1 h 00 min"), (7384, "2 h 03 min")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_a_terminal_has_nothing_to_obey() -> None:
    assert safe("a [red]b[/red] \x1b[31mc\nd") == "a [red]b[/red] \\x1b[31mc\\nd"
    assert len(safe("a" * 5000)) == 5000
