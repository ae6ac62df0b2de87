"""The bars: every name stays on the page."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mtlv.figures.per_task import draw_per_task

LONG = "a name with $dollars$ that is so long that nobody could ever read it on one line of a figure"


@pytest.fixture
def drawn(kept, tmp_path):
    """Draw and return the figure instead of forgetting it."""

    def run(names, f1, support, **options):
        draw_per_task(names, f1, support, tmp_path / "x.png", title="title", **options)
        return kept[-1]

    return run


def labels(figure):
    return [text.get_text() for text in figure.axes[0].get_yticklabels()]


def test_sorted_by_support_with_the_support_beside_the_name(drawn):
    figure = drawn(["a", "b", "c"], [0.1, 0.9, 0.5], [5, 20, 7])
    assert labels(figure) == ["b  (20)", "c  (7)", "a  (5)"]
    assert [bar.get_width() for bar in figure.axes[0].patches] == [0.9, 0.5, 0.1]
    assert "0.90" in [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize("count", [1, 19, 100])
def test_every_label_is_on_the_page_and_none_overlaps(drawn, count):
    rng = np.random.default_rng(0)
    names = [f"{LONG} {i}" if i == 3 else f"label {i}" for i in range(count)]
    figure = drawn(names, rng.random(count), rng.integers(0, 99, count), spread=rng.random(count) / 9)
    boxes = [text.get_window_extent() for text in figure.axes[0].get_yticklabels()]
    assert len(boxes) == count
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)
    boxes.sort(key=lambda box: -box.y0)
    assert all(high.y0 >= low.y1 - 2 for high, low in itertools.pairwise(boxes))


def test_of_a_thousand_tasks_the_most_and_least_frequent_are_drawn(drawn):
    figure = drawn([f"task {number}" for number in range(1000)], np.linspace(0, 1, 1000), np.arange(1000))
    assert figure.bbox.height < 11_000
