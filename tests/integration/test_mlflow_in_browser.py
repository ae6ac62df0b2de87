"""MLflow's page as a person finds it after a suite: `mtlv ui` on a small one, in a real browser.

The page's own parts are found by role and text; only its charts have neither, so they are found by the test
ids that MLflow gives them and by the classes of Plotly.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra `test`)")
expect = sync_api.expect
pytestmark = pytest.mark.slow

SUITE = """\
experiment: reports
data:
  name: synthetic
  documents: 120
  labels: [Enlarged heart, Congestion, Hyperinflation, Catheter]
  max_length: 32
  folds: 2
encoder: tiny
grouping: {features: document_centroid, k: 2, k_max: 3}
training: {epochs: 2, learning_rate: 1e-2, precision: fp32}
matrix:
  architecture: [mtl, gmhl]
"""
MTL, GMHL = "MTL", "GMHL, 2 groups by document centroid"
COMPARISON = "comparison of 2 runs"
VIEWS = ("compare", "tasks", "heads", "elbow")
PATIENCE = 180_000  # milliseconds: a busy machine takes ten times what a quiet one does
WITHOUT_ASSISTANT = """if (window.origin != "null")
    localStorage.setItem("mlflow.assistant.fab.autoOpenedOnFirstLoad_v1", "true")"""
"""MLflow opens a panel of its own in a browser that is new to it, over a fifth of the page."""
SECTION = "xpath=ancestor::*[.//*[@data-testid='draggable-chart-cards-grid']][1]"
DRAWN = ".js-plotly-plot .trace, img, [role=table], table"
FURTHER = """async node => {
    node.scrollTop += 150;
    for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
}"""
LINES = """plot => [...plot.querySelectorAll(".scatterlayer .trace path.js-line")]
    .filter(line => (line.getAttribute("d") || "").includes("L"))
    .map(line => [line.style.stroke, line.getAttribute("d")])"""


@dataclass
class Site:
    """A running `mtlv ui` and the store below it."""

    folder: Path
    said: str

    @cached_property
    def client(self) -> Any:
        from mlflow import MlflowClient

        uri = f"sqlite:///{self.folder / 'mlflow.db'}"
        return MlflowClient(tracking_uri=uri, registry_uri=uri)

    @cached_property
    def experiment(self) -> Any:
        return self.client.get_experiment_by_name("reports")

    @cached_property
    def runs(self) -> dict[str, Any]:
        return {run.info.run_name: run for run in self.client.search_runs([self.experiment.experiment_id])}

    def link(self, begin: str) -> str:
        """The address that stands behind `begin` in what the command printed."""
        found = re.search(rf"^{begin} (http\S+)$", self.said, re.MULTILINE)
        assert found, self.said
        return found[1]

    @property
    def base(self) -> str:
        return self.link("Open").split("/#/")[0]

    def run_page(self, name: str, *, rest: str = "") -> str:
        where = f"#/experiments/{self.experiment.experiment_id}/runs/{self.runs[name].info.run_id}"
        return f"{self.base}/{where}{rest}?workflowType=machine_learning"

    def view_page(self, name: str) -> str:
        chosen = f"compareRunsMode=CHART&viewStateShareKey=mtlv-{name}"
        where = f"#/experiments/{self.experiment.experiment_id}/runs?workflowType=machine_learning"
        return f"{self.base}/{where}&{chosen}"

    def view(self, name: str) -> dict[str, Any]:
        """What the experiment's tag holds of a ready view, as the page unpacks it."""
        from base64 import b64decode
        from zlib import decompress

        kept = json.loads(self.experiment.tags[f"mlflow.sharedViewState.mtlv-{name}"])["state"]
        return json.loads(decompress(b64decode(kept.removeprefix("deflate;"))))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def site(browser, mtlv, here, tmp_path_factory) -> Iterator[Site]:
    """A finished suite with its comparison, served; without a browser nothing is trained."""
    folder = tmp_path_factory.mktemp("ui")
    (folder / "suite.yml").write_text(SUITE, encoding="utf-8")
    done = here.run(folder, "run", "suite.yml", f"tracking.uri=sqlite:///{folder / 'mlflow.db'}")
    assert done.returncode == 0, done.stderr
    command = [*mtlv.start, "ui", "suite.yml", "--port", str(free_port())]
    server = subprocess.Popen(command, cwd=folder, env=mtlv.env, stdout=subprocess.PIPE, text=True)
    try:
        yield Site(folder, printed(server))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        server.stdout.close()


def printed(server: subprocess.Popen) -> str:
    """What the command says up to its last line; all of it where it ends before."""
    lines = []
    for line in server.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            break
    return "".join(lines)


@pytest.fixture(scope="module")
def visitor(browser) -> Iterator[Any]:
    """One person's browser: what it has loaded once, it need not load again."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    context.set_default_timeout(PATIENCE)
    context.add_init_script(WITHOUT_ASSISTANT)
    yield context
    context.close()


@pytest.fixture
def visit(visitor, site: Site) -> Iterator[Callable]:
    """Opens an address in a tab of its own."""
    expect.set_options(timeout=PATIENCE)

    def open_tab(url: str) -> Any:
        page = visitor.new_page()
        page.goto(url)
        return page

    yield open_tab
    for page in visitor.pages:
        page.close()


def row(page, name: str):
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def lines(plot, by: int) -> set[str]:
    """Colours (0) or courses (1) of the lines in a chart, all of two points or more."""
    plot.locator("path.js-line").nth(1).wait_for(state="attached")  # a level line is not "visible"
    return {line[by] for line in plot.evaluate(LINES)}


def loaded(picture) -> int:
    """Width of a picture that has arrived, in pixels."""
    picture.wait_for()
    handle = picture.element_handle()
    handle.evaluate("async node => { await node.decode(); }")
    return handle.evaluate("node => node.naturalWidth")


def test_the_printed_link_shows_the_parents(visit, site: Site, screenshots: Path):
    page = visit(site.link("Open"))
    for name in (MTL, GMHL):
        link = row(page, name).get_by_role("link", name=name, exact=True)
        expect(link).to_be_visible()
        assert link.evaluate("node => node.scrollWidth <= node.clientWidth + 1"), f"{name} is cut"
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    expect(page.get_by_role("columnheader", name="test/f1_macro", exact=True).first).to_be_visible()
    assert page.get_by_role("link", name=re.compile("^fold ")).count() == 0
    page.screenshot(path=screenshots / "mlflow-runs.png")


def test_the_view_of_folds_has_them_below_their_parents(visit, site: Site, screenshots: Path):
    page = visit(site.view_page("folds").replace("compareRunsMode=CHART&", ""))
    row(page, GMHL).get_by_role("button").first.click()
    for fold in (0, 1):
        expect(page.get_by_role("link", name=f"fold {fold} · {GMHL}", exact=True)).to_be_visible()
    assert page.get_by_role("link", name=re.compile("^fold ")).count() == 2
    page.screenshot(path=screenshots / "mlflow-folds.png")


def test_two_parents_are_compared(visit, site: Site, screenshots: Path):
    page = visit(site.link("Open"))
    for name in (MTL, GMHL):
        row(page, name).get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", name="Comparing 2 Runs from 1 Experiment")).to_be_visible()
    for name in (MTL, GMHL):
        expect(page.get_by_text(name, exact=True).first).to_be_visible()
    page.screenshot(path=screenshots / "mlflow-compared.png")
    curve = page.get_by_role("link", name="train/loss", exact=True)
    grid = page.get_by_role("grid").last  # it holds the metrics that are in sight, by name
    grid.scroll_into_view_if_needed()
    for _ in range(100):
        if curve.count():
            break
        grid.evaluate(FURTHER)
    curve.press("Enter")  # its row may still lie below the grid's edge, where no mouse gets
    assert len(lines(page.locator(".js-plotly-plot"), 1)) == 2
    for name in (MTL, GMHL):
        expect(page.get_by_text(f"{name} (train/loss)").first).to_be_visible()
    page.screenshot(path=screenshots / "mlflow-compared-curves.png")


@pytest.mark.parametrize("name", VIEWS)
def test_a_ready_view_shows_its_charts(visit, site: Site, screenshots: Path, name: str):
    state = site.view(name)
    page = visit(site.link("Comparison:") if name == "compare" else site.view_page(name))
    for section in (each for each in state["compareRunSections"] if each["display"]):
        held = [c for c in state["compareRunCharts"] if c["metricSectionId"] == section["uuid"]]
        title = re.compile(rf"{re.escape(section['name'])}\s*\({len(held)}\)")
        header = page.get_by_test_id("experiment-view-compare-runs-section-header").filter(has_text=title)
        header.scroll_into_view_if_needed()  # what is out of sight is not drawn
        box = header.locator(SECTION)
        box.evaluate("node => node.scrollIntoView({block: 'end'})")
        cards = box.get_by_test_id("experiment-view-compare-runs-card")
        expect(cards).to_have_count(len(held))  # MLflow leaves out a chart without data
        for each in cards.all():
            each.scroll_into_view_if_needed()
            each.locator(DRAWN).first.wait_for(state="attached")
        if "curves" in section["name"]:  # a line for each member, over each other
            for each in cards.all():
                assert len(lines(each, 0)) == 2
        for picture in cards.locator("img").all():
            assert loaded(picture) > 300
        number = state["compareRunSections"].index(section)
        page.screenshot(path=screenshots / f"mlflow-view-{name}-{number}.png")


def test_a_parent_says_what_was_found_and_shows_its_elbow(visit, site: Site, screenshots: Path):
    page = visit(site.run_page(GMHL))
    macro = site.runs[GMHL].data.metrics["test/f1_macro"]
    expect(page.get_by_text(f"Test F1 macro {macro:.4f}")).to_be_visible()
    page.get_by_text("Show more").click()
    for text in ("Grouped multi-head learning", "2 groups", "Enlarged heart"):
        expect(page.get_by_text(text).first).to_be_visible()
    page.screenshot(path=screenshots / "mlflow-parent.png")
    page.get_by_role("tab", name="Artifacts").click()
    page.get_by_text("elbow.png", exact=True).click()
    assert loaded(page.get_by_role("main").get_by_role("img", name="elbow.png")) > 300
    page.screenshot(path=screenshots / "mlflow-elbow.png")


def test_a_fold_and_the_suites_comparison(visit, site: Site, screenshots: Path):
    page = visit(site.run_page(f"fold 0 · {GMHL}"))
    expect(page.get_by_text("Fold 0, seed 0 of")).to_be_visible()
    page.screenshot(path=screenshots / "mlflow-fold.png")
    page = visit(site.run_page(COMPARISON))
    expect(page.get_by_text("with figures, tables and statistics")).to_be_visible()
    page.screenshot(path=screenshots / "mlflow-suite.png")


def test_the_comparison_draws_in_the_pages_sandbox(visit, site: Site, screenshots: Path):
    page = visit(site.run_page(COMPARISON))
    with page.expect_popup() as opened:
        page.get_by_role("link", name="compare.html").click()
    page = opened.value
    inside = page.frame_locator("iframe")
    inside.locator("html[data-drawn=yes]").wait_for(state="attached")
    assert page.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    assert inside.locator("#table-overview tbody tr").count() == 2
    inside.locator("#figure-cost svg").first.scroll_into_view_if_needed()
    assert inside.locator("figure svg").count() > 5
    page.screenshot(path=screenshots / "mlflow-comparison.png")
