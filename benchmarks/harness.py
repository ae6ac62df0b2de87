"""What the benchmarks share: peers in turn, medians, claims with their limits, a table, JSON and a figure.

A benchmark measures named peers in one run (`interleaved`; `alone` where each needs a process of its own) and
hands a `Result` to `publish`, which prints it and writes results/NAME.json and results/NAME.png. Its exit
code is 1 where a claim is not met. `summary.py` reads the JSON of all.
"""

from __future__ import annotations

import cProfile
import io
import json
import os
import pstats
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).parent / "results"
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


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
        log: whether the figure's axis is logarithmic.
    """

    name: str
    title: str
    unit: str
    values: dict[str, dict[str, list[float]]]
    claims: list[Claim] = field(default_factory=list)
    setting: dict[str, Any] = field(default_factory=dict)
    profile: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    log: bool = False

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
            value = peers[name]()
            if number >= warm:
                found[name].append(value)
    return found


def alone(argv: Sequence[str], *, python: str = sys.executable, env: Mapping[str, str] | None = None) -> Any:
    """The JSON value in the last line that a Python script prints, run in a process of its own.

    Raises:
        SystemExit: it failed; its messages are shown.
    """
    whole = os.environ | {"PYTHONPATH": str(ROOT)} | dict(env or {})
    done = subprocess.run([python, *argv], capture_output=True, text=True, env=whole)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def profiled(work: Callable[[], object], lines: int = 15) -> str:
    """The functions in which `work` spends most time, by cProfile."""
    profile = cProfile.Profile()
    profile.runcall(work)
    text = io.StringIO()
    pstats.Stats(profile, stream=text).strip_dirs().sort_stats("tottime").print_stats(lines)
    return text.getvalue().strip()


def publish(result: Result) -> int:
    """Print a result, write its JSON and its figure; 1 where a claim is not met."""
    print(f"\n{result.title}\n")
    print("\n".join(_table(result)))
    for claim in result.claims:
        print(f"{claim.verdict}: {_sentence(claim)}")
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{result.name}.json"
    path.write_text(json.dumps(_plain(result), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _figure(result, path.with_suffix(".png"))
    return int(any(claim.verdict == "not met" for claim in result.claims))


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


def _plain(result: Result) -> dict[str, Any]:
    from mtlv.running.environment import machine, versions

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


def _figure(result: Result, path: Path) -> None:
    """A bar for each peer, whose line goes from its lowest to its highest."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    peers = list(dict.fromkeys(peer for row in result.values.values() for peer in row))
    colours = dict(zip(peers, pyplot.get_cmap("tab10").colors * 4, strict=False))
    names, bars = [], []
    for row, found in result.values.items():
        for peer, values in found.items():
            names.append(f"{row}: {peer}" if len(result.values) > 1 else peer)
            bars.append((peer, values))
    figure, axes = pyplot.subplots(figsize=(8, 1.2 + 0.3 * len(bars)), layout="constrained")
    for place, (peer, values) in enumerate(bars):
        middle = median(values)
        error = [[middle - min(values)], [max(values) - middle]]
        axes.barh(place, middle, xerr=error, color=colours[peer], height=0.7, error_kw={"lw": 1})
        axes.annotate(
            f" {number(middle)}", (max(values), place), xytext=(2, 0), textcoords="offset points", va="center"
        )
    axes.set_yticks(range(len(bars)), names)
    axes.invert_yaxis()
    axes.set_xlabel(f"{result.unit}: median, lowest to highest")
    if result.log:
        axes.set_xscale("log")
    axes.margins(x=0.12)
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(result.title, fontsize=10)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
