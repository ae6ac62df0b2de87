"""docs/reliability.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_every_test_that_the_page_names_is_there() -> None:
    files = dict(re.findall(r"\| `([A-Za-z])` \| `(tests/[^`]+)` ", PAGE))
    assert len(files) > 20
    assert all((ROOT / name).is_file() for name in re.findall(r"`(tests/[^`:]+\.py)`", PAGE))
    named = set(re.findall(r"`([A-Za-z])::([a-z0-9_]+)`", PAGE))
    assert len(named) > 80
    content = {letter: (ROOT / name).read_text(encoding="utf-8") for letter, name in files.items()}
    missing = [f"{letter}::{name}" for letter, name in named if f"def test_{name}(" not in content[letter]]
    assert missing == []


def test_every_input_has_a_word_on_everything_that_can_be_wrong() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and line.count("|") == 11]
    assert len(rows) > 20
    for row in rows[2:]:
        assert all(cell.strip() for cell in row.split("|")[1:-1]), row
