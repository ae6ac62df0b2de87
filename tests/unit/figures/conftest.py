"""Figures as they are drawn, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mtlv.figures import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@pytest.fixture(autouse=True)
def _as_users_get_them(monkeypatch: pytest.MonkeyPatch, real_save: Callable) -> None:
    monkeypatch.setattr(canvas, "save", real_save)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Figures in the order in which they were drawn, with their layout; writing them takes longest."""
    figures: list[Figure] = []

    def keep(figure: Figure, path: Path) -> Path:
        figure.draw_without_rendering()
        figures.append(figure)
        return path

    monkeypatch.setattr(canvas, "save", keep)
    return figures
