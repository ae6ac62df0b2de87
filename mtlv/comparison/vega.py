"""Vega-Lite: the theme of all figures, and the library as one script for pages without network access."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from mtlv.comparison.blocks import FigureBlock, Row
from mtlv.figures.palette import RUNS

VERSION = "6.4"  # of Vega-Lite in page/vega.js.gz, as vl_convert names it
NARROW, WIDE = 760, 1100  # width in pixels of a figure file whose specification has "container"
PAGE_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif'
# Two fonts of the same metrics, so that pictures look the same everywhere; more names make drawing slower.
FILE_FONT = '"Liberation Sans", Arial, sans-serif'
LIGHT = {"ink": "#1f2328", "soft": "#59636e", "line": "#e3e7eb", "axis": "#aeb6bf", "paper": "#ffffff"}
"""Theme of files and exports. The page has CSS variables of the same names, for changes of theme."""
OF_PAGE = {name: f"var(--{name})" for name in LIGHT} | {"paper": "transparent"}


def theme(colours: Mapping[str, str], font: str) -> dict[str, Any]:
    """Return Vega-Lite's `config` with colours of text, lines and background by their names in `LIGHT`."""
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
    """Return a self-contained specification with its rows, title, light theme and width in pixels."""
    spec = _without_pointer(figure.spec) | {"config": theme(LIGHT, FILE_FONT), "padding": 16}
    spec["data"] = {"name": "rows", "values": rows}
    spec["title"] = {"text": figure.title}
    if spec.get("width") == "container":
        spec["width"] = WIDE if figure.wide else NARROW
        spec.setdefault("autosize", {"type": "fit-x", "contains": "padding"})  # legends included
    return spec


def _without_pointer(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Remove invisible layers: marks that only serve as a target for the pointer."""
    out = dict(spec)
    if "spec" in out:
        out["spec"] = _without_pointer(out["spec"])
    if "layer" in out:
        out["layer"] = [layer for layer in out["layer"] if not _unseen(layer)]
    return out


def _unseen(layer: Mapping[str, Any]) -> bool:
    mark = layer.get("mark")
    return isinstance(mark, Mapping) and mark.get("opacity") == 0


@cache
def packed_library() -> bytes:
    """Return Vega, Vega-Lite and Vega-Embed with all dependencies as one script, packed by gzip (0.3 MB)."""
    return files("mtlv.comparison").joinpath("page", "vega.js.gz").read_bytes()


def library() -> str:
    """Return the script (0.9 MB)."""
    return gzip.decompress(packed_library()).decode()
