"""KDE on label counts: cut at the density's minima, nothing lost at the ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import argrelmin
from scipy.stats import gaussian_kde

from mtlv.grouping.counts import density_minima, kde, silverman

OPENI = [105, 286, 243, 248, 304, 170, 100, 140, 93, 80, 99, 95, 103, 179, 244, 392, 150, 89, 235]


def test_minima_are_those_of_scipy():
    values = np.log1p(np.array([3, 4, 5, 60, 70, 80, 2000, 2500], dtype=float))
    width = 0.5
    density = gaussian_kde(values, bw_method=width / values.std(ddof=1))
    grid = np.linspace(values.min(), values.max(), 20_001)
    expected = grid[argrelmin(density(grid))[0]]
    assert density_minima(values, width) == pytest.approx(expected, abs=0.02)


def test_three_sizes_give_three_groups():
    found = kde([3, 4, 5, 60, 70, 80, 2000, 2500], bandwidth=0.5)
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


@pytest.mark.parametrize("bandwidth", [1e-4, 0.01, 0.05, 0.2, 1.0, 100.0])
def test_no_task_is_lost_whatever_the_number_of_minima(bandwidth):
    labels = kde(OPENI, bandwidth).labels
    assert len(labels) == len(OPENI)
    order = np.argsort(OPENI)
    assert (np.diff(labels[order]) >= 0).all()


def test_one_minimum_keeps_both_sides():
    assert kde([10, 11, 900, 1000], 0.4).labels.tolist() == [0, 0, 1, 1]


def test_no_minimum_is_one_group():
    assert set(kde([10, 11, 12], 5.0).labels.tolist()) == {0}


def test_equal_counts_are_one_group():
    found = kde([7, 7, 7], None)
    assert (found.labels.tolist(), found.notes) == ([0, 0, 0], ("all tasks have the same count",))


def test_silverman_by_hand():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])  # s = 1.5811, IQR / 1.34 = 2 / 1.34 = 1.4925
    assert silverman(values) == pytest.approx(0.9 * (2 / 1.34) * 5**-0.2)
    assert silverman(np.array([0.0, 0, 0, 0, 0, 9])) == pytest.approx(
        0.9 * np.std([0] * 5 + [9], ddof=1) * 6**-0.2
    )
