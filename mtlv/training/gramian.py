"""Balancers that weigh gradients by their Gramian, at the vectors that the heads read (`training.objective`).

For K losses with gradients g_i in these vectors, all weights follow from G = (g_i · g_j). Each `weights`
returns those of the mean: 1 / K for each loss if nothing is changed. PyTorch and SciPy are imported late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.seeding import seed_from
from mtlv.training.balancing import Balancer

if TYPE_CHECKING:
    import torch

Array = NDArray[np.float64]
TINY = 1e-10
"""Smallest eigenvalue, relative to the largest, that is not rounding of fp32 gradients."""


class GramianBalancer(Balancer):
    """Factors from the gradients of a step."""

    gradients = True

    def compare(self, gramian: torch.Tensor) -> None:
        """Find the factors of a step from G [K, K] of its losses, each as it is in the sum."""
        own = gramian.double().cpu().numpy()
        size = np.trace(own) / self.count
        even = np.full(self.count, 1 / self.count)
        found = self.weights(own / size) if np.isfinite(size) and size > 0 else even
        self._found = gramian.new_tensor(self.count * (found if np.isfinite(found).all() else even))

    def factors(self, losses: torch.Tensor) -> torch.Tensor:
        return self._found

    def weights(self, gramian: Array) -> Array:
        """Return weights [K] from G [K, K], whose mean diagonal is 1."""
        raise NotImplementedError


class MGDA(GramianBalancer):
    """The convex combination of least norm: min wᵀGw with w >= 0, Σw = 1 (Sener & Koltun 2018)."""

    def weights(self, gramian: Array) -> Array:
        # For v = s w, min over s of s² wᵀGw + (s - 1)² rises with wᵀGw, so v / Σv is the exact solution.
        root = _root(gramian)
        found = _nonnegative(np.vstack([root, np.ones(self.count)]), np.append(np.zeros(len(root)), 1.0))
        return found / found.sum()


class UPGrad(GramianBalancer):
    """Mean of the gradients, each projected on what harms no loss (Quinton & Rey 2024).

    The weights of a projection are argmin vᵀGv with v >= e_i.
    """

    def weights(self, gramian: Array) -> Array:
        root, units = _root(gramian), np.eye(self.count)
        return np.mean([unit + _nonnegative(root, -root @ unit) for unit in units], axis=0)


class PCGrad(GramianBalancer):
    """Each gradient without its part against every other, in random order (Yu et al. 2020)."""

    def weights(self, gramian: Array) -> Array:
        draws, found = np.random.default_rng(seed_from(self.seed, self.step)), np.eye(self.count)
        for own, row in enumerate(found):
            for other in draws.permutation(self.count):
                product = gramian[other] @ row
                if other != own and product < 0:
                    row[other] -= product / gramian[other, other]
        return found.mean(axis=0)


class Aligned(GramianBalancer):
    """Gradients turned to an orthogonal system, all of the least singular value (Senushkin et al. 2023)."""

    def weights(self, gramian: Array) -> Array:
        values, vectors = _eigen(gramian)
        balanced = np.sqrt(values.min()) * (vectors / np.sqrt(values)) @ vectors.T
        return balanced.mean(axis=1)


class IMTLG(GramianBalancer):
    """Equal projections of the sum on the directions of all gradients, Σw = 1 (Liu et al. 2021)."""

    def weights(self, gramian: Array) -> Array:
        values, vectors = _eigen(gramian)
        found = (vectors / values) @ vectors.T @ np.sqrt(gramian.diagonal())
        return found / found.sum()


def _eigen(gramian: Array) -> tuple[Array, Array]:
    """Return the eigenvalues above 0 [R], and their eigenvectors [K, R]."""
    values, vectors = np.linalg.eigh(gramian)
    there = values > TINY * values.max()
    return values[there], vectors[:, there]


def _root(gramian: Array) -> Array:
    """Return a matrix A with AᵀA = G."""
    values, vectors = _eigen(gramian)
    return (vectors * np.sqrt(values)).T


def _nonnegative(matrix: Array, target: Array) -> Array:
    """Return argmin over x >= 0 of |matrix x - target|."""
    from scipy.optimize import nnls

    found: Array = nnls(matrix, target)[0]
    return found


# ---- Gradients ---------------------------------------------------------------------------------------------


@contextmanager
def vectors_of(heads: Iterable[torch.nn.Module]) -> Iterator[list[torch.Tensor]]:
    """Give a list to which heads add the vectors that they read, each once."""
    seen: list[torch.Tensor] = []

    def see(_: Any, given: Sequence[Any]) -> None:
        if not any(given[0] is each for each in seen):
            seen.append(given[0])

    handles = [head.register_forward_pre_hook(see) for head in heads]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def gramian_of(losses: torch.Tensor, vectors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return G [R, R] of losses [R], in fp32, and keep the graph; zeros if nothing below learns."""
    import torch

    if not any(each.requires_grad for each in vectors):
        return losses.detach().new_zeros(len(losses), len(losses))
    rows = []
    for loss in losses:
        parts = torch.autograd.grad(loss, vectors, retain_graph=True, materialize_grads=True)
        rows.append(torch.cat([part.flatten() for part in parts]).float())
    found = torch.stack(rows)
    return found @ found.T
