"""The suite's picture: numbers in their cells, readable on every colour, and names on the page."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from mtlv.figures.suite import draw_suite


@pytest.fixture
def drawn(kept, tmp_path):
    def run(members, tasks, f1, **options):
        support = options.pop("support", range(len(tasks)))
        macro = np.nanmean(np.asarray(f1), axis=1)
        draw_suite(members, tasks, f1, support, macro, tmp_path / "x.png", title="t", **options)
        return kept[-1]

    return run


def luminance(colour):
    """Relative luminance (WCAG 2)."""
    rgb = np.asarray(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722)


def test_rows_are_tasks_by_support_and_cells_hold_their_numbers(drawn):
    figure = drawn(["stl", "mtl"], ["a", "b"], [[0.1, 0.9], [0.2, np.nan]], support=[3, 8], micro=[0.5, 0.6])
    axes = figure.axes[1]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["b  (8)", "a  (3)"]
    cells = {text.get_position(): text.get_text() for text in axes.texts}
    assert cells == {(0, 0): "0.90", (1, 0): "–", (0, 1): "0.10", (1, 1): "0.20"}
    assert {text.get_text() for text in figure.axes[0].texts} == {"0.500", "0.600", "0.200"}


def test_numbers_stand_out_from_their_cells(drawn):
    values = np.linspace(0, 1, 40)[None].repeat(2, 0)
    axes = drawn(["a", "b"], [f"t{i}" for i in range(40)], values).axes[1]
    image = axes.images[0]
    for text in axes.texts:
        column, row = text.get_position()
        cell = image.to_rgba(np.asarray(image.get_array()))[row, column, :3]
        light, dark = sorted([luminance(cell), luminance(text.get_color())], reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 3.0


@pytest.mark.parametrize(("members", "tasks"), [(1, 2), (4, 19), (12, 19), (4, 100), (40, 5)])
def test_names_stay_on_the_page(drawn, members, tasks):
    rng = np.random.default_rng(0)
    names = [
        f"gmhl bluebert-clinical with a long name {i}" if members == 12 else f"member {i}"
        for i in range(members)
    ]
    figure = drawn(names, [f"Catheters, Indwelling {i}" for i in range(tasks)], rng.random((members, tasks)))
    axes = figure.axes[1]
    for text in [*axes.get_yticklabels(), *axes.get_xticklabels()]:
        box = text.get_window_extent()
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1
    assert bool(axes.texts) == (members <= 30)
