"""Scaling of features before distances are computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.errors import GroupingError


def as_features(features: ArrayLike) -> NDArray[np.float64]:
    """Return features as a matrix [T, D] of finite numbers; one number per item [T] becomes [T, 1].

    Raises:
        GroupingError: there is no item, or a value is not finite.
    """
    matrix = np.asarray(features, dtype=np.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix  # [T] -> [T, 1]
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise GroupingError("`features` must be a matrix with a row per task", got=f"shape {matrix.shape}")
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise GroupingError(
            f"`features` of {bad.size} of {len(matrix)} tasks are not finite numbers",
            got=f"rows {', '.join(map(str, bad[:10]))}",
            then="a task without training documents has no `document_centroid`; take other features",
        )
    return matrix


def scale(features: ArrayLike, how: str) -> NDArray[np.float64]:
    """Return scaled features [T, D].

    Args:
        features: [T, D] or [T].
        how: `minmax` scales each dimension to [0, 1] across the T items, a constant one to 0 (like
            scikit-learn's MinMaxScaler; used in the thesis). `l2` scales each row to length 1; a zero row is
            unchanged. `none` does not scale.

    Raises:
        GroupingError: features are not finite.
    """
    matrix = as_features(features)
    if how == "none":
        return matrix
    if how == "minmax":
        low = matrix.min(axis=0)
        span = matrix.max(axis=0) - low
        return (matrix - low) / np.where(span > 0, span, 1.0)
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.where(length > 0, length, 1.0)
