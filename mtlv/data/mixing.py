"""Batches of several sources for one model: each batch is from one source, drawn again every epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mtlv.data.batches import Batch, PartDocuments
from mtlv.seeding import seed_from


class Draw(Protocol):
    """Order of the batches of several sources.

    Args:
        together: whether an optimizer step takes a batch of every source instead of one.
    """

    together: bool = False

    def order(self, batches: Sequence[int], rng: np.random.Generator, epoch: int = 0) -> NDArray[np.int64]:
        """Return the source of each batch of an epoch (from 0); their number is that of every epoch.

        `batches` is the number of batches of each of S sources in which all its documents are seen once.
        """


class InProportion(Draw):
    """Every document once: large sources have more weight (MT-DNN; Liu et al. 2019)."""

    def order(self, batches: Sequence[int], rng: np.random.Generator, epoch: int = 0) -> NDArray[np.int64]:
        return rng.permutation(np.repeat(np.arange(len(batches)), batches))


@dataclass(frozen=True)
class ByTemperature(Draw):
    """The same number of batches, with source s drawn with probability n_s^(1/T) over their sum.

    T = 1 draws in proportion to the batches n_s, a large T draws all sources equally (jiant; Phang et al.
    2020). Sources that are exhausted start again, in another order.

    Args:
        temperature: T of 1 or more, or that of the first and that of the last epoch, between which 1/T
            changes by equal steps (from 1 to 5: annealed sampling, Stickland and Murray 2019).
        epochs: number of epochs.
    """

    temperature: float | tuple[float, float]
    epochs: int = 1

    def exponent(self, epoch: int) -> float:
        """Return 1/T of an epoch."""
        temperature = self.temperature
        first, last = temperature if isinstance(temperature, tuple) else (temperature, temperature)
        return 1 / first + (1 / last - 1 / first) * epoch / max(self.epochs - 1, 1)

    def order(self, batches: Sequence[int], rng: np.random.Generator, epoch: int = 0) -> NDArray[np.int64]:
        shares = np.asarray(batches, np.float64) ** self.exponent(epoch)
        return rng.choice(len(batches), size=sum(batches), p=shares / shares.sum())


class Uniform(Draw):
    """The same number of batches, each source drawn with equal probability."""

    def order(self, batches: Sequence[int], rng: np.random.Generator, epoch: int = 0) -> NDArray[np.int64]:
        return rng.integers(len(batches), size=sum(batches))


class Rounds(Draw):
    """A batch of every source per step, until the longest one ends; shorter ones start again (LibMTL)."""

    together = True

    def order(self, batches: Sequence[int], rng: np.random.Generator, epoch: int = 0) -> NDArray[np.int64]:
        return np.tile(np.arange(len(batches)), max(batches))


DRAWS: dict[str, Callable[..., Draw]] = {
    "in_proportion": lambda *_: InProportion(),
    "uniform": lambda *_: Uniform(),
    "temperature": ByTemperature,
    "rounds": lambda *_: Rounds(),
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
