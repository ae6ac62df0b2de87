"""A corpus: a module with a card and a function that reads the documents."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mtlv.data.options import DataOptions
from mtlv.data.source import Card, Corpus, Label

LABELS = ("apple", "avocado", "banana", "blueberry")
CARD = Card(
    name="letters",
    title="Documents that name fruit",
    address="none: generated",
    licence="CC0-1.0",
    citation="none: generated",
    labels=tuple(Label(name, f"The document names the fruit {name}.") for name in LABELS),
    generated=True,
)


def load(path: Path | None, options: DataOptions) -> Corpus:
    """`data.documents` documents, in each of which a fruit is named with probability 1/2."""
    draw = np.random.default_rng(options.seed)
    held = draw.random((options.documents, len(LABELS))) < 0.5
    named = (" and ".join(np.array(LABELS)[row]) or "nothing" for row in held)
    return Corpus(
        name=CARD.name,
        tasks=CARD.tasks(),
        ids=tuple(map(str, range(options.documents))),
        texts=tuple(f"document {n} has {fruit}" for n, fruit in enumerate(named)),
        targets={name: held[:, n].astype(np.int8) for n, name in enumerate(LABELS)},
        generated=True,
    )
