"""Measure what a reader of a package must hold in mind: `python tests/house.py [FOLDER ...]`.

The default is `mtlv`. With `--budget` its numbers are compared with those in `tests/house.toml`, and what a
small suite does is measured too: it is trained from `run_suite` on, and by the command. Each function counts
once, when it is first called. A stay is a number of such calls in one file, one after another. Files that
everyone may use (`mtlv/*.py`) are left out. A unit, from `train_unit_by_steps` on, is counted by itself.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUDGET = ROOT / "tests" / "house.toml"
INIT_LINES = 15  # of an `__init__.py` that is not counted
SHORT_LINES = 4  # of a helper that may be read faster in place
# Names that tell nothing of what they hold.
VAGUE = {"found", "each", "own", "said", "told", "held", "whole", "apart", "given", "wanted"}
Function = ast.FunctionDef | ast.AsyncFunctionDef

TABLE_ROWS = 120
CONFIG = """\
experiment: house
encoder: tiny
data: {name: table, path: table.csv, columns: {text: text, labels: [heart, lung]}}
training: {epochs: 1, precision: fp32, device: cpu}
execution: {processes: 1, threads: 1}
matrix: {architecture: [mtl, stl]}
"""


@dataclass(frozen=True)
class File:
    path: Path
    text: str
    tree: ast.Module

    @property
    def functions(self) -> list[Function]:
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]

    @property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]


def files_of(package: Path) -> list[File]:
    """Return all modules but short `__init__.py`."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}
    return [
        File(path, text, ast.parse(text))
        for path, text in texts.items()
        if path.name != "__init__.py" or text.count("\n") > INIT_LINES
    ]


def length(function: Function) -> int:
    """Lines without decorators and docstring."""
    first = function.body[0]
    has_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = (first.end_lineno or 0) - first.lineno + 1 if has_docstring else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def ifs(function: Function) -> int:
    return sum(isinstance(node, ast.If | ast.IfExp) for node in ast.walk(function))


def public(file: File) -> Iterator[Function | ast.ClassDef]:
    """Yield public classes and functions, and public methods of public classes."""
    for node in file.tree.body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from (m for m in node.body if isinstance(m, Function) and not m.name.startswith("_"))


def uses(file: File) -> Iterator[str]:
    """Yield names where they are read."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def vague_names(file: File) -> Counter[str]:
    """Count where a name that tells nothing is bound: as a variable or as an argument."""
    names = Counter[str]()
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] += 1
        elif isinstance(node, ast.arg):
            names[node.arg] += 1
    return Counter({name: count for name, count in names.items() if name in VAGUE})


def spread(values: Sequence[int]) -> str:
    """Median, 90th percentile and maximum."""
    ordered = sorted(values)
    return "/".join(f"{ordered[int(share * (len(ordered) - 1))]:,}" for share in (0.5, 0.9, 1.0))


def percent(part: int, total: int) -> str:
    return f"{100 * part / max(total, 1):.0f}%"


def crossing(package: Path, files: Sequence[File]) -> Counter[str]:
    """Count imports of another top folder of the package, by the folder in which they stand."""
    counts = Counter[str]()
    for file in files:
        place = file.path.relative_to(package).parts
        for node in ast.walk(file.tree):
            if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
                continue
            parts = node.module.split(".")
            if parts[0] == package.name and len(place) > 1 and parts[1:2] != [place[0]]:
                counts[place[0]] += 1
    return counts


def totals(package: Path) -> dict[str, int]:
    """Return the numbers that a budget is kept of, by their names there."""
    files = files_of(package)
    return {
        "lines": sum(path.read_text(encoding="utf-8").count("\n") for path in package.rglob("*.py")),
        "files": len(list(package.rglob("*.py"))),
        "folders": sum(path.is_dir() and any(path.glob("*.py")) for path in package.iterdir()),
        "names": sum(len(file.functions) + len(file.classes) for file in files),
        "vague_names": sum(sum(vague_names(file).values()) for file in files),
    }


def measures(package: Path) -> dict[str, str]:
    """Return the rows of the table of a package."""
    files = files_of(package)
    functions = [function for file in files for function in file.functions]
    private, once = list[Function](), list[Function]()
    for file in files:
        used = Counter(uses(file))  # nobody else uses what is private
        helpers = [node for node in file.tree.body if isinstance(node, Function) and node.name[0] == "_"]
        private += helpers
        once += [helper for helper in helpers if used[helper.name] == 1]
    arguments = [
        a
        for function in functions
        for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if a.arg not in ("self", "cls")
    ]
    shown = [node for file in files for node in public(file)]
    folders = Counter(path.parent for path in package.rglob("*.py"))
    largest = max(folders, key=lambda folder: folders[folder])
    across = crossing(package, files)
    top = ", ".join(f"{part} {count}" for part, count in across.most_common(4))
    return {
        **{name.replace("_", " "): f"{value:,}" for name, value in totals(package).items()},
        "lines a file, median/p90/max": spread([file.text.count("\n") for file in files]),
        "lines a function": spread([length(function) for function in functions]),
        "most ifs in one function": str(max(map(ifs, functions))),
        "annotated arguments": percent(sum(a.annotation is not None for a in arguments), len(arguments)),
        "public docstrings": percent(sum(ast.get_docstring(node) is not None for node in shown), len(shown)),
        "functions that are private helpers": percent(len(private), len(functions)),
        "of these called once": percent(len(once), len(private)),
        f"called once, of up to {SHORT_LINES} lines": str(sum(length(f) <= SHORT_LINES for f in once)),
        "most files in one folder": f"{folders[largest]} ({largest.relative_to(package.parent)})",
        "imports across folders, by origin": f"{sum(across.values())}: {top}",
    }


class Walk:
    """A profile function that notes the file of each function's first call: of a suite, and of its units."""

    def __init__(self) -> None:
        self.seen = set[CodeType]()
        self.suite, self.unit = list[str](), list[str]()
        self._unit_frame: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "return" and frame is self._unit_frame:
            self._unit_frame = None
        if event == "call" and code.co_name == "train_unit_by_steps":
            self._unit_frame = frame
        if event != "call" or code in self.seen:
            return
        self.seen.add(code)
        is_function = code.co_flags & inspect.CO_NEWLOCALS and not code.co_name.startswith("<")
        path = Path(code.co_filename)
        if not is_function or not path.is_relative_to(ROOT / "mtlv"):
            return
        if path.parent != ROOT / "mtlv":
            (self.unit if self._unit_frame else self.suite).append(code.co_filename)


def count_stays(files: Sequence[str]) -> int:
    """Return the number of files that were entered, in their order; again counts again."""
    return sum(1 for _ in groupby(files))


def write_suite(folder: Path) -> Path:
    """Write a table and a config of three units; return the config's path."""
    rows = [f"{'large' if n % 2 else 'normal'} heart {n},{n % 2},{n // 2 % 2}" for n in range(TABLE_ROWS)]
    (folder / "table.csv").write_text("\n".join(["text,heart,lung", *rows, ""]), encoding="utf-8")
    config = folder / "house.yml"
    config.write_text(CONFIG, encoding="utf-8")
    return config


def walk_suite() -> dict[str, int]:
    """Train the three units; return the stays of the suite and of its units."""
    sys.path.insert(0, str(ROOT))
    from mtlv.events import ignore
    from mtlv.settings import load_suite
    from mtlv.suite.run import run_suite
    from mtlv.tracking import NullTracker

    walk = Walk()
    with tempfile.TemporaryDirectory() as name:
        suite = load_suite(write_suite(Path(name)), [f"store.uri={name}/mtlv-store"])
        sys.setprofile(walk)
        try:
            run_suite(suite, ignore, NullTracker())
        finally:
            sys.setprofile(None)
    return {"stays_of_suite": count_stays(walk.suite), "stays_of_unit": count_stays(walk.unit)}


def count_written_files() -> dict[str, int]:
    """Return the number of files that `mtlv run` leaves for the three units."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = write_suite(folder)
        before = len(list(folder.iterdir()))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        environment = {key: value for key, value in environment.items() if not key.startswith("MLFLOW_")}
        command = [sys.executable, "-m", "mtlv", "run", config.name]
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        return {"files_of_suite": sum(path.is_file() for path in folder.rglob("*")) - before}


def repository_totals() -> dict[str, int]:
    """Return the numbers of the repository beside the package."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        dependencies = tomllib.load(file)["project"]["dependencies"]
    names = subprocess.run(
        ["git", "ls-files", "-z", "experiments"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    experiments = sum((ROOT / name).stat().st_size for name in names.split("\0") if name)
    return {"dependencies": len(dependencies), "experiments_kilobytes": experiments // 1000}


def over_budget(values: dict[str, int], budget: dict[str, dict[str, Any]]) -> list[str]:
    """Return a sentence for each number above its limit, and each limit above its target without a reason."""
    problems = []
    for name, value in values.items():
        limit, target = budget[name]["limit"], budget[name]["target"]
        if value > limit:
            problems.append(
                f"{name}: {value:,}, above the limit of {limit:,}. Take something away, or raise the limit "
                f"in {BUDGET.name} and say why in its `why`."
            )
        elif limit > target and not budget[name].get("why"):
            problems.append(f"{name}: the limit {limit:,} is above the target {target:,}; say why in `why`.")
    return problems


def check_budget() -> int:
    """Print the numbers beside their limits and targets; return the exit code."""
    with BUDGET.open("rb") as file:
        budget = tomllib.load(file)
    values = {**totals(ROOT / "mtlv"), **repository_totals(), **walk_suite(), **count_written_files()}
    print("| | now | limit | target |\n| --- | ---: | ---: | ---: |")
    for name, value in values.items():
        limits = budget[name]
        print(f"| {name.replace('_', ' ')} | {value:,} | {limits['limit']:,} | {limits['target']:,} |")
    problems = over_budget(values, budget)
    print(*problems, sep="\n", file=sys.stderr)
    return bool(problems)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, default=[ROOT / "mtlv"], help="packages to measure")
    parser.add_argument("--budget", action="store_true", help="compare with tests/house.toml")
    arguments = parser.parse_args()
    if arguments.budget:
        return check_budget()
    columns = [measures(package) for package in arguments.folders]
    print("| |", " | ".join(package.name for package in arguments.folders), "|")
    print("| --- |" + " ---: |" * len(columns))
    for row in columns[0]:
        print(f"| {row} |", " | ".join(column.get(row, "") for column in columns), "|")
    return 0


if __name__ == "__main__":
    sys.exit(main())
