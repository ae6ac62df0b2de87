"""Balancers (`training.objective`): factors on the losses of tasks or heads that change in training.

PyTorch is imported late, because `mtlv check` reads the attributes of these classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from mtlv.registries import BALANCERS
from mtlv.seeding import seed_from

if TYPE_CHECKING:
    import torch

    from mtlv.plan import HeadSpec


class Balancer:
    """Factors of K losses. In this base class all are 1, so that the losses are added.

    Args:
        count: number of losses K.
        seed: seed of random factors.
        learning_rate: learning rate of learned factors.
    """

    plain: ClassVar[bool] = False
    """Whether all factors are always 1."""
    random: ClassVar[bool] = False
    """Whether the factors are random: a control, which no conclusion recommends."""
    learns: ClassVar[bool] = False
    """Whether `learning_rate` is used."""
    gradients: ClassVar[bool] = False
    """Whether the factors of a step follow from its gradients; `compare` is then called before `factors`."""
    version: ClassVar[int] = 1
    """Part of the key of units from 2 on; raised when the same settings give other factors."""
    starts: ClassVar[Mapping[str, float]] = {}
    """The state by name: [K] of its value at the start."""

    def __init__(self, count: int, *, seed: int = 0, learning_rate: float = 0.01) -> None:
        import torch

        self.count, self.seed, self.learning_rate = count, seed, learning_rate
        # everything that changes, for checkpoints
        self.state = {name: torch.full((count,), value) for name, value in self.starts.items()}
        self.step = 0

    def begin(self, step: int) -> None:
        """Prepare for an optimizer step, by its number from 0."""
        self.step = step

    def compare(self, gramian: torch.Tensor) -> None:
        """Learn the products [K, K] of the gradients of a step's losses."""

    def factors(self, losses: torch.Tensor) -> torch.Tensor:
        """Return the factors [K] of a step, on the device of its losses [K].

        Losses that are not in this part of the step are NaN.
        """
        return losses.new_ones(self.count)

    def learn(self, losses: torch.Tensor) -> None:
        """Learn from the losses [K] of a step. Losses that were not in the step are NaN."""

    def end_epoch(self) -> None:
        """Learn from an epoch."""

    def to(self, device: torch.device) -> None:
        """Move the state to `device`."""
        self.state = {name: values.to(device) for name, values in self.state.items()}

    def put_back(self, state: Mapping[str, torch.Tensor]) -> None:
        """Restore a state from a checkpoint.

        Raises:
            KeyError: it is of another balancer.
        """
        self.state = {name: state[name].to(values.device) for name, values in self.state.items()}


class Sum(Balancer):
    """Losses as they are."""

    plain = True


class Random(Balancer):
    """Random factors in each step: K softmax(N(0, 1)) (RLW; Lin et al. 2022), with a mean of 1.

    A control for every other balancer. The factors depend on the seed and the step only, so that dropout does
    not change.
    """

    random = True

    def factors(self, losses: torch.Tensor) -> torch.Tensor:
        import torch

        source = torch.Generator().manual_seed(seed_from(self.seed, self.step))
        drawn = self.count * torch.randn(self.count, generator=source).softmax(0)
        return drawn.to(losses.device, non_blocking=True)


class Uncertainty(Balancer):
    """Learned factors ½ exp(-s), with s from min Σ ½ exp(-s) L + ½ s (Kendall et al. 2018).

    For constant losses, they become 1 / (2L). The s, logarithms of variances, have their own Adam
    (Kingma & Ba 2015), without decay or clipping: at the learning rate of an encoder, which limits the change
    of a weight in a step, they would stay near 0. A loss that is not in a step leaves its s unchanged.
    """

    learns = True
    starts = dict.fromkeys(("s", "mean", "square", "steps"), 0.0)

    def factors(self, losses: torch.Tensor) -> torch.Tensor:
        return 0.5 * (-self.state["s"]).exp()

    def learn(self, losses: torch.Tensor) -> None:
        gradient = 0.5 - 0.5 * (-self.state["s"]).exp() * losses
        self.state = adam(self.state, gradient, self.learning_rate)


class DWA(Balancer):
    """Factors K softmax(r / 2), with r = L(e-1) / L(e-2) of epoch means (Liu et al. 2019).

    Dynamic weight average. All are 1 in the first two epochs; then losses that fall less have larger factors.
    """

    starts: ClassVar[Mapping[str, float]] = {"sum": 0.0, "steps": 0.0, "last": math.nan, "before": math.nan}

    def factors(self, losses: torch.Tensor) -> torch.Tensor:
        ratios = (self.state["last"] / self.state["before"]).nan_to_num(nan=1.0, posinf=1.0)
        return self.count * (ratios / 2).softmax(0)

    def learn(self, losses: torch.Tensor) -> None:
        self.state["sum"] = self.state["sum"] + losses.nan_to_num(nan=0.0)
        self.state["steps"] = self.state["steps"] + ~losses.isnan()

    def end_epoch(self) -> None:
        state = self.state
        none = state["sum"].new_zeros(self.count)
        self.state = {
            "sum": none,
            "steps": none,
            "last": state["sum"] / state["steps"],
            "before": state["last"],
        }


def adam(
    state: Mapping[str, torch.Tensor], gradient: torch.Tensor, learning_rate: float
) -> dict[str, torch.Tensor]:
    """Return a state after a step of Adam (Kingma & Ba 2015): weights, two moments and steps, each [K].

    Where the gradient is NaN, nothing changes.
    """
    import torch

    weights, mean, square, steps = state.values()
    mean, square, steps = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2, steps + 1
    moved = mean / (1 - 0.9**steps) / ((square / (1 - 0.999**steps)).sqrt() + 1e-8)
    after = weights - learning_rate * moved, mean, square, steps
    updates = zip(state.items(), after, strict=True)
    return {name: torch.where(gradient.isnan(), before, new) for (name, before), new in updates}


def balancer_of(name: str, per: str, heads: Sequence[HeadSpec]) -> type[Balancer]:
    """Return the balancer of a model; with a single loss, there is nothing to balance.

    Args:
        name: one of `mtlv.registries.BALANCERS`.
        per: `task` or `head`.
        heads: the model's heads.
    """
    return BALANCERS[name] if terms(per, heads) > 1 else Sum


def terms(per: str, heads: Sequence[HeadSpec]) -> int:
    """Return the number of losses of a model, one for each task or head."""
    return sum(len(head.tasks) for head in heads) if per == "task" else len(heads)
