"""A picture in a run: the PNG in the root, where MLflow shows it, and what papers need beside it."""

from __future__ import annotations

from pathlib import Path

from mtlv.figures.canvas import vectors
from mtlv.tracking import Tracker


def log_picture(tracker: Tracker, run: str, picture: Path) -> None:
    """Log `picture`, a PNG of `mtlv.figures`, and its SVG and PDF in the folder `figures`."""
    tracker.artifact(run, picture)
    for path in vectors(picture):
        tracker.artifact(run, path, "figures")
