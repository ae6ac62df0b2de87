"""The script that measures the code counts what it says."""

from __future__ import annotations

import runpy
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SOURCE = '''"""A module."""

from made.other import thing


def public(a: int, b):
    """Doc."""
    return _helper(a) if b else thing


def _helper(a: int) -> int:
    return a


class Named:
    """A class."""
'''


def test_the_measures_of_a_small_package(tmp_path: Path) -> None:
    package = tmp_path / "made"
    (package / "part").mkdir(parents=True)
    (package / "part" / "module.py").write_text(SOURCE)
    (package / "other.py").write_text("thing = 1\n")
    found = runpy.run_path(str(TESTS / "house.py"))["measures"](package)
    assert found["lines, with docstrings and blanks"] == f"{SOURCE.count(chr(10)) + 1}"
    assert found["annotated arguments"] == "67%"
    assert found["public docstrings"] == "100%"
    assert found["functions that are private helpers"] == "50%"
    assert found["of these called once"] == "100%"
    assert found["called once, of up to 4 lines"] == "1"
    assert found["most files in one folder"].startswith("1 ")
    assert found["names to know (functions + classes)"] == "3"
    assert found["imports across folders, by origin"] == "1: part 1"
    assert found["most ifs in one function"] == "1"
