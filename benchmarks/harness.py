"""What the benchmarks share: peers in turn, medians, claims with their limits, a table, JSON and a figure.

A benchmark measures named peers in one run (`interleaved`; `alone` where each needs a process of its own) and
hands a `Result` to `publish`, which prints it and writes results/NAME.json and results/NAME.png. Its exit
code is 1 where a claim is not met. `summary.py` reads the JSON of all, `figure.py` draws it. With
MTLV_BENCH_QUICK=FOLDER each takes its smallest size, to see that it runs, and results go to that folder:
nothing of them is a measurement. MTLV_BENCH_OUT=FOLDER is where a trial with arguments of its own leaves
results/ as it is. With MTLV_BENCH_JOURNAL=FILE (`gpu.py`), what a process came to
is a line of that file as soon as it ends, a benchmark that was cut off goes on from there, and a peer that
fails, or takes longer than MTLV_BENCH_PATIENCE seconds, is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import io
import json
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
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


def sized(usual: Any, least: Any) -> Any:
    """A size of the benchmark: `usual`, or `least` for a quick look at whether it runs."""
    return least if QUICK else usual


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """A parser whose help shows a docstring as it is."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


@dataclass(frozen=True)
class Claim:
    """What was promised, and what was measured.

    Args:
        text: the claim, as in the table of docs/performance.md.
        limit: what the value is held to; None where it is only told.
        value: None where it was not measured.
        unit: behind both numbers: `x`, `%`, `s`, ...
        at_least: whether the value must not be below the limit; else not above.
        why: of a value that was not measured, or how it was.
    """

    text: str
    limit: float | None
    value: float | None = None
    unit: str = "x"
    at_least: bool = True
    why: str = ""

    @property
    def verdict(self) -> str:
        """`met`, `not met`, `not measured`, or `no limit`."""
        if self.value is None:
            return "not measured"
        if self.limit is None:
            return "no limit"
        good = self.value >= self.limit if self.at_least else self.value <= self.limit
        return "met" if good else "not met"


@dataclass
class Result:
    """A benchmark's figures.

    Args:
        name: of the files in results/.
        title: what was measured, in a line.
        unit: of the values, such as `s` or `documents/s`.
        values: row -> peer -> its repeats. A row is a case, such as `2000 labels`.
        claims: with their limits and verdicts.
        setting: what was trained or grouped, in plain values.
        profile: where the time goes, as text.
        details: anything else, in plain values.
        apart: whether rows differ so much that each has an axis of its own in the figure.
    """

    name: str
    title: str
    unit: str
    values: dict[str, dict[str, list[float]]]
    claims: list[Claim] = field(default_factory=list)
    setting: dict[str, Any] = field(default_factory=dict)
    profile: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    apart: bool = False

    def ratio(self, row: str, peer: str, other: str) -> float:
        """Median of `peer` over the median of `other`."""
        return median(self.values[row][peer]) / median(self.values[row][other])


def seconds(work: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def interleaved(
    peers: Mapping[str, Callable[[], float]], repeats: int, *, warm: int = 0
) -> dict[str, list[float]]:
    """What each peer gives, `repeats` times; who begins turns, so that a slow minute falls on all of them.

    Args:
        peers: name -> a call that gives its figure, such as `lambda: seconds(work)`.
        repeats: that are kept.
        warm: rounds before them that are not.
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
    patience: float | None = None,
) -> Any:
    """The JSON value in the last line that a Python script prints, run in a process of its own.

    Args:
        argv: the script and its arguments.
        python: what runs it.
        env: what differs from the environment of here.
        patience: seconds it may take.

    Raises:
        SystemExit: it failed; its messages are shown.
        TimeoutExpired: it took longer.
    """
    call = [Path(argv[0]).name, *argv[1:]]
    earlier = next((line for line in _earlier() if line["call"] == call), None)
    if earlier is not None:
        _earlier().remove(earlier)  # the next of equal calls is another repeat
        return earlier["value"]
    if QUICK and python == sys.executable:
        value = json.loads(_here(argv).strip().splitlines()[-1])
    else:
        value = json.loads(_apart([python, *argv], env or {}, patience).strip().splitlines()[-1])
    if JOURNAL is not None:
        with Path(JOURNAL).open("a", encoding="utf-8") as file:  # the line before may have been cut off
            file.write(f"\n{json.dumps({'call': call, 'value': value})}\n")
    return value


def journal(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file of JSON lines; none where there is no file."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


@cache
def _earlier() -> list[dict[str, Any]]:
    return [] if JOURNAL is None else journal(Path(JOURNAL))


def _apart(argv: Sequence[str], env: Mapping[str, str], patience: float | None) -> str:
    """What a script prints in a process of its own, which finds this checkout first."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    whole = os.environ | {"PYTHONPATH": path} | dict(env)
    limit = min(PATIENCE, float("inf") if patience is None else patience)
    done = subprocess.run(
        argv, capture_output=True, text=True, env=whole, timeout=None if limit == float("inf") else limit
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stderr[-4000:]}")
    return done.stdout


def _here(argv: Sequence[str]) -> str:
    """What a script prints in this process: a quick look need not import PyTorch for each peer again."""
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
    """The functions in which `work` spends most time, by cProfile."""
    profile = cProfile.Profile()
    profile.runcall(work)
    text = io.StringIO()
    pstats.Stats(profile, stream=text).strip_dirs().sort_stats("tottime").print_stats(lines)
    return text.getvalue().strip()


def shares(spent: Mapping[str, float], lines: int = 15) -> str:
    """A profile as text: the largest parts of a whole, in percent."""
    whole = sum(spent.values())
    largest = sorted(spent, key=lambda name: -spent[name])[:lines]
    return "\n".join(f"{100 * spent[name] / whole:6.1f}%  {name}" for name in largest)


def publish(result: Result) -> int:
    """Print a result, write its JSON and its figure; 1 where a claim is not met and no journal is kept."""
    print(f"\n{result.title}\n")
    print("\n".join(_table(result)))
    for claim in result.claims:
        print(f"{claim.verdict}: {_sentence(claim)}")
    if result.profile:
        print(f"\nwhere the time goes:\n{result.profile}")
    write(result.name, plain(result))
    return int(not QUICK and not JOURNAL and any(claim.verdict == "not met" for claim in result.claims))


def write(name: str, content: dict[str, Any]) -> None:
    """Write a result's JSON, and its figure where matplotlib is."""
    from figure import draw

    RESULTS.mkdir(exist_ok=True, parents=True)
    path, part = RESULTS / f"{name}.json", RESULTS / f".{name}.part"
    part.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, path)
    try:
        draw(content, path.with_suffix(".png"))
    except ImportError as missing:  # a bare machine with a GPU
        print(f"no figure: {missing}")


def bound(claim: Claim) -> str:
    """The limit in words."""
    if claim.limit is None:
        return ""
    return f"{'at least' if claim.at_least else 'at most'} {claim.limit:g} {claim.unit}"


def number(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def measured(claim: Claim) -> str:
    """The value in words."""
    return "" if claim.value is None else f"{number(claim.value)} {claim.unit}"


def _sentence(claim: Claim) -> str:
    told = ", ".join(part for part in (measured(claim), bound(claim), claim.why) if part)
    return f"{claim.text} ({told})" if told else claim.text


def plain(result: Result) -> dict[str, Any]:
    """What is written of a result; the time, the machine and the versions are those of now."""
    from mtlv.environment import machine, versions

    return {
        "name": result.name,
        "title": result.title,
        "taken": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine() | {"load of the last minute": round(os.getloadavg()[0], 2)},
        "versions": versions(),
        "setting": result.setting,
        "unit": result.unit,
        "apart": result.apart,
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
