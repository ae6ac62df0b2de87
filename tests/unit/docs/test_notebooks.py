"""Every cell of every notebook runs, in order, here with one epoch of training on fewer documents.

They run in a process of their own: MLflow keeps the store of a relative address in any working folder.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[3] / "docs" / "notebooks").glob("*.ipynb"))
HELPERS = Path(__file__).resolve().parents[1] / "helpers"
LESS = {
    r'"epochs": \d+': '"epochs": 1, "precision": "fp32"',
    r'"seeds": \[0, 1, 2\]': '"seeds": [0, 1]',
    r"documents=1000": "documents=100",
    r"documents=800\)(.*)\[400:\]": r"documents=200)\1[100:]",
    r'"documents": 300': '"documents": 100',
    r"range\(240\)": "range(60)",
}
"""What is slow in a notebook, and what a test needs of it."""


def cells(path: Path) -> list[dict]:
    return [
        cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"
    ]


def shorter(source: str) -> str:
    for slow, quick in LESS.items():
        source = re.sub(slow, quick, source)
    return source


def run(source: str, names: dict) -> object:
    """Run a cell and return the value of its last expression, as a notebook shows it."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def shows(cell: dict) -> bool:
    return any(each["output_type"] in ("execute_result", "display_data") for each in cell["outputs"])


def test_what_is_slow_is_found():
    sources = "\n".join("".join(cell["source"]) for path in NOTEBOOKS for cell in cells(path))
    assert all(re.search(slow, sources) for slow in LESS)


@pytest.mark.slow
def test_every_cell_runs_and_shows_what_is_kept(tmp_path):
    assert len(NOTEBOOKS) == 4
    done = subprocess.run([sys.executable, __file__], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def main() -> None:
    sys.path.append(str(HELPERS))
    import pixel

    pixel.draw_nothing(pytest.MonkeyPatch())
    for path in NOTEBOOKS:
        names: dict = {}
        for number, cell in enumerate(cells(path), 1):
            where = f"{path.name}, cell {number}"
            assert cell["execution_count"] == number, (
                f"{where}: run the notebook from its beginning, and save it"
            )
            value = run(shorter("".join(cell["source"])), names)
            assert (value is not None) <= shows(cell), f"{where}: its output is not kept"
            assert "error" not in {each["output_type"] for each in cell["outputs"]}, where
            assert "stderr" not in {each.get("name") for each in cell["outputs"]}, (
                f"{where}: progress is kept"
            )


if __name__ == "__main__":
    main()
