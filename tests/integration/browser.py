"""A real browser for tests of pages: headless Chromium, driven by Playwright.

conftest.py hands its fixtures on to all tests beside it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
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


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """A started browser; tests are skipped where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra `test`)")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the PATH")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        yield started
        started.close()


@pytest.fixture
def screenshots(tmp_path: Path) -> Path:
    """Where pictures of pages go: `$MTLV_SCREENSHOTS`, or a folder that is thrown away."""
    folder = Path(os.environ.get("MTLV_SCREENSHOTS") or tmp_path / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
