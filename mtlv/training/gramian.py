"""Balancers that weigh gradients by their Gramian, at the vectors that the heads read (`training.objective`).

For K losses with gradients g_i in these vectors, TorchJD finds the weights from G = (g_i · g_j). PyTorch,
SciPy and TorchJD are imported late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from mtlv.errors import PlanError
from mtlv.seeding import seed_from
from mtlv.training.balancing import Balancer

if TYPE_CHECKING:
    import torch


def check_balancer(name: str, balancer: type[Balancer]) -> None:
    """Check that the package of a balancer is installed.

    Raises:
        PlanError: it is not.
    """
    if issubclass(balancer, GramianBalancer) and find_spec("torchjd") is None:
        raise PlanError(
            f"`training.objective.name: {name}` needs the package torchjd",
            then="install it: pip install 'mtlv[torchjd]'",
        )


class GramianBalancer(Balancer):
    """Factors from the gradients of a step: K times the weights of their mean by TorchJD."""

    gradients = True
    version = 2  # by TorchJD
    weighting: ClassVar[str]
    """Name of a class of `torchjd.aggregation`."""

    def compare(self, gramian: torch.Tensor) -> None:
        """Find the factors of a step from G [K, K] of its losses, each as it is in the sum."""
        matrix = gramian.double().cpu()
        size = matrix.trace() / self.count
        factors = matrix.new_ones(self.count)
        if size.isfinite() and size > 0:
            weights = self.weights(matrix / size)
            factors = self.count * weights if weights.isfinite().all() else factors
        self._factors = factors.to(gramian)

    def factors(self, losses: torch.Tensor) -> torch.Tensor:
        return self._factors

    def weights(self, gramian: torch.Tensor) -> torch.Tensor:
        """Return the weights [K] of the mean from G [K, K], in fp64 on the CPU, with a mean diagonal of 1."""
        from torchjd import aggregation

        weights: torch.Tensor = getattr(aggregation, self.weighting)(**self.options())(gramian)
        return weights

    def options(self) -> dict[str, Any]:
        """Return the arguments of TorchJD's class."""
        return {}


class MGDA(GramianBalancer):
    """The convex combination of least norm: min wᵀGw with w >= 0, Σw = 1 (Sener & Koltun 2018)."""

    weighting = "MGDAWeighting"


class UPGrad(GramianBalancer):
    """Mean of the gradients, each projected on what harms no loss (Quinton & Rey 2024).

    The weights of a projection are argmin vᵀGv with v >= e_i.
    """

    weighting = "UPGradWeighting"

    def options(self) -> dict[str, Any]:
        return {"projector": _project}


class PCGrad(GramianBalancer):
    """Each gradient without its part against every other, in random order (Yu et al. 2020)."""

    weighting = "PCGradWeighting"

    def weights(self, gramian: torch.Tensor) -> torch.Tensor:
        import torch

        with torch.random.fork_rng([]):  # dropout masks stay those of the sum
            torch.default_generator.manual_seed(seed_from(self.seed, self.step))
            return super().weights(gramian) / self.count


class Aligned(GramianBalancer):
    """Gradients turned to an orthogonal system, all of the least singular value (Senushkin et al. 2023)."""

    weighting = "AlignedMTLWeighting"


class IMTLG(GramianBalancer):
    """Equal projections of the sum on the directions of all gradients, Σw = 1 (Liu et al. 2021)."""

    weighting = "IMTLGWeighting"


def _project(vectors: torch.Tensor, gramian: torch.Tensor) -> torch.Tensor:
    """Return argmin vᵀGv with v >= u for each row u of `vectors`, by SciPy.

    TorchJD's own `DualConeProjector` needs quadprog, which is under the GPL. With G = AᵀA and v = u + x, this
    is the least |Ax + Au| over x >= 0.
    """
    import torch
    from scipy.optimize import nnls

    values, axes = torch.linalg.eigh(gramian)
    root = (axes * values.clamp(min=0).sqrt()).T.numpy()
    return torch.stack([row + torch.from_numpy(nnls(root, -root @ row.numpy())[0]) for row in vectors])


# ---- Gradients ---------------------------------------------------------------------------------------------


@contextmanager
def vectors_of(heads: Iterable[torch.nn.Module]) -> Iterator[list[torch.Tensor]]:
    """Give a list to which heads add the vectors that they read, each once."""
    seen: list[torch.Tensor] = []

    def see(_: Any, inputs: Sequence[Any]) -> None:
        if not any(inputs[0] is vectors for vectors in seen):
            seen.append(inputs[0])

    handles = [head.register_forward_pre_hook(see) for head in heads]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def gramian_of(losses: torch.Tensor, vectors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return G [R, R] of losses [R], in fp32, and keep the graph; zeros if nothing below vectors learns."""
    import torch

    if not any(vector.requires_grad for vector in vectors):
        return losses.detach().new_zeros(len(losses), len(losses))
    rows = []
    for loss in losses:
        parts = torch.autograd.grad(loss, vectors, retain_graph=True, materialize_grads=True)
        rows.append(torch.cat([part.flatten() for part in parts]).float())
    jacobian = torch.stack(rows)
    return jacobian @ jacobian.T
