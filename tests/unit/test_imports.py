"""Who may import whom, read from the source of every file; CONTRIBUTING.md says the same to people."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "mtlv"
FILES = sorted(PACKAGE.rglob("*.py"))
EVERYONE = {
    "disk",
    "environ",
    "environment",
    "errors",
    "events",
    "foreign",
    "formatting",
    "hardware",
    "locks",
    "processes",
    "registries",
    "sealed",
    "seeding",
    "time_left",
    "_version",
}
WORK = {"store", "training", "models", "data", "evaluation", "settings", "plan"}  # what units are made of
RULES: dict[str, set[str]] = {part: set() for part in EVERYONE | {"__init__", "arguments", "display"}} | {
    "plan": set(),
    "grouping": set(),
    "settings": {"plan"},
    "data": {"plan"},
    "models": {"plan"},
    "tracking": {"plan"},
    "evaluation": {"plan"},
    "figures": {"evaluation", "grouping"},
    "training": {"models", "data", "plan"},
    "store": {"data", "plan"},
    "units": WORK,
    "planning": WORK | {"units", "grouping", "tracking"},
    "execution": {"units", "store", "training", "data", "settings", "plan"},
    "reporting": {"planning", "evaluation", "figures", "tracking", "store", "data", "settings", "plan"},
    "serving": {"units", "store", "training", "models", "data", "tracking", "settings", "plan"}
    | {"planning", "reporting"},
    "comparison": {"evaluation", "figures", "reporting", "tracking", "plan"},
    "suite": WORK
    | {"units", "planning", "execution", "reporting", "serving", "grouping", "tracking", "figures"},
    "cli": WORK
    | {"arguments", "display", "units", "planning", "execution", "reporting", "serving", "tracking"}
    | {"comparison", "suite"},
}
RULES["__main__"] = {"cli"}
RULES["api"] = RULES["cli"] - {"arguments", "cli"} | {"figures"}
RULES["__init__"] = {"api"}
LOADING = {
    "data",
    "settings",
    "store",
    "units",
}  # what `load`, `compare` and `data_page` of `comparison` may import besides
TYPES_ALONE = {"registries.py", "objectives.py"}  # whose `if TYPE_CHECKING:` may name anything: it never runs
LATE = {  # files whose functions import parts of ours that load PyTorch, for which `mtlv check` does not wait
    "execution/choose.py",
    "execution/stacking.py",
    "models/encoder.py",
    "planning/problems.py",
    "planning/stages.py",
    "planning/task_vectors.py",
    "serving/model.py",
    "serving/predict.py",
    "suite/estimate.py",
    "suite/export.py",
    "suite/portable.py",
    "suite/speed.py",
    "units/checkpointing.py",
    "units/input_cache.py",
    "units/inputs.py",
    "units/teacher_outputs.py",
    "units/timing.py",
    "units/model.py",
    "units/train.py",
}
MOST = 24  # files of a folder
HEAVY = (
    "torch",
    "transformers",
    "mlflow",
    "pandas",
    "sklearn",
    "matplotlib",
    "scipy",
    "pyarrow",
    "tokenizers",
    "datasets",
)


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """(module, line) of each import anywhere in a file; relative ones made absolute."""
    package = ["mtlv", *path.relative_to(PACKAGE).parent.parts]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if path.name in TYPES_ALONE:
        tree.body = [node for node in tree.body if not _is_for_types(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            # `from mtlv import data` names a package of ours in the list.
            yield from (
                (f"{module}.{a.name}" if module == "mtlv" else module, node.lineno) for a in node.names
            )


def _is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_only_what_the_house_allows(path: Path) -> None:
    part = part_of(path)
    allowed = RULES[part] | EVERYONE | {part, "__version__"}
    readers = PACKAGE / "comparison" / "compare.py", PACKAGE / "comparison" / "data_page.py"
    if path.is_relative_to(PACKAGE / "comparison" / "load") or path in readers:
        allowed |= LOADING
    wrong = [
        f"line {line}: {module}"
        for module, line in imported(path)
        if module.split(".")[0] == "mtlv"
        and len(module.split(".")) > 1
        and module.split(".")[1] not in allowed
    ]
    assert not wrong, f"{part} may import {sorted(allowed)}: {wrong}"


def test_the_rules_see_wrong_imports() -> None:
    source = PACKAGE / "data" / "source.py"
    assert "mtlv.plan.task" in {module for module, _ in imported(source)}
    assert "models" not in RULES["data"]
    assert not RULES["training"] & {"settings", "units", "tracking"}


def test_no_part_imports_itself_by_way_of_others() -> None:
    done = set(EVERYONE)
    while left := RULES.keys() - done:
        free = {part for part in left if RULES[part] <= done}
        assert free, f"in a circle: {sorted(left)}"
        done |= free


def test_our_own_parts_are_imported_at_the_top_where_nothing_heavy_follows() -> None:
    late = {
        str(path.relative_to(PACKAGE))
        for path in FILES
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mtlv")
    }
    boundaries = {name for name in late if name.startswith("cli/") or name.endswith("__init__.py")}
    assert late - boundaries == LATE


def test_no_folder_is_a_hall() -> None:
    folders = {path.parent for path in FILES}
    sizes = {str(folder.relative_to(PACKAGE)): len(list(folder.glob("*.py"))) for folder in folders}
    assert {folder: size for folder, size in sizes.items() if size > MOST} == {}


def test_few_files_import_mlflow() -> None:
    importers = {p for p in FILES for module, _ in imported(p) if module.split(".")[0] == "mlflow"}
    tracking = {p for p in importers if part_of(p) == "tracking" and p.name.startswith("mlflow_")}
    assert importers - tracking == {PACKAGE / "serving" / "pyfunc.py"}


@pytest.mark.parametrize(
    ("clients", "place"),
    [({"ray"}, "execution/ray"), ({"boto3", "s3fs", "fsspec", "gcsfs", "adlfs"}, "store/copies.py")],
    ids=["Ray", "object clients"],
)
def test_clients_of_clusters_and_buckets_are_imported_in_one_place(clients: set[str], place: str) -> None:
    importers = {p for p in FILES for module, _ in imported(p) if module.split(".")[0] in clients}
    assert importers
    assert {p for p in importers if not p.is_relative_to(PACKAGE / place)} == set()


def test_plan_needs_the_standard_library_and_numpy_alone() -> None:
    tops = {m.split(".")[0] for p in (PACKAGE / "plan").glob("*.py") for m, _ in imported(p)}
    assert tops - set(sys.stdlib_module_names) <= {"numpy", "mtlv"}


@pytest.mark.parametrize(
    "start",
    [
        "import mtlv.cli",
        "import mtlv.settings as s; s.load_overrides([])",
        "import mtlv.display.suite, mtlv.display.tables, mtlv.display.download",
        "import mtlv.plan",
    ],
)
def test_light_parts_load_nothing_heavy(start: str) -> None:
    script = f"import sys; {start}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.stdout.strip() == "[]", done.stderr
