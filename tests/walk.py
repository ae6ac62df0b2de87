"""Follow a small suite through the code: `python tests/walk.py [--all]` prints the files that it visits.

Each function counts once, when it is first called. A stay is a number of such calls in one file, one after
another; a return is a stay in a file that was left before. Files that everyone may use (`mtlv/*.py`) are left
out. What a unit passes through, from `train_unit` on, is counted by itself.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "mtlv"
CONFIG = """\
experiment: walk
encoder: tiny
data: {name: synthetic, documents: 60}
architecture: gmtl
grouping: {k: 2}
training: {epochs: 1, precision: fp32, device: cpu}
execution: {processes: 1, threads: 1}
tracking: {models: none}
"""
UNIT = "train_unit"


class Walk:
    """A profile function that notes the file of each function's first call: of a suite, and of its units."""

    def __init__(self) -> None:
        self.seen: set[CodeType] = set()
        self.suite: list[str] = []
        self.unit: list[str] = []
        self._inside: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "return" and frame is self._inside:
            self._inside = None
        function = code.co_flags & inspect.CO_NEWLOCALS and not code.co_name.startswith("<")
        if event != "call" or not function or not code.co_filename.startswith(str(PACKAGE)):
            return
        path = Path(code.co_filename).relative_to(PACKAGE)
        if code in self.seen or len(path.parts) == 1:
            return
        self.seen.add(code)
        if code.co_name == UNIT:
            self._inside = frame
        (self.unit if self._inside is not None else self.suite).append(path.as_posix())


def stays(files: list[str]) -> list[str]:
    """Without repetitions of the file before."""
    return [file for file, _ in groupby(files)]


def walk() -> Walk:
    """Train two units in a temporary folder, from `run_suite` on."""
    sys.path.insert(0, str(ROOT))
    from mtlv.events import ignore
    from mtlv.settings import load_suite
    from mtlv.suite.run import run_suite
    from mtlv.tracking import NullTracker

    found = Walk()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "c.yml"
        config.write_text(CONFIG, encoding="utf-8")
        suite = load_suite(config, [f"store.uri={folder}/store"])
        sys.setprofile(found)
        try:
            run_suite(suite, ignore, NullTracker())
        finally:
            sys.setprofile(None)
    return found


def main() -> None:
    """Print the numbers, and with `--all` the files in their order."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true", help="print every stay")
    everything, found = parser.parse_args().all, walk()
    for name, files in (("suite", found.suite), ("unit", found.unit)):
        way = stays(files)
        distinct = len(set(way))
        print(f"{name}: {len(way)} stays in {distinct} files, {len(way) - distinct} returns")
        print(*(f"  {file}" for file in way if everything), sep="\n", end="\n" if everything else "")


if __name__ == "__main__":
    main()
