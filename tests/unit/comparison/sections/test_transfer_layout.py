"""The arrows of the transfer graph: their ends and widths, and that none is hidden."""

from __future__ import annotations

import numpy as np
import pytest
from made_transfers import a_matrix

from mtlv.comparison.sections.transfer.graph import circle, edges
from mtlv.evaluation.transfer import Transfers, effects


def laid(transfers):
    return edges(effects(transfers), circle(transfers.names))


def bezier(curve):
    """Points [25, 2] on a quadratic curve with control points [3, 2]."""
    t = np.linspace(0, 1, 25)[:, None]
    return (1 - t) ** 2 * curve[0] + 2 * t * (1 - t) * curve[1] + t**2 * curve[2]


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
