"""Long checks of what is lost: nothing. Not part of `make test`; `python -m pytest tests/chaos` runs them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # `importlib` mode imports no sibling by itself


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Figures that are worth reading, whether the test fails or not."""

    def write(text: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{text}\n")

    return write
