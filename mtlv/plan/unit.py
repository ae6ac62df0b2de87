"""A Unit: the grain of caching, seeding, resuming and fan-out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from mtlv.plan.tree import ModelSpec
from mtlv.seeding import content_key, seed_from

DRAWN = "train"  # part of every seed


@dataclass(frozen=True)
class Unit:
    """One model of one stage, trained on one fold with one seed.

    Args:
        stage: the stage's name, for people: what it does is in the rest.
        model: what is trained.
        fold: which split of the corpus.
        seed: the user's seed.
        start: key of what the weights start from.
        data: digest of the documents, targets and split that are read.
        train: every setting that can change the weights, as plain values.
    """

    stage: str
    model: ModelSpec
    fold: int
    seed: int
    start: str
    data: str
    train: Mapping[str, object] = field(hash=False)

    @cached_property
    def key(self) -> str:
        """Content key: equal keys mean equal weights on the same kind of device."""
        heads = [[list(head.tasks), head.layers] for head in self.model.heads]
        content = [heads, self.fold, self.seed, self.start, self.data, dict(self.train)]
        return content_key(content)

    def draw_seed(self, purpose: str) -> int:
        """Seed for one purpose (`heads`, `order`, `dropout`), by content, never by position.

        Whatever it starts from, a model draws the same: so what differs is what the start did.
        """
        return seed_from(self.seed, DRAWN, self.model.name, self.fold, purpose)
