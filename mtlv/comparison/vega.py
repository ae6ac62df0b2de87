"""Vega-Lite: the look of all figures, and the library itself as one script for a page without network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mtlv.comparison.blocks import FigureBlock, Row
from mtlv.figures.palette import RUNS
from mtlv.processes import ChildProcess, ProcessEnded, parent

VERSION = "6.4"  # of Vega-Lite, as vl_convert names it
NARROW, WIDE = 760, 1100  # pixels of a figure as a file where its specification says "container"
PAGE_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif'
# Two of the same widths, so that a picture looks alike everywhere; each more name makes drawing slower.
FILE_FONT = '"Liberation Sans", Arial, sans-serif'
LIGHT = {"ink": "#1f2328", "soft": "#59636e", "line": "#e3e7eb", "axis": "#aeb6bf", "paper": "#ffffff"}
"""For files and exports. The page has the same names as CSS variables, so its theme needs no drawing anew."""
OF_PAGE = {name: f"var(--{name})" for name in LIGHT} | {"paper": "transparent"}


def theme(colours: Mapping[str, str], font: str) -> dict[str, Any]:
    """Vega-Lite's `config` with colours of texts, lines and ground by their names in `LIGHT`."""
    ink, soft, line, axis = (colours[name] for name in ("ink", "soft", "line", "axis"))
    words = {"labelColor": soft, "labelFontSize": 12, "titleColor": ink, "titleFontSize": 12}
    return {
        "font": font,
        "background": colours["paper"],
        "view": {"stroke": None},
        "aria": False,  # the whole figure is one image with its caption as text
        "range": {"category": list(RUNS)},
        "axis": words
        | {"gridColor": line, "domainColor": axis, "tickColor": axis, "titleFontWeight": 600}
        | {"labelLimit": 260, "titlePadding": 10, "labelPadding": 5},
        "legend": words | {"labelLimit": 340, "titleFontWeight": 600, "rowPadding": 4, "offset": 20},
        "header": words | {"labelFontWeight": 600, "labelColor": ink, "labelLimit": 260},
        "title": {"color": ink, "subtitleColor": soft, "anchor": "start", "fontSize": 15, "offset": 14},
        "text": {"color": ink, "fontSize": 12},
        "rule": {"color": soft},
    }


def as_file(figure: FigureBlock, rows: list[Row] | list[dict[str, Any]]) -> dict[str, Any]:
    """A specification that stands alone: with its rows, its title, the light theme and a width in pixels."""
    spec = _without_pointer(figure.spec) | {"config": theme(LIGHT, FILE_FONT), "padding": 16}
    spec["data"] = {"name": "rows", "values": rows}
    spec["title"] = {"text": figure.title}
    if spec.get("width") == "container":
        spec["width"] = WIDE if figure.wide else NARROW
        spec.setdefault("autosize", {"type": "fit-x", "contains": "padding"})  # legends included
    return spec


def _without_pointer(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Without layers that nobody sees: marks that only give the pointer something to hit."""
    out = dict(spec)
    if "spec" in out:
        out["spec"] = _without_pointer(out["spec"])
    if "layer" in out:
        out["layer"] = [layer for layer in out["layer"] if not _unseen(layer)]
    return out


def _unseen(layer: Mapping[str, Any]) -> bool:
    mark = layer.get("mark")
    return isinstance(mark, Mapping) and mark.get("opacity") == 0


def bundle_file() -> Path:
    """Where the bundle is kept once it has been made: `~/.cache/mtlv/vega-VERSIONS.js`."""
    return Path.home() / ".cache" / "mtlv" / f"vega-{VERSION}-{version('vl-convert-python')}.js"


@cache
def _bundling() -> ChildProcess:
    return ChildProcess("mtlv.comparison.vega")


def begin_bundle() -> None:
    """Where it is not kept, start to make the bundle: seconds, in a process of its own beside other work."""
    if not bundle_file().is_file():
        _bundling()


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed with all that they need, as one script (about 0.9 MB)."""
    file = bundle_file()
    with suppress(OSError):
        return file.read_text(encoding="utf-8")
    made = _made()
    with suppress(OSError):  # where it cannot be kept it is made again next time
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f"{file.name}.{os.getpid()}")
        part.write_text(made, encoding="utf-8")
        part.replace(file)
    return made


def _made() -> str:
    with suppress(ProcessEnded):
        return str(_bundling().receive())
    return _make()  # the other process could not start or failed: whatever is wrong is raised here


def _make() -> str:
    import vl_convert

    # The snippet can be left out; the stub says otherwise.
    return str(vl_convert.javascript_bundle(vl_version=VERSION))  # type: ignore[call-arg]


def main() -> None:
    """Make the bundle."""
    with parent() as connection:
        connection.send(_make())
