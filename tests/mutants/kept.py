"""Small mistakes that the tests have to notice: read from this folder's lists, one for each area.

A list is YAML: a file of the package -> its `tests` and its `mutants`. A mutant is `wrong` (what is wrong
with it, in one line), `old` (a text that stands once in the file), `new` (what stands there instead), and
where it needs them `tests` of its own and `equivalent` (why no test can tell it from the right code).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KEYS = {"wrong", "old", "new"}


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Args:
        area: the name of its list.
        file: that has it, from the root of the checkout.
        wrong: what is wrong with it.
        old, new: texts.
        tests: what pytest is to run, from the root of the checkout.
        equivalent: why nothing can notice it; empty for all others.
    """

    area: str
    file: str
    wrong: str
    old: str
    new: str
    tests: tuple[str, ...]
    equivalent: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.wrong}"

    def made(self, root: Path) -> str:
        """The file's text with the mistake.

        Raises:
            ValueError: the text does not stand there once, or what comes of it is no Python.
        """
        text = (root / self.file).read_text(encoding="utf-8")
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"{self}: its text stands there {count} times:\n{self.old}")
        made = text.replace(self.old, self.new)
        compile(made, self.file, "exec")
        return made


def kept(area: str = "*") -> list[Mutant]:
    """The mutants of all lists.

    Raises:
        ValueError: a list has other keys, or a file twice.
    """
    found = []
    for path in sorted(HERE.glob(f"{area}.yml")):
        text = path.read_text(encoding="utf-8")
        files = re.findall(r"^(\S+):$", text, re.MULTILINE)
        if twice := [file for file in set(files) if files.count(file) > 1]:
            raise ValueError(f"{path.name} has a file twice, of which only the last counts: {twice}")
        for file, held in yaml.safe_load(text).items():
            for given in held["mutants"]:
                if not KEYS <= set(given) <= KEYS | {"tests", "equivalent"}:
                    raise ValueError(f"{path.name}: {file}: {given}")
                tests = given.pop("tests", None) or held["tests"]
                found.append(Mutant(path.stem, file, tests=tuple(tests.split()), **given))
    return found
