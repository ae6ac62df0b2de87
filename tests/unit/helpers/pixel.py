"""One pixel for each figure that a suite draws: setting its text takes a third of a second."""

from __future__ import annotations

import base64
from pathlib import Path

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
