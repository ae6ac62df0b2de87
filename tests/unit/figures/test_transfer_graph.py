"""The graph of helping: which arrows there are, what tells them apart, and that none is hidden."""

from __future__ import annotations

import numpy as np
import pytest
from made_transfers import a_matrix
from matplotlib.colors import to_hex
from matplotlib.patches import Polygon
from stilt_tables import BERT, published

from mtlv.evaluation.transfer import LEARNED_WITH, Transfers, effects
from mtlv.figures.graph_layout import COLOURS, bezier, circle, edges
from mtlv.figures.transfer_graph import draw_helping


@pytest.fixture
def drawn(figure_of):
    return figure_of(draw_helping)


def laid(transfers):
    return edges(effects(transfers), circle(transfers.names))


def test_every_cell_with_a_verdict_is_an_arrow_of_its_colour(drawn):
    transfers = a_matrix()
    heads = [patch for patch in drawn(transfers).axes[0].patches if isinstance(patch, Polygon)]
    wanted = sorted(COLOURS[cell.verdict].lower() for cell in effects(transfers))
    assert sorted(to_hex(head.get_facecolor()) for head in heads) == wanted


def test_verdicts_differ_by_line_style_too(drawn):
    lines = [line for line in drawn(a_matrix(11)).axes[0].lines if line.get_marker() != "o"]
    unscaled = {to_hex(line.get_color()): str(line._unscaled_dash_pattern) for line in lines}
    assert len(unscaled) == len(set(unscaled.values())) == 3


def test_means_alone_give_no_arrows(drawn):
    transfers = published(BERT)
    figure = drawn(transfers)
    assert not figure.axes[0].patches
    assert "no verdict, not drawn (110)" in [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("tasks", [2, 3, 6, 11])
def test_the_two_directions_are_apart_and_no_arrow_passes_another_node(tasks):
    transfers = a_matrix(tasks, 5)
    places = circle(transfers.names)
    drawn = {(edge.effect.source, edge.effect.target): edge for edge in laid(transfers)}
    for (source, target), edge in drawn.items():
        line = bezier(edge.curve)
        back = drawn.get((target, source))
        if back is not None:
            assert np.hypot(*(line[12] - bezier(back.curve)[12])) > 0.08
        for name, place in places.items():
            if name not in (source, target):
                assert np.hypot(*(line - place).T).min() > 0.1


def test_arrows_point_from_the_source_to_the_target():
    transfers = a_matrix()
    places = circle(transfers.names)
    for edge in laid(transfers):
        assert np.hypot(*(edge.head[0] - places[edge.effect.target])) < 0.1
        assert np.hypot(*(edge.curve[0] - places[edge.effect.source])) < 0.1
        assert edge.curve[2] == pytest.approx(edge.head[1:].mean(axis=0))


def test_width_grows_with_the_difference_and_grey_lies_lowest():
    drawn = laid(a_matrix())
    by_size = sorted(drawn, key=lambda edge: abs(edge.effect.mean))
    assert [edge.width for edge in by_size] == sorted(edge.width for edge in drawn)
    verdicts = [edge.effect.verdict for edge in drawn]
    assert verdicts == sorted(verdicts, key=("neutral", "harms", "helps").index)
    zero = {(0, seed): 0.5 for seed in range(3)}
    equal = laid(Transfers(("t",), ("s",), {"t": zero}, {("s", "t"): zero}))
    assert [(edge.effect.verdict, edge.width) for edge in equal] == [("neutral", 0.7)]


def test_two_cells_of_one_pair_are_two_arrows():
    assert len(laid(a_matrix(2))) == 2
    assert circle(("a", "b"))["b"] == pytest.approx((0, -1))


@pytest.mark.parametrize("tasks", [2, 11])
def test_names_stay_on_the_page(drawn, tasks):
    transfers = a_matrix(tasks, wording=LEARNED_WITH)
    long = {name: f"{name} of a corpus with a long name" for name in transfers.names}
    renamed = Transfers(
        tuple(long[name] for name in transfers.targets),
        tuple(long[name] for name in transfers.sources),
        {long[name]: scores for name, scores in transfers.baseline.items()},
        {(long[s], long[t]): scores for (s, t), scores in transfers.after.items()},
        LEARNED_WITH,
    )
    for each in (transfers, renamed):
        figure = drawn(each, "A title")
        for text in figure.axes[0].texts:
            box = text.get_window_extent()
            assert box.x0 >= -1
            assert box.x1 <= figure.bbox.x1 + 1
        told = figure.legends[0].get_title().get_text().replace("\n", " ")
        assert "from the added task to the measured task" in told
        assert "…" not in told
