"""The files that CONTRIBUTING.md says to open are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_files_to_open_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:mtlv|tests|benchmarks|config|docs|experiments)/[\w./-]*)`", text)
    assert len(paths) > 40
    assert [path for path in paths if "NAME" not in path and not (ROOT / path).exists()] == []
