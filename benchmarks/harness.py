"""Shared code of the benchmarks: measuring peers in turn, claims with limits, tables and JSON.

A benchmark measures named peers in one run (`interleaved`; `alone` if each needs a separate process) and
passes a `Result` to `publish`, which prints it and writes results/NAME.json. The exit code is 1 if a
claim is not met. `summary.py` prints the claims of all results.

Environment variables:
    MTLV_BENCH_QUICK=FOLDER: use the smallest sizes, only to check that it runs, and write to FOLDER.
    MTLV_BENCH_OUT=FOLDER: write to FOLDER instead of results/, for trials with other arguments.
    MTLV_BENCH_JOURNAL=FILE (set by `gpu.py`): append the output of each process to FILE as soon as it ends,
        and resume from there; leave out a peer that fails or takes longer than MTLV_BENCH_PATIENCE seconds.
    MTLV_BENCH_CPU=1: measure training in CPU seconds, for a machine with other work; with OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import io
import json
import math
import os
import pstats
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
QUICK = os.environ.get("MTLV_BENCH_QUICK")
JOURNAL = os.environ.get("MTLV_BENCH_JOURNAL")
PATIENCE = float(os.environ.get("MTLV_BENCH_PATIENCE", "inf"))
RESULTS = Path(QUICK or os.environ.get("MTLV_BENCH_OUT") or Path(__file__).parent / "results")
clock = time.process_time if os.environ.get("MTLV_BENCH_CPU") else time.perf_counter
"""Clock of training."""
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


def sized(usual: Any, least: Any) -> Any:
    """Return a size of the benchmark: `usual`, or `least` in a quick check."""
    return least if QUICK else usual


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help shows a docstring unchanged."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


@dataclass(frozen=True)
class Claim:
    """A claim and its measured value.

    Args:
        text: the claim, as in the table of benchmarks/results/README.md.
        limit: limit of the value; None if it has none.
        value: measured value; None if it was not measured.
        unit: unit of both numbers: `x`, `%`, `s`, ...
        at_least: whether the limit is a minimum; otherwise it is a maximum.
        why: why the value was not measured, or how it was.
    """

    text: str
    limit: float | None
    value: float | None = None
    unit: str = "x"
    at_least: bool = True
    why: str = ""

    @property
    def verdict(self) -> str:
        """Either `met`, `not met`, `not measured` or `no limit`."""
        if self.value is None:
            return "not measured"
        if self.limit is None:
            return "no limit"
        good = self.value >= self.limit if self.at_least else self.value <= self.limit
        return "met" if good else "not met"


@dataclass
class Result:
    """Results of a benchmark.

    Args:
        name: name of the files in results/.
        title: what was measured, in one line.
        unit: unit of the values, such as `s` or `documents/s`.
        values: row -> peer -> values of its repeats. A row is a case, such as `2000 labels`.
        claims: claims with limits and values.
        setting: what was trained or grouped, as plain values.
        profile: profile as text.
        details: anything else, as plain values.
    """

    name: str
    title: str
    unit: str
    values: dict[str, dict[str, list[float]]]
    claims: list[Claim] = field(default_factory=list)
    setting: dict[str, Any] = field(default_factory=dict)
    profile: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    def ratio(self, row: str, peer: str, other: str) -> float:
        """Return the median of `peer` divided by the median of `other`."""
        return median(self.values[row][peer]) / median(self.values[row][other])


def seconds(work: Callable[[], object]) -> float:
    """Return the wall seconds that one call takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def interleaved(
    peers: Mapping[str, Callable[[], float]], repeats: int, *, warm: int = 0
) -> dict[str, list[float]]:
    """Measure each peer `repeats` times. The order rotates, so that a slow minute affects all peers.

    Args:
        peers: name -> function that returns a measurement, such as `lambda: seconds(work)`.
        repeats: number of repeats that are kept.
        warm: number of warm-up rounds, which are not kept.
    """
    names = list(peers)
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(warm + repeats):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            try:
                value = peers[name]() if name in found else None
            except (SystemExit, subprocess.TimeoutExpired) as failure:
                if JOURNAL is None:
                    raise
                print(f"{name} is left out: {failure}", flush=True)
                del found[name]
            else:
                if value is not None and number >= warm:
                    found[name].append(value)
    return found


def alone(
    argv: Sequence[str],
    *,
    python: str = sys.executable,
    env: Mapping[str, str] | None = None,
) -> Any:
    """Run a Python script in a separate process and return the JSON value in its last line of output.

    Args:
        argv: the script and its arguments.
        python: Python interpreter.
        env: changes to the environment.

    Raises:
        SystemExit: it failed; the message contains its errors.
        TimeoutExpired: it exceeded the time limit.
    """
    call = [Path(argv[0]).name, *argv[1:]]
    earlier = next((line for line in _earlier() if line["call"] == call), None)
    if earlier is not None:
        _earlier().remove(earlier)  # the next equal call is another repeat
        return earlier["value"]
    if QUICK and python == sys.executable:
        value = json.loads(_here(argv).strip().splitlines()[-1])
    else:
        value = json.loads(_apart([python, *argv], env or {}).strip().splitlines()[-1])
    if JOURNAL is not None:
        with Path(JOURNAL).open("a", encoding="utf-8") as file:  # the last line may be incomplete
            file.write(f"\n{json.dumps({'call': call, 'value': value})}\n")
    return value


def journal(path: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a file of JSON lines; none if there is no file."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


@cache
def _earlier() -> list[dict[str, Any]]:
    return [] if JOURNAL is None else journal(Path(JOURNAL))


def _apart(argv: Sequence[str], env: Mapping[str, str]) -> str:
    """Return the output of a script in a separate process, which imports from this checkout first."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    whole = os.environ | {"PYTHONPATH": path} | dict(env)
    limit = None if math.isinf(PATIENCE) else PATIENCE
    done = subprocess.run(argv, capture_output=True, text=True, env=whole, timeout=limit)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stderr[-4000:]}")
    return done.stdout


def _here(argv: Sequence[str]) -> str:
    """Return the output of a script in this process, so that a quick check imports PyTorch only once."""
    before, folder, told = sys.argv, os.getcwd(), io.StringIO()
    sys.argv = list(argv)
    try:
        with contextlib.redirect_stdout(told), contextlib.suppress(SystemExit):
            runpy.run_path(argv[0], run_name="__main__")
    finally:
        sys.argv = before
        os.chdir(folder)
    return told.getvalue()


def profiled(work: Callable[[], object], lines: int = 15) -> str:
    """Return the functions in which `work` spends the most time, by cProfile."""
    profile = cProfile.Profile()
    profile.runcall(work)
    text = io.StringIO()
    pstats.Stats(profile, stream=text).strip_dirs().sort_stats("tottime").print_stats(lines)
    return text.getvalue().strip()


def shares(spent: Mapping[str, float], lines: int = 15) -> str:
    """Return a profile as text: the largest parts in percent of the whole."""
    whole = sum(spent.values())
    largest = sorted(spent, key=lambda name: -spent[name])[:lines]
    return "\n".join(f"{100 * spent[name] / whole:6.1f}%  {name}" for name in largest)


def publish(result: Result) -> int:
    """Print and write a result; return 1 if a claim is not met (0 if quick or with a journal)."""
    print(f"\n{result.title}\n")
    print("\n".join(_table(result)))
    for claim in result.claims:
        print(f"{claim.verdict}: {_sentence(claim)}")
    if result.profile:
        print(f"\nwhere the time goes:\n{result.profile}")
    write(result.name, plain(result))
    return int(not QUICK and not JOURNAL and any(claim.verdict == "not met" for claim in result.claims))


def write(name: str, content: dict[str, Any]) -> None:
    """Write a result's JSON."""
    RESULTS.mkdir(exist_ok=True, parents=True)
    path, part = RESULTS / f"{name}.json", RESULTS / f".{name}.part"
    part.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, path)


def bound(claim: Claim) -> str:
    """Return the limit as text."""
    if claim.limit is None:
        return ""
    return f"{'at least' if claim.at_least else 'at most'} {claim.limit:g} {claim.unit}"


def number(value: float) -> str:
    """Return a number with three significant digits, or as an integer from 1,000."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def measured(claim: Claim) -> str:
    """Return the value as text."""
    return "" if claim.value is None else f"{number(claim.value)} {claim.unit}"


def _sentence(claim: Claim) -> str:
    told = ", ".join(part for part in (measured(claim), bound(claim), claim.why) if part)
    return f"{claim.text} ({told})" if told else claim.text


def plain(result: Result) -> dict[str, Any]:
    """Return the JSON content of a result, with the current time, machine and versions."""
    from mtlv.environment import machine, versions

    return {
        "name": result.name,
        "title": result.title,
        "taken": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine() | {"load of the last minute": round(os.getloadavg()[0], 2)},
        "versions": versions(),
        "setting": result.setting,
        "unit": result.unit,
        "values": result.values,
        "medians": {row: {p: median(v) for p, v in peers.items()} for row, peers in result.values.items()},
        "claims": [asdict(claim) | {"verdict": claim.verdict} for claim in result.claims],
        "details": result.details,
        "profile": result.profile.splitlines(),
    }


def _table(result: Result) -> list[str]:
    width = max((len(peer) for peers in result.values.values() for peer in peers), default=0)
    lines = []
    for row, peers in result.values.items():
        first = median(next(iter(peers.values())))
        lines.append(f"{row} [{result.unit}]")
        for peer, values in peers.items():
            span = f"{number(min(values))} - {number(max(values))}"
            lines.append(
                f"  {peer:{width}} {number(median(values)):>10}  {span:>21} {median(values) / first:8.2f}x"
            )
    return lines
