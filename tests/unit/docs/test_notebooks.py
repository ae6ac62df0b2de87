"""Every cell of every notebook runs, in order, here with one epoch of training."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[3] / "docs" / "notebooks").glob("*.ipynb"))


def cells(path: Path) -> list[dict]:
    return [
        cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"
    ]


def run(source: str, names: dict) -> object:
    """Run a cell and return the value of its last expression, as a notebook shows it."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def shows(cell: dict) -> bool:
    return any(each["output_type"] in ("execute_result", "display_data") for each in cell["outputs"])


def test_there_are_four():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_shows_what_is_kept(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for number, cell in enumerate(cells(path), 1):
        assert cell["execution_count"] == number, "run the notebook from its beginning, and save it"
        value = run(re.sub(r'("epochs": )\d+', r"\g<1>1", "".join(cell["source"])), names)
        assert (value is not None) <= shows(cell)
        assert {each["output_type"] for each in cell["outputs"]} <= {
            "execute_result",
            "display_data",
            "stream",
        }
        assert "stderr" not in {each.get("name") for each in cell["outputs"]}, "progress is kept"
