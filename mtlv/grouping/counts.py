"""Groups of tasks of like size: a density of the label counts, cut where it is lowest."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.errors import GroupingError
from mtlv.grouping.cluster import GroupLabels
from mtlv.grouping.scaling import as_features

GRID = 1024  # points on which the density is looked at
MARGIN = 3.0  # bandwidths beyond the outermost values


def kde(counts: ArrayLike, bandwidth: float | None) -> GroupLabels:
    """Groups = the intervals between the minima of a Gaussian kernel density of log(1 + count).

    Each task is in exactly one interval: below the lowest minimum, between two, or above the highest (a value
    on a minimum belongs to the interval above). A density without a minimum gives one group.

    Args:
        counts: [T] or [T, 1], not negative, as counted: `grouping.scaling` is not applied.
        bandwidth: the kernel's standard deviation in natural-log units; none = `silverman`.

    Raises:
        GroupingError: more than one number per task, a negative count, or a bandwidth that is not above 0.
    """
    matrix = as_features(counts)
    if matrix.shape[1] != 1 or (matrix < 0).any():
        raise GroupingError(
            "`grouping.method: kde` groups tasks by one count each",
            got=f"{matrix.shape[1]} numbers per task" if matrix.shape[1] != 1 else "a negative count",
            then="set `grouping.features: label_count`",
        )
    if bandwidth is not None and not bandwidth > 0:
        raise GroupingError("`grouping.bandwidth` must be above 0", got=bandwidth)
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
    """Rule-of-thumb bandwidth 0.9 min(s, IQR / 1.34) n^(-1/5) (Silverman 1986, eq. 3.31), s with n - 1.

    Where the inter-quartile range is 0, s alone; 0 for one value or equal values.
    """
    if len(values) < 2:
        return 0.0
    deviation = float(values.std(ddof=1))
    low, high = np.percentile(values, [25, 75])
    spread = min(deviation, (high - low) / 1.34) or deviation
    return float(0.9 * spread * len(values) ** -0.2)


def density_minima(values: NDArray[np.float64], bandwidth: float) -> NDArray[np.float64]:
    """Where the Gaussian kernel density of `values` has its minima, to the resolution of the grid."""
    reach = MARGIN * bandwidth
    grid = np.linspace(values.min() - reach, values.max() + reach, GRID)
    density = np.exp(-0.5 * ((grid[:, None] - values) / bandwidth) ** 2).sum(axis=1)  # [GRID]
    level = density > 1e-300  # where the kernels underflow, the density is flat at 0
    slope = np.sign(np.diff(np.where(level, density, 0.0)))
    turning = np.flatnonzero(slope)  # flat stretches are bridged: a minimum is a fall followed by a rise
    falls = (slope[turning[:-1]] < 0) & (slope[turning[1:]] > 0)
    return (grid[turning[:-1][falls] + 1] + grid[turning[1:][falls]]) / 2
