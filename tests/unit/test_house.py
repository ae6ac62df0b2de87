"""The script that measures the code counts what it says."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]
SOURCE = '''"""A module."""

from made.other import thing


def public(a: int, b):
    """Doc."""
    found = [each for each in (1, 2)]
    return _helper(a) if b else thing, found


def _helper(own: int) -> int:
    return own


class Named:
    """A class."""
'''


@pytest.fixture(scope="module")
def house() -> dict[str, Any]:
    return runpy.run_path(str(TESTS / "house.py"))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "made"
    (folder / "part").mkdir(parents=True)
    (folder / "part" / "module.py").write_text(SOURCE)
    (folder / "other.py").write_text("thing = 1\n")
    return folder


def test_the_measures_of_a_small_package(house: dict[str, Any], package: Path) -> None:
    rows = house["measures"](package)
    assert rows["lines"] == f"{SOURCE.count(chr(10)) + 1}"
    assert rows["annotated arguments"] == "67%"
    assert rows["public docstrings"] == "100%"
    assert rows["functions that are private helpers"] == "50%"
    assert rows["of these called once"] == "100%"
    assert rows["called once, of up to 4 lines"] == "1"
    assert rows["most files in one folder"].startswith("1 ")
    assert rows["names"] == "3"
    assert rows["vague names"] == "3"
    assert rows["imports across folders, by origin"] == "1: part 1"
    assert rows["most ifs in one function"] == "1"


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"limit": 10, "target": 10}, []),
        ({"limit": 9, "target": 9}, ["lines: 10"]),
        ({"limit": 12, "target": 5}, ["lines: the limit 12"]),
        ({"limit": 12, "target": 5, "why": "a reason"}, []),
        ({"limit": 9, "target": 5, "why": "a reason"}, ["lines: 10"]),
    ],
)
def test_a_limit_that_is_passed_or_has_no_reason_is_named(
    house: dict[str, Any], limits: dict[str, Any], named: list[str]
) -> None:
    problems = house["over_budget"]({"lines": 10}, {"lines": limits})
    assert [problem.startswith(name) for problem, name in zip(problems, named, strict=True)] == [True] * len(
        named
    )


def test_a_file_that_is_entered_again_counts_again(house: dict[str, Callable[..., Any]]) -> None:
    assert house["count_stays"](["a", "a", "b", "a", "a", "c"]) == 4
