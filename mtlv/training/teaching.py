"""Learning from a teacher: the share of the true targets in the loss, by optimizer step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FULL_SHARE = 1.0
"""Share of the true targets without a teacher."""


@dataclass(frozen=True)
class Teaching:
    """Weights of a loss with two parts: one for the true targets, one for the outputs of a teacher.

    Args:
        share: share of the true targets, by optimizer step from 0.
        temperature: divides the outputs of both models before they are compared (Hinton et al. 2015).
    """

    share: Callable[[int], float] = lambda _: FULL_SHARE
    temperature: float = 1.0


NO_TEACHER = Teaching()


def teaching(gold: str | float, temperature: float, *, steps: int) -> Teaching:
    """Return the teaching of a training.

    Args:
        gold: a constant share, or `annealed`: one that rises from 0 at the first step to 1 after the last
            (BAM; Clark et al. 2019).
        temperature: see `Teaching`.
        steps: optimizer steps of the whole training.
    """
    share = (lambda step: step / steps) if isinstance(gold, str) else lambda _: gold
    return Teaching(share, temperature)
