"""The script of `mtlv completion` completes in a real shell."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mtlv.cli import main

TRY = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_shtab_mtlv mtlv
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", "bash"]) == 0
    path = tmp_path / "script.sh"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    return path


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["com"], ["compare", "completion"]),
        (["run", "--no"], ["--no-compare"]),
        (["run", "--if-exists", "re"], ["rerun", "resume"]),
        (["data", "f"], ["fetch"]),
        (["store", "pu"], ["pull", "push"]),
        (["store", "push", "--store", "my"], ["my_folder"]),
        (["run", "my"], ["my.yml", "my_folder"]),
        (["compare", "my"], ["my.yml", "my_folder"]),
        (["cluster", "my.yml", "--out", "my"], ["my_folder"]),
        (["init", "my"], ["my.yml", "my_folder"]),
    ],
    ids=" ".join,
)
def test_bash_completes(script: Path, words: list[str], expected: list[str]) -> None:
    (script.parent / "my.yml").touch()
    (script.parent / "my_folder").mkdir()
    command = ["bash", "-c", TRY, "bash", str(script), "mtlv", *words]
    done = subprocess.run(command, cwd=script.parent, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == expected


def test_other_shells_have_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    for shell, known in (("zsh", "#compdef mtlv"), ("tcsh", "complete mtlv")):
        assert main(["completion", shell]) == 0
        assert known in capsys.readouterr().out
