"""Seconds until a comparison page shows its first picture, and all: python benchmarks/page.py [PAGE.html]

In headless Chromium, opened from disk at 1400 x 900, at the speed of this machine and with its processor
slowed down 4 times. Without an argument, the page is that of twelve made-up runs of 20 tasks.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from harness import ROOT, sized

sys.path += [str(ROOT / "tests" / "integration"), str(ROOT / "tests" / "unit" / "helpers")]
SLOWDOWNS, REPEATS = (1, 4), sized(3, 1)
LONGEST = 300_000  # ms
# Notes the milliseconds since the page was asked for: of the first picture, and once all are drawn.
WATCH = """
window.times = {};
new MutationObserver(() => {
  if (!times.first && document.querySelector("figure .plot svg .mark-group")) times.first = performance.now();
  if (document.documentElement.dataset.drawn === "yes") times.all ??= performance.now();
}).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-drawn"] });
"""


def made_up(folder: Path) -> Path:
    """Write a page of made-up runs."""
    from comparisons import a_comparison

    from mtlv.comparison.page import page_html
    from mtlv.comparison.sections import each_section

    comparison = a_comparison(runs=sized(12, 3), children=3, tasks=sized(20, 4))
    path = folder / "compare.html"
    path.write_text(page_html(comparison, list(each_section(comparison))), encoding="utf-8")
    return path


def measure(chromium, page_file: Path, slowdown: int) -> tuple[float, float]:
    """Return the seconds until the first picture and until all are drawn, with an empty cache."""
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
    page.add_init_script(WATCH)
    page.goto(page_file.as_uri(), timeout=LONGEST)
    page.wait_for_selector("html[data-drawn=yes]", state="attached", timeout=LONGEST)
    times = page.evaluate("window.times")
    context.close()
    return times["first"] / 1000, times["all"] / 1000


def main() -> None:
    """Print the medians of a page."""
    from browser import started

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", nargs="?", type=Path, help="a page that `mtlv compare` has written")
    with tempfile.TemporaryDirectory() as folder, started() as chromium:
        page_file = parser.parse_args().page or made_up(Path(folder))
        for slowdown in SLOWDOWNS:
            times = [measure(chromium, page_file.absolute(), slowdown) for _ in range(REPEATS)]
            first, every = (median(column) for column in zip(*times, strict=True))
            print(f"processor 1/{slowdown}: first picture after {first:.1f} s, all after {every:.1f} s")


if __name__ == "__main__":
    main()
