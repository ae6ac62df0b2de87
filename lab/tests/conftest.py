"""The lab as if it were installed beside mtlv, with the fixtures and helpers of mtlv's own tests."""

from __future__ import annotations

import sys
import tempfile
import tomllib
from pathlib import Path

LAB = Path(__file__).resolve().parents[1]
TESTS = LAB.parent / "tests"


def install() -> None:
    """Let this process find the package and its entry points, which are read from `pyproject.toml`."""
    project = tomllib.loads((LAB / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = Path(tempfile.mkdtemp()) / f"mtlv_lab-{project['version']}.dist-info"
    folder.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (folder / "METADATA").write_text(head, encoding="utf-8")
    points = [
        line
        for group, names in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in names.items()))
    ]
    (folder / "entry_points.txt").write_text("\n".join(points), encoding="utf-8")
    sys.path[:0] = [str(LAB), str(folder.parent)]


install()
sys.path += [str(TESTS / "unit" / "helpers"), str(LAB / "tests" / "helpers")]

import importlib.util  # noqa: E402

spec = importlib.util.spec_from_file_location("unit_conftest", TESTS / "unit" / "conftest.py")
assert spec is not None
assert spec.loader is not None
unit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(unit)
real_save, writers, table, suite = unit.real_save, unit.writers, unit.table, unit.suite
one_corpus_per_kind, comparison_of = unit.one_corpus_per_kind, unit.comparison_of
