"""Every kind of picture that mtlv draws on one page, to look at: `$MTLV_SCREENSHOTS/contact_sheet.html`."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

import numpy as np
import pytest
from comparisons import TASKS, a_comparison
from made_transfers import a_matrix
from PIL import Image

from mtlv.comparison.files import write_figures
from mtlv.comparison.sections import each_section
from mtlv.comparison.sections.transfer import transfer_section
from mtlv.figures.elbow import draw_elbow
from mtlv.figures.per_task import draw_per_task
from mtlv.figures.task_map import draw_map
from mtlv.grouping.elbow import Elbow

KINDS = {
    "overview",
    "cost",
    "curves",
    "tasks",
    "groups",
    "significance",
    "calibration",
    "errors",
}  # sections with figures
STYLE = (
    "body { font: 15px sans-serif; margin: 2rem } main { columns: 2; column-gap: 2rem }"
    "figure { break-inside: avoid; margin: 0 0 2rem } img { max-width: 100% }"
)


def by_matplotlib(folder: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    names = [*TASKS[:6], "A name of many words that needs two lines", "多标签", "Ещё одна"]
    labels = [0, 0, 0, 1, 1, 2, 2, 2, 3]
    vectors = rng.normal(0, 1, (9, 6)) + 3 * np.eye(6)[labels]
    f1, support = np.linspace(0.95, 0.05, 9), np.arange(90, 0, -10)
    falling = tuple(10 * 0.8**k for k in range(8))
    knee = Elbow(tuple(range(1, 9)), (10, 6, 2, 1.8, 1.6, 1.4, 1.2, 1.0), (None, *[0.3] * 7), 3, "k = 3.")
    none = Elbow(tuple(range(1, 9)), falling, (None, *np.linspace(0.1, -0.1, 7)), 1, "There is no knee.")
    drawn = {
        "elbow": lambda path: draw_elbow(knee, path, title="With a knee", chosen=3),
        "elbow_other": lambda path: draw_elbow(knee, path, title="With a knee and another choice", chosen=5),
        "elbow_none": lambda path: draw_elbow(none, path, title="Without a knee", chosen=1),
        "map": lambda path: draw_map(vectors, names, labels, path, title="Map", medoids=(0, 3, 5, 8)),
        "per_task": lambda path: draw_per_task(names, f1, support, path, title="One seed"),
        "per_task_spread": lambda path: draw_per_task(
            names, f1, support, path, title="Seeds", spread=[np.nan, *[0.02] * 8]
        ),
    }
    return [draw(folder / f"{name}.png") for name, draw in drawn.items()]


def by_vega(folder: Path) -> list[Path]:
    comparison = a_comparison(runs=5, children=3, tasks=6)
    found = [section for section in each_section(comparison) if section.id in KINDS]
    assert {section.id for section in found} == KINDS
    drawn = [(comparison, section) for section in (*found, transfer_section(a_matrix()))]
    return [
        path.rename(path.with_stem(f"page_{path.stem}"))  # those of Matplotlib have the same names
        for of, section in drawn
        for path in write_figures(of, [section], folder)
        if path.suffix == ".png"
    ]


@pytest.mark.slow
def test_every_kind_of_picture_is_drawn_on_one_sheet(screenshots: Path, tmp_path: Path):
    pictures = [*by_matplotlib(tmp_path), *by_vega(tmp_path)]
    assert len(pictures) > 25
    assert "page_transfer_matrix" in {path.stem for path in pictures}
    shown = []
    for path in pictures:
        with Image.open(path) as image:
            assert len(image.convert("RGB").getcolors(image.width * image.height)) > 20, path.name
        source = f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
        name = escape(path.stem)
        shown.append(f'<figure><img src="{source}" alt="{name}"><figcaption>{name}</figcaption></figure>')
    head = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Contact sheet</title><style>{STYLE}</style>"
    )
    page = f"{head}<h1>Contact sheet</h1><main>{''.join(shown)}</main>"
    (screenshots / "contact_sheet.html").write_text(page, encoding="utf-8")
