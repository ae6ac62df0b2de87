"""axe-core finds nothing that keeps readers from the page, by keyboard or with a screen reader."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from mtlv.comparison.page import page_html
from mtlv.comparison.sections import each_section

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit" / "helpers"))
from comparisons import a_comparison

pytest.importorskip("axe_playwright_python", reason="axe-core is not installed (extra `test`)")

RUN = "axe.run(document, { resultTypes: ['violations'], preload: false })"
OPEN = "for (const fold of document.querySelectorAll('details')) fold.open = true"
DRAWN = "html[data-drawn=yes]"


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """A page with all that is folded open."""
    comparison = a_comparison(runs=3, children=1, tasks=3, warnings=("Read this first.",))
    path: Path = tmp_path_factory.mktemp("page") / "compare.html"
    path.write_text(page_html(comparison, list(each_section(comparison))), encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto(path.as_uri())
    page.evaluate(OPEN)
    page.wait_for_selector(DRAWN, state="attached", timeout=120_000)
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    yield page
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
def test_axe_finds_nothing(page, scheme: str, width: int):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(200)
    page.wait_for_selector(DRAWN, state="attached", timeout=60_000)
    result = page.evaluate(RUN)
    assert result["testEngine"]["name"] == "axe-core"
    found = [
        f"{each['id']} ({each['help']}): {node['target']}"
        for each in result["violations"]
        for node in each["nodes"]
    ]
    assert found == []
