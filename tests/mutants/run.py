"""Make small mistakes in the package, one at a time, and see that the tests notice.

`python tests/mutants/run.py` runs all, with PART ... those with one of these texts in their area,
file or description. The exit code is 1 where fewer than 95% die, or where one survives that no `equivalent`
explains.

Each runs in a process forked from this one, which has imported what is slow to import (and nothing of the
package), on a copy of the checkout. One whose tests take ten times as long as without it counts as dead.
"""

from __future__ import annotations

import argparse
import compileall
import os
import py_compile
import runpy
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kept import ROOT, Mutant, kept

COPIED = ("mtlv", "lab", "tests", "config", "experiments", "benchmarks", "pyproject.toml")
LEAST = 0.95
PASSED, FAILED = 0, (1, 2)  # 2: an error while tests are collected
LIMIT = 600.0  # seconds, of tests that were not yet timed


def warm() -> None:
    """Import what tests wait for, and nothing of the package: that is imported anew by each child."""
    runpy.run_path(str(ROOT / "tests" / "conftest.py"))  # the tests' environment, before libraries read it
    import iterstrat.ml_stratifiers
    import mlflow
    import pydantic
    import scipy.stats
    import sklearn.metrics
    import torch
    import transformers

    torch.set_num_threads(1)
    torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))]).zero_grad()  # imports what optimizers need
    for name in ("AutoConfig", "AutoModel", "AutoTokenizer", "BertConfig", "BertModel", "BertTokenizer"):
        getattr(transformers, name)
    assert not any(name.split(".")[0] == "mtlv" for name in sys.modules)
    del iterstrat, mlflow, pydantic, scipy, sklearn


class Slot:
    """A copy of the checkout, in which one mutant at a time is made and tested."""

    def __init__(self, folder: Path) -> None:
        self.root, self.out = folder / "checkout", folder / "out"
        for name in COPIED:
            source, target = ROOT / name, self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        # By content: a mutant may have the size and the second of what stood there before.
        mode = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(self.root / "mtlv", quiet=1, invalidation_mode=mode)

    def start(self, tests: Sequence[str], mutant: Mutant | None) -> int:
        """Fork a process that runs tests; its id, which is its group's too."""
        shutil.rmtree(self.root / "tmp", ignore_errors=True)
        if mutant is not None:
            (self.root / mutant.file).write_text(mutant.made(ROOT), encoding="utf-8")
        child = os.fork()
        if child:
            return child
        os.setpgid(0, 0)
        code = 3
        try:
            code = self._tested(tests)
        finally:
            os._exit(code)

    def _tested(self, tests: Sequence[str]) -> int:
        import pytest

        os.chdir(self.root)
        to = os.open(self.out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(to, 1)
        os.dup2(to, 2)
        sys.path.insert(0, str(self.root))
        sys.dont_write_bytecode = True
        os.environ["PYTHONPATH"] = str(self.root)  # of children
        options = ["-x", "-q", "-p", "no:cacheprovider", f"--basetemp={self.root / 'tmp'}"]
        return int(pytest.main([*options, *tests]))

    def put_back(self, mutant: Mutant | None) -> None:
        if mutant is not None:
            shutil.copy(ROOT / mutant.file, self.root / mutant.file)


@dataclass
class Running:
    """Tests that are running."""

    slot: Slot
    tests: tuple[str, ...]
    mutant: Mutant | None
    pid: int
    begun: float
    limit: float


@dataclass(frozen=True)
class Done:
    """How tests ended: `code` is None where they took too long."""

    code: int | None
    seconds: float
    said: str


Heard = Callable[[tuple[str, ...], Mutant | None, Done], None]


def run(
    work: Sequence[tuple[tuple[str, ...], Mutant | None]],
    slots: Sequence[Slot],
    limit: Callable[[tuple[str, ...]], float],
    heard: Heard,
) -> None:
    """Tests of mutants, as many at once as there are slots."""
    waiting, free, running = list(work), list(slots), list[Running]()
    try:
        while waiting or running:
            while waiting and free:
                (tests, mutant), slot = waiting.pop(0), free.pop()
                pid = slot.start(tests, mutant)
                running.append(Running(slot, tests, mutant, pid, time.monotonic(), limit(tests)))
            time.sleep(0.02)
            for each in list(running):
                done = _ended(each)
                if done is not None:
                    running.remove(each)
                    each.slot.put_back(each.mutant)
                    free.append(each.slot)
                    heard(each.tests, each.mutant, done)
    finally:
        for each in running:
            _kill(each)


def _kill(each: Running) -> None:
    with suppress(ProcessLookupError):
        os.killpg(each.pid, signal.SIGKILL)


def _ended(each: Running) -> Done | None:
    seconds = time.monotonic() - each.begun
    pid, status = os.waitpid(each.pid, os.WNOHANG)
    late = not pid and seconds > each.limit
    if not pid and not late:
        return None
    _kill(each)  # also what the tests have left behind
    if late:
        os.waitpid(each.pid, 0)
    said = each.slot.out.read_text(errors="replace") if each.slot.out.exists() else ""
    return Done(None if late else os.waitstatus_to_exitcode(status), seconds, said)


def judged(mutants: Sequence[Mutant], folder: Path, processes: int) -> list[Mutant]:
    """The mutants that survive; ends the program where tests do not pass without any."""
    slots = [Slot(folder / str(number)) for number in range(processes)]
    took: dict[tuple[str, ...], float] = {}
    survivors: list[Mutant] = []

    def without(tests: tuple[str, ...], _: Mutant | None, done: Done) -> None:
        took[tests] = done.seconds
        if done.code != PASSED:
            raise SystemExit(f"{' '.join(tests)} do not pass as the code is:\n{done.said[-4000:]}")

    def with_one(_: tuple[str, ...], mutant: Mutant | None, done: Done) -> None:
        assert mutant is not None
        if done.code == PASSED:
            survivors.append(mutant)
            why = f"\n    equivalent: {mutant.equivalent}" if mutant.equivalent else ""
            print(f"SURVIVES {mutant}{_shown(mutant)}{why}", flush=True)
        elif done.code is None:
            print(f"TOO SLOW, so dead: {mutant}", flush=True)
        elif done.code not in FAILED:
            raise SystemExit(f"{mutant}: pytest ended with {done.code}:\n{done.said[-4000:]}")
        elif mutant.equivalent:
            print(f"DIES though it is said to be equivalent: {mutant}\n{done.said[-1000:]}", flush=True)

    run([(tests, None) for tests in dict.fromkeys(m.tests for m in mutants)], slots, lambda _: LIMIT, without)
    run([(m.tests, m) for m in mutants], slots, lambda tests: max(60.0, 10 * took[tests]), with_one)
    return survivors


def _shown(mutant: Mutant) -> str:
    lines = [f"- {line}" for line in mutant.old.splitlines()] + [
        f"+ {line}" for line in mutant.new.splitlines()
    ]
    return "".join(f"\n    {line}" for line in lines)


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("part", nargs="*", help="only those with this text in area, file or description")
    parser.add_argument("--list", action="store_true", help="print them and run nothing")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args(given)
    mutants = [m for m in kept() if not asked.part or any(part in f"{m.area} {m}" for part in asked.part)]
    for mutant in mutants:
        mutant.made(ROOT)  # before anything runs
    if asked.list or not mutants:
        print("\n".join(f"{m.area}: {m}" for m in mutants) + f"\n{len(mutants)} mutants")
        return 0
    begun = time.monotonic()
    warm()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        survivors = judged(mutants, Path(folder), asked.processes)
    died = len(mutants) - len(survivors)
    unexplained = [mutant for mutant in survivors if not mutant.equivalent]
    share, seconds = died / len(mutants), time.monotonic() - begun
    print(f"{died} of {len(mutants)} mutants die ({share:.1%}) in {seconds:.0f} s;")
    print(f"{len(unexplained)} survive unexplained, {len(survivors) - len(unexplained)} are equivalent")
    return int(bool(unexplained) or share < LEAST)


if __name__ == "__main__":
    os.environ.pop("MTLV_REAL_DATA", None)  # the same tests everywhere
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
