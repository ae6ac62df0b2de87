"""The value of a group by linear probes that share what they read from a text."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.errors import GroupingError
from mtlv.grouping.group_values import Groups, GroupValue


class RankProbe(GroupValue):
    """What linear probes of a group's tasks gain on validation documents if they share `rank` directions.

    Alone, each task has a probe of its own. In a group S, the outputs of the |S| probes for the training
    documents are replaced by their best approximation of the given rank: with V the leading eigenvectors of
    their Gram matrix [|S|, |S|], the outputs F of any documents become F V V'. The value is the sum over S of
    the mean squared error on validation documents alone, minus that in the group. Tasks that need the same
    direction gain, because noise in their probes averages out; others lose the direction that is theirs. With
    a rank of |S| or more nothing changes, so the value is 0, and so it is for a task alone.

    Source: reduced-rank regression (Izenman, Journal of Multivariate Analysis, 1975), of ridge regressions as
    in Mukherjee and Zhu (Statistical Analysis and Data Mining, 2011), who give all of them one penalty.

    Args:
        fitted: [n, T], outputs of the T probes for the training documents.
        outputs: [m, T], outputs for the validation documents.
        truth: [m, T], what these should be.
        rank: directions that a group shares. One for groups of any size: if larger groups may keep more,
            joining groups costs next to nothing, and planted groups are not found.

    Raises:
        GroupingError: a number is not finite.

    Example:
        >>> RankProbe(fitted=np.eye(2), outputs=[[1, 1]], truth=[[1, 0]]).of(np.array([[True, False]]))
        array([0.])
    """

    def __init__(self, fitted: ArrayLike, outputs: ArrayLike, truth: ArrayLike, rank: int = 1) -> None:
        train, validation, labels = (
            np.asarray(array, dtype=np.float64) for array in (fitted, outputs, truth)
        )
        if not all(np.isfinite(array).all() for array in (train, validation, labels)):
            raise GroupingError("outputs of probes and labels must be finite numbers")
        self.items, self.rank = train.shape[1], rank
        self.note = (
            f"by probes of {len(train)} training documents, judged by {len(validation)} for validation"
        )
        self.gram = train.T @ train  # [T, T], as the next two
        self.squares = validation.T @ validation / len(validation)
        self.products = labels.T @ validation / len(validation)

    def of(self, groups: Groups) -> NDArray[np.float64]:
        return np.nansum(self.gains(groups), axis=1)

    def gains(self, groups: Groups) -> NDArray[np.float64]:
        """Return what each task of a group gains [n, T], in units of squared labels; NaN for other tasks."""
        gains = np.full(groups.shape, np.nan)
        sizes = groups.sum(axis=1)
        for size in np.unique(sizes[sizes > 0]):  # eigenvectors of all groups of a size at once
            rows = np.flatnonzero(sizes == size)
            tasks = np.nonzero(groups[rows])[1].reshape(-1, size)  # [g, s]
            pairs = tasks[:, :, None], tasks[:, None, :]
            squares, products = self.squares[pairs], self.products[pairs]  # [g, s, s]
            basis = np.linalg.eigh(self.gram[pairs]).eigenvectors[:, :, -self.rank :]
            shared = basis @ basis.transpose(0, 2, 1)
            together = (shared @ squares * shared).sum(axis=2) - 2 * (products * shared).sum(axis=2)
            alone = (squares - 2 * products).diagonal(axis1=1, axis2=2)
            gains[rows[:, None], tasks] = alone - together
        return gains
