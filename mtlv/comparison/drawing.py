"""Figures as SVG and PNG: drawn by Vega in processes beside this one, which goes on with other work."""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from mtlv.comparison.vega import VERSION
from mtlv.errors import TrackingError, shorten
from mtlv.processes import ChildProcess, Connection, ProcessEnded, parent

SCALE = 2.0  # pixels of a PNG per pixel of its SVG, as long as it has no more than
PIXELS = 2_000_000
MOST = 3  # processes: each needs up to 0.4 GB
MEMORY = 4_000_000_000  # bytes that one may take: what a figure shows comes from a store
PATIENCE = 300.0  # seconds that a figure may take
ONLY_BUNDLED = Path(__file__).with_name("bundled_fonts.conf")
"""vl-convert opens a system's font file dozens of times for each text, which is half of the time of a figure.
Its own Liberation Sans lies in memory, and makes a picture the same everywhere."""
BEYOND = re.compile(r"[^\u0000-\u017f\u0391-\u03a1\u03a3-\u03c9\u0400-\u045f–—‘’“”…→←≈≤≥−√∞Δ]")
"""Letters that the bundled font does not have: for figures with any the system's fonts are added."""
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")  # of Linux
FIRST = {"mark": "bar", "data": {"values": [{"x": "a"}]}, "encoding": {"x": {"field": "x"}}}
"""Drawn by each process before it is asked for anything: the first picture takes a second, whatever it is."""


class FigureFiles(NamedTuple):
    """A figure as files."""

    svg: str
    png: bytes


class DrawingPool:
    """Processes that draw.

    Begin it early: they start and warm up while runs are read. Close it, or use it in a `with` statement.

    Args:
        processes: how many; None leaves one core to this process.
    """

    def __init__(self, processes: int | None = None) -> None:
        count = max(1, min(MOST, _cores() - 1 if processes is None else processes))
        self._free = deque(_begin() for _ in range(count))
        self._hands = ThreadPoolExecutor(count)

    def draw(self, specs: Sequence[Mapping[str, Any]]) -> list[Future[FigureFiles]]:
        """Begin to draw Vega-Lite specifications that hold their rows; results in the order of `specs`."""
        longest_first = sorted(range(len(specs)), key=lambda at: -_effort(specs[at]))
        begun = {at: self._hands.submit(self._draw, specs[at]) for at in longest_first}
        return [begun[at] for at in range(len(specs))]

    def close(self) -> None:
        """End the processes; what was not begun yet is not drawn."""
        self._hands.shutdown(cancel_futures=True)
        while self._free:
            self._free.pop().end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _draw(self, spec: Mapping[str, Any]) -> FigureFiles:
        """By a free process, or here where it could not: whatever is wrong is then raised here.

        Raises:
            TrackingError: the process was killed, and so may this one be.
        """
        process = self._free.popleft() if self._free else None
        found = None if process is None else _ask(process, spec)
        if process is not None:
            self._free.append(process) if found is not None else _end(process, spec)
        return draw(spec) if found is None else found


def draw(spec: Mapping[str, Any]) -> FigureFiles:
    """Both pictures. The PNG is made from the SVG: Vega, the slow part, runs once."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg(dict(spec), vl_version=VERSION, allowed_base_urls=[])
    return FigureFiles(svg, vl_convert.svg_to_png(svg, scale=_scale(svg)))


def _scale(svg: str) -> float:
    """The scale of a PNG: smaller for pictures so large that they would take seconds and megabytes."""
    found = re.search(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"', svg)
    size = float(found[1]) * float(found[2]) if found else 1.0
    return min(SCALE, max(1.0, (PIXELS / size) ** 0.5))


def _effort(spec: Mapping[str, Any]) -> int:
    """About how long a figure takes, in rows; the panels of a facet take as long as many rows."""
    return len(spec["data"]["values"]) + 2000 * ("facet" in spec)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin() -> ChildProcess:
    """Another process with this file as its program."""
    return ChildProcess("mtlv.comparison.drawing", FONTCONFIG_FILE=str(ONLY_BUNDLED))


def _end(process: ChildProcess, spec: Mapping[str, Any]) -> None:
    killed = process.was_killed()
    process.end()
    if killed:
        raise TrackingError(
            f"the figure `{shorten(spec['title']['text'])}` cannot be drawn",
            got="its process was killed",
            allowed=f"{PATIENCE:.0f} seconds and {MEMORY / 1e9:.0f} GB of memory",
            then="compare fewer runs",
        )


def _ask(process: ChildProcess, spec: Mapping[str, Any]) -> FigureFiles | None:
    """What another process drew; nothing where it failed or ended."""
    try:
        with process.within(PATIENCE):
            process.send(spec)
            return FigureFiles(*process.receive())
    except ProcessEnded:
        return None


def _serve(parent: Connection) -> None:
    """Draw one specification after another until no more come."""
    draw(FIRST)
    while True:
        try:
            spec = parent.receive()
        except ProcessEnded:
            return
        if BEYOND.search(json.dumps(spec, ensure_ascii=False)):
            _add_system_fonts()
        parent.send(tuple(draw(spec)))


@cache
def _add_system_fonts() -> None:
    import vl_convert

    for folder in FONT_FOLDERS:
        path = Path(folder).expanduser()
        if path.is_dir():
            vl_convert.register_font_directory(str(path))


def main() -> None:
    """Draw what is requested until the parent ends."""
    with parent(memory=MEMORY) as connection:
        _serve(connection)
