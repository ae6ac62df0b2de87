"""Figures as SVG and PNG, drawn by Vega in other processes while this one continues."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from mtlv.comparison.vega import VERSION
from mtlv.errors import TrackingError, shorten
from mtlv.hardware import cores
from mtlv.processes import ChildProcess, Connection, ProcessEnded, parent

SCALE = 2.0  # pixels of a PNG per pixel of its SVG; reduced for a PNG with more than
PIXELS = 2_000_000
MOST = 3  # processes: each needs up to 0.4 GB
MEMORY = 4_000_000_000  # maximum bytes of a process: the data of a figure come from a store
PATIENCE = 300.0  # maximum seconds per figure
ONLY_BUNDLED = Path(__file__).with_name("bundled_fonts.conf")
"""Font configuration with only vl-convert's own Liberation Sans. Otherwise it opens a system font file many
times per text, which takes half of the time of a figure. Pictures are the same on every machine."""
BEYOND = re.compile(r"[^\u0000-\u017f\u0391-\u03a1\u03a3-\u03c9\u0400-\u045f–—‘’“”…→←≈≤≥−√∞Δ]")
"""Letters that are not in the bundled font; figures with any of them also use the system's fonts."""
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")  # of Linux
FIRST = {"mark": "bar", "data": {"values": [{"x": "a"}]}, "encoding": {"x": {"field": "x"}}}
"""Figure that each process draws as a warm-up: its first picture takes a second."""


class FigureFiles(NamedTuple):
    """Files of a figure."""

    svg: str
    png: bytes


class DrawingPool:
    """A pool of drawing processes; by default as many as leave one core to this process.

    Create it early: the processes start and warm up while runs are read. Close it, or use it in a `with`
    statement.
    """

    def __init__(self, processes: int | None = None) -> None:
        count = max(1, min(MOST, cores() - 1 if processes is None else processes))
        self._free = deque(
            ChildProcess("mtlv.comparison.drawing", FONTCONFIG_FILE=str(ONLY_BUNDLED)) for _ in range(count)
        )
        self._hands = ThreadPoolExecutor(count)

    def draw(self, specs: Sequence[Mapping[str, Any]]) -> list[Future[FigureFiles]]:
        """Start drawing Vega-Lite specifications with their rows; results are in the order of `specs`."""
        longest_first = sorted(range(len(specs)), key=lambda at: -_effort(specs[at]))
        begun = {at: self._hands.submit(self._draw, specs[at]) for at in longest_first}
        return [begun[at] for at in range(len(specs))]

    def close(self) -> None:
        """Stop the processes; figures not started yet are not drawn."""
        self._hands.shutdown(cancel_futures=True)
        while self._free:
            self._free.pop().end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _draw(self, spec: Mapping[str, Any]) -> FigureFiles:
        """Draw in a free process, or in this one if that failed, so that errors are raised here.

        Raises:
            TrackingError: the process was killed, and this one might be as well.
        """
        if self._free:
            process = self._free.popleft()
            files = _ask(process, spec)
            if files is not None:
                self._free.append(process)
                return files
            _end(process, spec)
        return draw(spec)


def draw(spec: Mapping[str, Any]) -> FigureFiles:
    """Draw the SVG, and the PNG from it: Vega, the slow part, runs only once."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg(dict(spec), vl_version=VERSION, allowed_base_urls=[])
    return FigureFiles(svg, vl_convert.svg_to_png(svg, scale=_scale(svg)))


def _scale(svg: str) -> float:
    """Return the scale of a PNG; smaller for pictures that would take seconds and megabytes."""
    match = re.search(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"', svg)
    size = float(match[1]) * float(match[2]) if match else 1.0
    return min(SCALE, max(1.0, (PIXELS / size) ** 0.5))


def _effort(spec: Mapping[str, Any]) -> int:
    """Estimate the drawing time of a figure, in rows; a facet costs about as much as 2000 rows."""
    return len(spec["data"]["values"]) + 2000 * ("facet" in spec)


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
    """Return the figure drawn by another process, or None if it failed or ended."""
    try:
        with process.within(PATIENCE):
            process.send(spec)
            return FigureFiles(*process.receive())
    except ProcessEnded:
        return None


def _serve(parent: Connection) -> None:
    """Draw one specification after another until there are no more."""
    draw(FIRST)
    for spec in parent.messages():
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
    """Draw requested figures until the parent ends."""
    with parent(memory=MEMORY) as connection:
        _serve(connection)
