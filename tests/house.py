"""Measure packages: `python tests/house.py [FOLDER ...]` prints a column for each; by default of `mtlv`."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHORT = 4  # lines of a helper that may be read faster in place
Function = ast.FunctionDef | ast.AsyncFunctionDef


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
    """All modules but those `__init__.py` of up to 15 lines."""
    found = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.name != "__init__.py" or text.count("\n") > 15:
            found.append(File(path, text, ast.parse(text)))
    return found


def length(function: Function) -> int:
    """Lines without decorators and docstring."""
    first = function.body[0]
    docs = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    said = (first.end_lineno or 0) - first.lineno + 1 if docs else 0
    return (function.end_lineno or 0) - function.lineno + 1 - said


def ifs(function: Function) -> int:
    return sum(isinstance(node, ast.If | ast.IfExp) for node in ast.walk(function))


def public(file: File) -> Iterator[Function | ast.ClassDef]:
    """Public classes and functions, and public methods of public classes."""
    for node in file.tree.body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from (m for m in node.body if isinstance(m, Function) and not m.name.startswith("_"))


def uses(file: File) -> Iterator[str]:
    """Names where they are read."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def spread(values: Sequence[int]) -> str:
    """Median, 90th percentile and maximum."""
    ordered = sorted(values)
    return "/".join(f"{ordered[int(share * (len(ordered) - 1))]:,}" for share in (0.5, 0.9, 1.0))


def share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.0f}%"


def measures(package: Path) -> dict[str, str]:
    files = files_of(package)
    functions = [each for file in files for each in file.functions]
    private, once = list[Function](), list[Function]()
    for file in files:
        used = Counter(uses(file))  # nobody else uses what is private
        helpers = [node for node in file.tree.body if isinstance(node, Function) and node.name[0] == "_"]
        private += helpers
        once += [each for each in helpers if used[each.name] == 1]
    arguments = [
        a
        for each in functions
        for a in (*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs)
        if a.arg not in ("self", "cls")
    ]
    shown = [node for file in files for node in public(file)]
    folders = Counter(path.parent for path in package.rglob("*.py"))
    largest = max(folders, key=lambda folder: folders[folder])
    across = crossing(package, files)
    top = ", ".join(f"{part} {count}" for part, count in across.most_common(4))
    return {
        "lines, with docstrings and blanks": f"{sum(file.text.count(chr(10)) for file in files):,}",
        "lines a file, median/p90/max": spread([file.text.count("\n") for file in files]),
        "lines a function": spread([length(each) for each in functions]),
        "most ifs in one function": str(max(map(ifs, functions))),
        "annotated arguments": share(sum(a.annotation is not None for a in arguments), len(arguments)),
        "public docstrings": share(sum(ast.get_docstring(node) is not None for node in shown), len(shown)),
        "functions that are private helpers": share(len(private), len(functions)),
        "of these called once": share(len(once), len(private)),
        f"called once, of up to {SHORT} lines": str(sum(length(each) <= SHORT for each in once)),
        "most files in one folder": f"{folders[largest]} ({largest.relative_to(package.parent)})",
        "names to know (functions + classes)": f"{len(functions) + sum(len(f.classes) for f in files):,}",
        "imports across folders, by origin": f"{sum(across.values())}: {top}",
    }


def crossing(package: Path, files: Sequence[File]) -> Counter[str]:
    """Imports of another top folder of the package, by the folder in which they stand."""
    found: Counter[str] = Counter()
    for file in files:
        own = file.path.relative_to(package).parts
        for node in ast.walk(file.tree):
            if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
                continue
            parts = node.module.split(".")
            if parts[0] == package.name and len(own) > 1 and parts[1:2] != [own[0]]:
                found[own[0]] += 1
    return found


def main() -> None:
    packages = [Path(each) for each in sys.argv[1:]] or [ROOT / "mtlv"]
    columns = [measures(package) for package in packages]
    print("| |", " | ".join(package.name for package in packages), "|")
    print("| --- |" + " ---: |" * len(packages))
    for row in columns[0]:
        print(f"| {row} |", " | ".join(column.get(row, "") for column in columns), "|")


if __name__ == "__main__":
    main()
