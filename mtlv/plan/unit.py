"""Units: the smallest parts that are cached, seeded and resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from mtlv.plan.tree import HeadSpec, ModelSpec
from mtlv.seeding import content_key, seed_from

DRAWN = "train"  # used in every seed


def head_key(head: HeadSpec) -> list[object]:
    """Return what determines a head, for keys."""
    return [list(head.tasks), head.layers, *([head.private] if head.private else [])]


@dataclass(frozen=True)
class Unit:
    """One model of one stage, trained on one fold with one seed.

    Args:
        stage: name of the stage, for users; not part of the key.
        model: the model to train.
        fold: index of the split of the corpus.
        seed: the user's seed.
        start_key: key of the initial weights.
        data: digest of the documents, targets and split that are read.
        train: every setting that can change the weights, as plain values, and what else is measured.
        teachers: keys of the units that teach it, in the order of its tasks.
    """

    stage: str
    model: ModelSpec
    fold: int
    seed: int
    start_key: str
    data: str
    train: Mapping[str, object] = field(hash=False)
    teachers: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """Content key: equal keys mean equal weights on the same kind of device."""
        heads = [head_key(head) for head in self.model.heads]
        content = [heads, self.fold, self.seed, self.start_key, self.data, dict(self.train)]
        taught = [list(self.teachers)] if self.teachers else []
        return content_key([*content, *taught])

    def draw_seed(self, purpose: str) -> int:
        """Return the seed for one purpose (`heads`, `order`, `dropout`), based on content, never on position.

        It depends neither on the initial weights nor on teachers, so that differences between results are
        caused by these.
        """
        return seed_from(self.seed, DRAWN, self.model.name, self.fold, purpose)
