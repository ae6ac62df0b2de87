"""`.ci/run`: what fails stops a change, but for the audit, which needs the network and changes by itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

GATE = Path(__file__).resolve().parents[2] / ".ci" / "run"
MAKE = '#!/bin/sh\necho "$1" >> "$LOG"\n[ "$1" != "$FAILS" ]\n'


@pytest.mark.parametrize(
    ("fails", "code", "made"),
    [
        ("nothing", 0, ["test", "slow", "lint", "docs", "audit"]),
        ("audit", 0, ["test", "slow", "lint", "docs", "audit"]),
        ("docs", 1, ["test", "slow", "lint", "docs"]),
        ("lint", 1, ["test", "slow", "lint"]),
        ("slow", 1, ["test", "slow"]),
        ("test", 1, ["test"]),
    ],
)
def test_the_audit_alone_may_fail(tmp_path: Path, fails: str, code: int, made: list[str]):
    for name, content in {"make": MAKE, "id": "#!/bin/sh\necho 1000\n"}.items():  # nobody who may install
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)
    log = tmp_path / "log"
    given = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "LOG": str(log), "FAILS": fails}
    done = subprocess.run([GATE], env=os.environ | given, capture_output=True, text=True, timeout=60)
    assert (done.returncode, log.read_text().split()) == (code, made)
    assert ("The audit did not pass" in done.stdout) == (fails == "audit")


def test_no_registry_is_asked_but_by_its_client():
    assert "://" not in GATE.read_text(encoding="utf-8")
