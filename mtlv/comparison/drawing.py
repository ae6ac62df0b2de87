"""Figures of a page as SVG and PNG, drawn by Vega without a browser."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from mtlv.comparison.vega import VERSION
from mtlv.errors import TrackingError

SCALE = 2.0  # pixels of a PNG per pixel of its SVG; reduced for a PNG with more than
PIXELS = 2_000_000


class FigureFiles(NamedTuple):
    """Files of a figure."""

    svg: str
    png: bytes


def draw(spec: Mapping[str, Any]) -> FigureFiles:
    """Draw a Vega-Lite specification with its rows.

    Raises:
        TrackingError: the package vl-convert is not installed.
    """
    convert = load_vl_convert()
    svg = convert.vegalite_to_svg(dict(spec), vl_version=VERSION, allowed_base_urls=[])
    return FigureFiles(svg, convert.svg_to_png(svg, scale=_scale(svg)))  # Vega, the slow part, runs only once


@cache
def load_vl_convert() -> Any:
    """Return the module of vl-convert.

    Raises:
        TrackingError: it is not installed.
    """
    try:
        import vl_convert
    except ImportError as error:
        raise TrackingError(
            "`--figures` (in Python `figures=True`) needs the package vl-convert-python",
            then="install it: pip install 'mtlv[figures]'; or save figures one by one in the page",
        ) from error
    return vl_convert


def _scale(svg: str) -> float:
    """Return the scale of a PNG; smaller for pictures that would take seconds and megabytes."""
    match = re.search(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"', svg)
    size = float(match[1]) * float(match[2]) if match else 1.0
    return min(SCALE, max(1.0, (PIXELS / size) ** 0.5))
