"""Groups of tasks of similar size: the density of the label counts is split at its minima."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.errors import GroupingError
from mtlv.grouping.cluster import GroupLabels
from mtlv.grouping.scaling import as_features

GRID = 1024  # points at which the density is computed
MARGIN = 3.0  # bandwidths beyond the smallest and largest value


def kde(counts: ArrayLike, bandwidth: float | None) -> GroupLabels:
    """Split items at the minima of a Gaussian kernel density of log(1 + count).

    Each task is in exactly one interval: below the lowest minimum, between two minima, or above the highest
    (a value on a minimum belongs to the interval above). A density without a minimum gives one group.

    Args:
        counts: [T] or [T, 1], not negative, unchanged: `grouping.scaling` is not applied.
        bandwidth: the kernel's standard deviation in natural-log units; None uses `silverman`.

    Raises:
        GroupingError: there is more than one number per task, or a negative count.
    """
    matrix = as_features(counts)
    if matrix.shape[1] != 1 or (matrix < 0).any():
        raise GroupingError(
            "`grouping.method: kde` groups tasks by one count each",
            got=f"{matrix.shape[1]} numbers per task" if matrix.shape[1] != 1 else "a negative count",
            then="set `grouping.features: label_count`",
        )
    values = np.log1p(matrix[:, 0])
    width = silverman(values) if bandwidth is None else float(bandwidth)
    if width == 0:
        return GroupLabels(np.zeros(len(values), dtype=np.intp), ("all tasks have the same count",))
    cuts = density_minima(values, width)
    note = f"KDE of log(1 + count): bandwidth {width:.3g}, cut at counts " + (
        ", ".join(f"{np.expm1(cut):.0f}" for cut in cuts) or "none"
    )
    return GroupLabels(np.searchsorted(cuts, values, side="right").astype(np.intp), (note,))


def silverman(values: NDArray[np.float64]) -> float:
    """Return the rule-of-thumb bandwidth 0.9 min(s, IQR / 1.34) n^(-1/5), for s with n - 1.

    Uses only s if the interquartile range is 0. Returns 0 for a single value or equal values. Source:
    Silverman 1986, eq. 3.31.
    """
    if len(values) < 2:
        return 0.0
    deviation = float(values.std(ddof=1))
    low, high = np.percentile(values, [25, 75])
    spread = min(deviation, (high - low) / 1.34) or deviation
    return float(0.9 * spread * len(values) ** -0.2)


def density_minima(values: NDArray[np.float64], bandwidth: float) -> NDArray[np.float64]:
    """Return the minima of the Gaussian kernel density of `values`, with the resolution of the grid."""
    reach = MARGIN * bandwidth
    grid = np.linspace(values.min() - reach, values.max() + reach, GRID)
    density = np.exp(-0.5 * ((grid[:, None] - values) / bandwidth) ** 2).sum(axis=1)  # [GRID]
    level = density > 1e-300  # where the kernels underflow, the density is flat at 0
    slope = np.sign(np.diff(np.where(level, density, 0.0)))
    turning = np.flatnonzero(slope)  # skips flat stretches: a minimum is a fall followed by a rise
    falls = (slope[turning[:-1]] < 0) & (slope[turning[1:]] > 0)
    return (grid[turning[:-1][falls] + 1] + grid[turning[1:][falls]]) / 2
