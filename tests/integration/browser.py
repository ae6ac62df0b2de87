"""A real browser for tests of pages: headless Chromium, driven by Playwright.

conftest.py hands its fixtures on to all tests beside it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",  # containers have no user namespaces
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def started() -> Iterator[object]:
    """A started browser.

    Raises:
        FileNotFoundError: there is none.
    """
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise FileNotFoundError(f"no browser: none of {', '.join(NAMES)} is on the PATH")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """A started browser; tests are skipped where there is none."""
    pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra `test`)")
    try:
        with started() as chromium:
            yield chromium
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture
def screenshots(tmp_path: Path) -> Path:
    """Where pictures of pages go: `$MTLV_SCREENSHOTS`, or a folder that is thrown away."""
    folder = Path(os.environ.get("MTLV_SCREENSHOTS") or tmp_path / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
