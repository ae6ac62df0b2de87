"""One pixel for each figure of a suite: drawing them takes seconds."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from mtlv.figures import canvas

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def save(_: object, path: Path) -> Path:
    """Stand in for `canvas.save`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(PIXEL)
    return path


OF_EVERY_RUN = {
    "fold_run": ["draw_per_task"],
    "member_run": ["draw_per_task"],
    "groups": ["draw_elbow", "draw_map"],
}
"""Functions that draw for every run, by the module of `mtlv.reporting` that calls them."""


def lay_out_nothing(patch: pytest.MonkeyPatch) -> None:
    """Write one pixel for each figure of every run without making it, which takes an eighth of a test."""
    for name, functions in OF_EVERY_RUN.items():
        module = import_module(f"mtlv.reporting.{name}")
        for function in functions:
            patch.setattr(module, function, partial(_instead, getattr(module, function)))


def _instead(draw: Callable[..., Path], *args: Any, **kwargs: Any) -> Path:
    return save(None, signature(draw).bind(*args, **kwargs).arguments["path"])


def draw_nothing(patch: pytest.MonkeyPatch) -> None:
    """Write one pixel for each figure of a suite."""
    patch.setattr(canvas, "save", save)
