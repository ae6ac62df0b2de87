"""How well a model suits a task that it was not trained on, from its vectors or outputs, without training."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

ROUNDS, CLOSE = 100, 1e-6  # of the fixed point of `log_me`; it takes a few
Floats = NDArray[np.float64]


def one_hot(labels: ArrayLike) -> Floats:
    """Return a column of zeros and ones for each class [N, C] of labels [N]."""
    _, numbers = np.unique(np.asarray(labels), return_inverse=True)
    return np.eye(int(numbers.max()) + 1)[numbers]


def h_score(vectors: ArrayLike, labels: ArrayLike) -> float:
    """Return tr(cov(f)⁻¹ cov(E[f | y])), the variance between classes in units of that of the vectors.

    The covariance is shrunk by Ledoit and Wolf, and so is its part between the classes, without which many
    dimensions count as separated by chance. Source: Bao et al., "An information-theoretic approach to
    transferability in task transfer learning" (ICIP 2019); Ibrahim et al., "Newer is not always better"
    (ECML PKDD 2022).

    Args:
        vectors: [N, H].
        labels: [N], a class each.

    Example:
        >>> h_score([[0.0], [0.0], [2.0], [2.0]], [0, 0, 1, 1])
        1.0
    """
    from sklearn.covariance import ledoit_wolf

    centred = np.asarray(vectors, dtype=np.float64)
    centred = centred - centred.mean(axis=0)
    covariance, shrinkage = ledoit_wolf(centred, assume_centered=True)
    member = one_hot(labels)
    means = (member.T @ centred) / member.sum(axis=0)[:, None]  # [C, H]
    between = (means.T * (member.mean(axis=0))) @ means
    return float(np.trace(np.linalg.pinv(covariance) @ between) * (1 - shrinkage))


def log_me(vectors: ArrayLike, labels: ArrayLike) -> float:
    """Return the log evidence per document of a linear model from vectors to each class, mean over classes.

    A Bayesian linear regression without intercept on zeros and ones, with the prior's precision and that of
    the noise where the evidence is largest. Source: You et al., "LogME: practical assessment of pre-trained
    models for transfer learning" (ICML 2021).

    Args:
        vectors: [N, H].
        labels: [N], a class each.
    """
    features, columns = np.asarray(vectors, dtype=np.float64), one_hot(labels)
    spectrum, basis = np.linalg.eigh(features.T @ features)  # [H]
    spectrum = np.maximum(spectrum, 0)
    turned = basis.T @ (features.T @ columns)  # [H, C]
    evidence = [
        _evidence(spectrum, projection, float(column @ column), len(features))
        for projection, column in zip(turned.T, columns.T, strict=True)
    ]
    return float(np.mean(evidence))


def _evidence(spectrum: Floats, turned: Floats, square: float, count: int) -> float:
    """Return the largest log evidence per document.

    Args:
        spectrum: [H], eigenvalues of the vectors' FᵀF.
        turned: [H], Fᵀy in its eigenvectors.
        square: yᵀy.
        count: N.
    """
    prior, noise = 1.0, 1.0  # precisions
    for _ in range(ROUNDS):
        weights = noise * turned / (prior + noise * spectrum)
        effective = float((noise * spectrum / (prior + noise * spectrum)).sum())
        length = max(float(weights @ weights), 1e-12)
        missed = max(square - 2 * float(weights @ turned) + float((spectrum * weights) @ weights), 1e-12)
        before, prior, noise = prior / noise, effective / length, (count - effective) / missed
        if abs(prior / noise - before) <= CLOSE * before:
            break
    precision = prior + noise * spectrum
    weights = noise * turned / precision
    missed = max(square - 2 * float(weights @ turned) + float((spectrum * weights) @ weights), 0.0)
    total = (
        len(spectrum) * np.log(prior)
        + count * np.log(noise / (2 * np.pi))
        - float(np.log(precision).sum())
        - noise * missed
        - prior * float(weights @ weights)
    )
    return float(total / (2 * count))


def leep(outputs: ArrayLike, labels: ArrayLike) -> float:
    """Return the mean log probability of labels, predicted from another task's outputs alone, in nats.

    P(y) of a document is the sum over the other task's classes z of P(y | z) p_z, with P(y | z) from all
    documents. At most 0, and minus the entropy of the labels if the outputs say nothing of them. Source:
    Nguyen et al., "LEEP: a new measure to evaluate transferability of learned representations" (ICML 2020).

    Args:
        outputs: [N, Z] probabilities of the other task's classes.
        labels: [N], a class each.

    Example:
        >>> round(leep([[0.5, 0.5]] * 4, [0, 0, 1, 1]), 4)
        -0.6931
    """
    probabilities, member = np.asarray(outputs, dtype=np.float64), one_hot(labels)
    mass = probabilities.sum(axis=0)  # [Z]
    of_class = (probabilities.T @ member) / np.where(mass > 0, mass, 1.0)[:, None]  # [Z, C], P(y | z)
    return float(np.log(((probabilities @ of_class) * member).sum(axis=1)).mean())
