"""The kept mutants are still mutants of the code as it is (`python tests/mutants/run.py` runs them)."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "mutants"))

from kept import Mutant, kept  # noqa: E402


def test_every_mutant_can_be_made_and_names_tests_that_are_there() -> None:
    mutants = kept()
    wrong = []
    for mutant in mutants:
        try:
            mutant.made(ROOT)
        except (ValueError, SyntaxError, OSError) as error:
            wrong.append(str(error))
        wrong += [f"{mutant}: {test}" for test in mutant.tests if not (ROOT / test.split("::")[0]).exists()]
        wrong += [f"{mutant}: names no test"] * (not mutant.tests)
    assert not wrong, "\n".join(wrong)
    assert len({(m.file, m.old, m.new) for m in mutants}) == len({str(m) for m in mutants}) == len(mutants)


def test_a_text_that_does_not_stand_there_once_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 1\n")
    found = []
    for old, new in (("= 1", "= 2"), ("= 3", "= 4"), ("x = 1", "x ="), ("x = 1", "x = 2")):
        try:
            found.append(Mutant("all", "a.py", "wrong", old, new, ("tests",)).made(tmp_path))
        except (ValueError, SyntaxError) as error:
            found.append(type(error).__name__)
    assert found == ["ValueError", "ValueError", "SyntaxError", "x = 2\ny = 1\n"]
