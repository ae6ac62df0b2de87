"""One pixel for each figure of a suite and of a page: drawing them takes seconds."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from mtlv.comparison.drawing import FigureFiles
from mtlv.figures import canvas

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def save(_: object, path: Path) -> Path:
    """Stand in for `canvas.save`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for each in (path, *canvas.vectors(path)):
        each.write_bytes(PIXEL)
    return path


class Undrawn:
    """Stands in for `DrawingPool`, which starts processes."""

    def __enter__(self) -> Undrawn:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was begun."""

    def draw(self, specs: Sequence[object]) -> list[Future[FigureFiles]]:
        done: Future[FigureFiles] = Future()
        done.set_result(FigureFiles("<svg/>", PIXEL))
        return [done] * len(specs)


def draw_nothing(patch: pytest.MonkeyPatch) -> None:
    """Write one pixel for each figure of a suite and of a page."""
    patch.setattr(canvas, "save", save)
    patch.setattr("mtlv.comparison.load.compare.DrawingPool", Undrawn)
