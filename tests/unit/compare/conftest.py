"""A made-up comparison for all tests below; `importlib` mode imports no sibling by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mtlv.compare import canvas
from mtlv.compare.comparison import Comparison

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.append(HERE)  # so that `from comparisons import a_comparison` works here and below


@pytest.fixture(scope="session")
def comparison_of() -> Callable[..., Comparison]:
    """`a_comparison(runs=4, children=3, tasks=6, seed=0, **changes)`; see comparisons.py."""
    from comparisons import a_comparison

    return a_comparison


@pytest.fixture
def figure_of(monkeypatch, tmp_path):
    """From a function that draws transfers to one that gives the figure that was saved."""
    kept = []
    save = canvas.save
    monkeypatch.setattr(canvas, "DPI", 60)  # a tenth of the time
    monkeypatch.setattr(canvas, "save", lambda figure, path: kept.append(figure) or save(figure, path))

    def with_draw(draw):
        def run(transfers, title="t"):
            draw(transfers, tmp_path / "x.png", title=title)
            return kept[-1]

        return run

    return with_draw
