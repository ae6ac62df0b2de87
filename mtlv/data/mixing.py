"""Batches of several sources for one model: each batch is from one source, drawn again every epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlv.data.batches import Batch, PartDocuments
from mtlv.seeding import seed_from


@dataclass(frozen=True)
class Draw:
    """Order of the batches of several sources.

    Args:
        order: (batches of each of S sources in which all its documents are seen once, generator, epoch from
            0) -> the source of each batch of the epoch; their number is that of every epoch.
        together: whether an optimizer step takes a batch of every source instead of one.
    """

    order: Callable[[Sequence[int], np.random.Generator, int], NDArray[np.int64]]
    together: bool = False


def by_temperature(temperature: float | tuple[float, float], epochs: int = 1) -> Draw:
    """Draw source s with probability n_s^(1/T) over their sum, of its batches n_s.

    T = 1 draws in proportion to the batches, a large T draws all sources equally (jiant; Phang et al. 2020).
    Sources that are exhausted start again, in another order.

    Args:
        temperature: T of 1 or more, or that of the first and that of the last epoch, between which 1/T
            changes by equal steps (from 1 to 5: annealed sampling, Stickland and Murray 2019).
        epochs: number of epochs.
    """
    first, last = temperature if isinstance(temperature, tuple) else (temperature, temperature)

    def order(batches: Sequence[int], rng: np.random.Generator, epoch: int) -> NDArray[np.int64]:
        exponent = 1 / first + (1 / last - 1 / first) * epoch / max(epochs - 1, 1)
        shares = np.asarray(batches, np.float64) ** exponent
        return rng.choice(len(batches), size=sum(batches), p=shares / shares.sum())

    return Draw(order)


# Every document once: large sources have more weight (MT-DNN; Liu et al. 2019).
IN_PROPORTION = Draw(lambda batches, rng, _: rng.permutation(np.repeat(np.arange(len(batches)), batches)))
# As many batches, each source drawn with equal probability.
UNIFORM = Draw(lambda batches, rng, _: rng.integers(len(batches), size=sum(batches)))
# A batch of every source per step, until the longest one ends; shorter ones start again (LibMTL).
ROUNDS = Draw(lambda batches, *_: np.tile(np.arange(len(batches)), max(batches)), together=True)

DRAWS: dict[str, Callable[..., Draw]] = {
    "in_proportion": lambda *_: IN_PROPORTION,
    "uniform": lambda *_: UNIFORM,
    "temperature": by_temperature,
    "rounds": lambda *_: ROUNDS,
}
"""Draws by name in a config; each takes the temperature and the number of epochs."""


@dataclass(frozen=True)
class Mixture:
    """Documents of several sources."""

    parts: tuple[PartDocuments, ...]  # parts of S sources, with indices into one joined corpus
    sizes: tuple[int, ...]  # documents per batch of each source
    draw: Draw

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def batches(self) -> int:
        """Number of batches in an epoch."""
        return len(self._order(seed=0, epoch=0))

    @property
    def per_step(self) -> int:
        """Batches of an optimizer step, before `training.accumulation`."""
        return len(self.parts) if self.draw.together else 1

    def training(self, *, seed: int, epoch: int) -> Iterator[Batch]:
        """Yield the batches of an epoch, deterministically."""
        going = [
            _again_and_again(part, size, seed=seed_from(seed, number) if number else seed, epoch=epoch)
            for number, (part, size) in enumerate(zip(self.parts, self.sizes, strict=True))
        ]
        for source in self._order(seed=seed, epoch=epoch):
            yield next(going[source])

    def _order(self, *, seed: int, epoch: int) -> NDArray[np.int64]:
        counts = [-(-len(part) // size) for part, size in zip(self.parts, self.sizes, strict=True)]
        return self.draw.order(counts, np.random.default_rng([seed, epoch]), epoch)


def _again_and_again(part: PartDocuments, size: int, *, seed: int, epoch: int) -> Iterator[Batch]:
    lap = 0
    while True:
        yield from part.training(size, seed=seed_from(seed, lap) if lap else seed, epoch=epoch)
        lap += 1
