"""Figures as SVG and PNG: drawn by Vega in processes beside this one, which goes on with other work."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtlv.compare.vega import VERSION

SCALE = 2.0  # pixels of a PNG per pixel of its SVG, as long as it has no more than
PIXELS = 2_000_000
FEW = 4  # figures that are drawn faster than another process starts
MOST = 3  # processes: each needs up to 0.4 GB
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Drawing:
    """A figure to draw: a Vega-Lite specification with its rows, and the paths of its SVG and PNG."""

    spec: Mapping[str, Any]
    svg: str
    png: str

    @property
    def effort(self) -> int:
        """About how long it takes, in rows."""
        return 400 + len(self.spec["data"]["values"])


@dataclass(frozen=True)
class Begun:
    """Figures being drawn: shares with the process that draws each, none where it is to be done here."""

    shares: Sequence[tuple[Sequence[Drawing], subprocess.Popen[str] | None]]

    def finish(self) -> None:
        """Wait for all; what another process could not is drawn here, where what is wrong is raised."""
        for share, process in self.shares:
            if process is None or process.wait() != 0:
                for drawing in share:
                    draw(drawing)


def begin(drawings: Sequence[Drawing]) -> Begun:
    """Draw in as many processes as there are cores, and in this one on `finish` where that is one."""
    count = min(MOST, _cores())
    if len(drawings) < FEW or count == 1:
        return Begun([(drawings, None)])
    return Begun([(share, _begin(share)) for share in _shares(drawings, count)])


def draw(drawing: Drawing) -> None:
    """Write both pictures. The PNG is made from the SVG: Vega, the slow part, runs once."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg(dict(drawing.spec), vl_version=VERSION, allowed_base_urls=[])
    Path(drawing.svg).write_text(svg, encoding="utf-8")
    Path(drawing.png).write_bytes(vl_convert.svg_to_png(svg, scale=_scale(svg)))


def _scale(svg: str) -> float:
    """The scale of a PNG: smaller for pictures so large that they would take seconds and megabytes."""
    found = re.search(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"', svg)
    size = float(found[1]) * float(found[2]) if found else 1.0
    return min(SCALE, max(1.0, (PIXELS / size) ** 0.5))


def _shares(drawings: Sequence[Drawing], count: int) -> list[list[Drawing]]:
    """About as much work in each: the longest first, each to whom has least."""
    shares: list[list[Drawing]] = [[] for _ in range(count)]
    for drawing in sorted(drawings, key=lambda one: -one.effort):
        min(shares, key=lambda share: sum(one.effort for one in share)).append(drawing)
    return shares


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin(share: Sequence[Drawing]) -> subprocess.Popen[str]:
    """Another process with this file as its program, which reads its share as JSON."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    process = subprocess.Popen(
        [sys.executable, "-m", "mtlv.compare.drawing"],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": path},
        text=True,
        encoding="utf-8",
    )
    assert process.stdin is not None
    try:
        with process.stdin as stdin:
            json.dump([vars(drawing) for drawing in share], stdin)  # asdict would copy every row
    except BrokenPipeError:
        pass  # it ended early; its exit status says so
    return process


if __name__ == "__main__":
    for one in json.loads(sys.stdin.buffer.read().decode()):
        draw(Drawing(**one))
