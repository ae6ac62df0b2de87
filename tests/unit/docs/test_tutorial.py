"""The first steps of the tutorial do what it says; `python docs/follow.py` follows it to the end."""

from __future__ import annotations

import os
import re
import runpy
import shutil
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[3] / "docs"


FAST = "from mtlv.suite import speed\n\nspeed.measure_speed = lambda _: 4000.0\n"  # whatever the machine


@pytest.fixture
def tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The tutorial's follower, and a copy of the page that may be changed."""
    (tmp_path / "sitecustomize.py").write_text(FAST, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(DOCS.parent)]))
    for name in ("follow.py", "start.md"):
        shutil.copy(DOCS / name, tmp_path)
    (tmp_path / "work").mkdir()
    return runpy.run_path(str(tmp_path / "follow.py"))["follow"], tmp_path / "start.md", tmp_path / "work"


def test_the_table_and_the_config_are_as_shown(tutorial):
    follow, _, work = tutorial
    ran = follow(work, until="mtlv cluster")
    assert [line.split()[:2] for line in ran][2:] == [["mtlv", "init"], ["mtlv", "check"]]
    assert (work / "reports.csv").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("head -3 reports.csv", "head -3 nothing.csv", "`head -3 nothing.csv` ended with 1"),
        ("to learn (binary): heart ", "to learn (binary): hand ", "`mtlv init reports.csv` did not print"),
        ("  epochs: 15 ", "  epochs: 16 ", "no config has:\ntraining:"),
        ("`mtlv-clusters/`", "`mtlv-graphs/`", "'mtlv-graphs/'"),
    ],
)
def test_what_the_page_shows_must_be_there(tutorial, old, new, said):
    follow, page, work = tutorial
    text = page.read_text(encoding="utf-8").partition("## 3. ")[0] + "Pictures: `mtlv-clusters/`"
    assert old in text
    page.write_text(text.replace(old, new), encoding="utf-8")
    (work / "mtlv-clusters").mkdir()
    with pytest.raises(AssertionError, match=re.escape(said)):
        follow(work)
