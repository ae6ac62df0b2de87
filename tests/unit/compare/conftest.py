"""A made-up comparison for all tests below; `importlib` mode imports no sibling by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mtlv.compare.comparison import Comparison

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.append(HERE)  # so that `from comparisons import a_comparison` works here and below


@pytest.fixture(scope="session")
def comparison_of() -> Callable[..., Comparison]:
    """`a_comparison(runs=4, children=3, tasks=6, seed=0, **changes)`; see comparisons.py."""
    from comparisons import a_comparison

    return a_comparison
