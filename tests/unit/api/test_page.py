"""docs/api.md is what the docstrings say."""

from __future__ import annotations

import runpy
from pathlib import Path

import mtlv

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_made_from_the_docstrings_and_has_every_name() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_api.py"))["page"]()
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert made == page, "run `python docs/make_api.py`"
    assert all(f"`mtlv.{name}`" in page for name in mtlv.__all__ if name != "__version__")
