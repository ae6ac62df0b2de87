"""The elbow plot: a PNG with the knee, the silhouette and the reason."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from matplotlib.image import imread

from mtlv.figures.elbow import draw_elbow
from mtlv.grouping import Elbow

REASON = "k = 3: the knee of the curve. The inertia is 12, 60% lower than with one group (30)."
MANY = tuple(range(1, 61))
CURVE = Elbow((1, 2, 3, 4), (30.0, 20.0, 12.0, 11.0), (None, 0.2, 0.41, -0.1), 3, REASON)


def test_a_picture_for_a_paper(tmp_path):
    path = draw_elbow(CURVE, tmp_path / "new" / "elbow.png", title="Elbow", chosen=3)
    height, width = imread(path).shape[:2]
    assert width == pytest.approx(7.4 * 200, abs=2)
    assert height == pytest.approx(3.7 * 200, abs=2)


@pytest.mark.parametrize(
    ("curve", "chosen"),
    [
        (CURVE, 2),
        (CURVE, 9),
        (Elbow((1,), (0.0,), (None,), 1, "k = 1: with one task there is nothing to group."), 1),
        (Elbow((1, 2), (4.0, 0.0), (None, None), 1, "k = 1: with two tasks there is nothing to group."), 1),
        (Elbow((1, 2, 3), (0.0, 0.0, 0.0), (None, 0.0, None), 2, REASON), 1),
        (
            Elbow(
                tuple(range(1, 61)), tuple(60.0 / k for k in range(1, 61)), (None,) + (0.1,) * 59, 8, REASON
            ),
            1,
        ),
    ],
)
def test_few_and_many_groups_can_be_drawn(kept, tmp_path, curve, chosen):
    draw_elbow(curve, tmp_path / "elbow.png", title="Elbow", chosen=chosen)
    legend = [text.get_text() for text in kept[0].axes[0].get_legend().get_texts()]
    assert (f"used: k = {chosen}" in legend) == (chosen in curve.k and chosen != curve.recommended)


def test_the_axes_say_what_they_show(kept, tmp_path, monkeypatch):
    seen = []
    for name in ("set_xlabel", "set_ylabel"):
        monkeypatch.setattr(Axes, name, lambda self, text, **_: seen.append(text))
    draw_elbow(CURVE, tmp_path / "elbow.png", title="Elbow", chosen=3)
    assert "Sum of distances to the nearest medoid" in seen
    assert "Mean silhouette" in seen
    assert seen.count("Number of groups k") == 2


def test_many_numbers_of_groups_have_at_most_twelve_ticks(kept, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(Axes, "set_xticks", lambda self, ticks, **_: seen.append(ticks))
    for last in (4, 12, 13, 60):
        many = tuple(range(1, last + 1))
        curve = Elbow(many, tuple(60.0 / k for k in many), (None,) * last, 2, REASON)
        draw_elbow(curve, tmp_path / "elbow.png", title="Elbow", chosen=1)
    wanted = [[*range(1, 5)], [*range(1, 13)], [*range(1, 14, 2)], [*range(1, 61, 5)]]
    assert seen[::2] == seen[1::2] == wanted
