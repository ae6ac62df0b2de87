"""The corpora that `mtlv` can read: one module each, in this folder or in another package.

Those of this folder are found by listing it, those of other packages by their entry points `mtlv.corpora`.
A module has `CARD` (a `Card`) and `load(path, options)`, which returns a `Corpus` with all its labels.
"""

from __future__ import annotations

import os
import pkgutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from mtlv.data.source import Card, Corpus, DataOptions, select
from mtlv.errors import DataError, nearest
from mtlv.plan.task import Task
from mtlv.registries import Registry

CORPORA: Registry[ModuleType] = Registry(
    "mtlv.corpora", {module.name: f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)}
)


@cache  # a suite asks thousands of times
def names() -> tuple[str, ...]:
    """Names of all corpora, sorted."""
    return tuple(sorted(CORPORA))


def card(name: str) -> Card:
    """What is known of a corpus without reading it."""
    return _module(name).CARD


def location(name: str, options: DataOptions | None = None) -> Path:
    """Where a corpus is read from: `data.path`, else `$MTLV_DATA/NAME`, else `~/.cache/mtlv/NAME`."""
    if options is not None and options.path is not None:
        return Path(os.path.expanduser(options.path))
    home = os.environ.get("MTLV_DATA")
    return (Path(os.path.expanduser(home)) if home else Path.home() / ".cache" / "mtlv") / name


def tasks(name: str, options: DataOptions) -> tuple[Task, ...]:
    """The tasks that a run would have (T), without reading documents where the card knows them."""
    known = card(name).tasks()
    return select(known, options, name) if known else load(name, options).tasks


def absence(name: str, options: DataOptions) -> str:
    """What to do about a catalogued corpus that is not here yet; empty where a run finds something to read.

    Raises:
        DataError: nothing is at `data.path`, which the user named.
    """
    known = card(name)
    if options.path is not None or not (known.downloads or known.by_hand):
        _existing(name, known, options)
        return ""
    place = location(name, options)
    below = place.glob("*") if os.path.isdir(place) else ()
    here = os.path.isfile(place) or any(".part" not in file.suffixes for file in below)
    return "" if here else str(_nowhere(name, known, options))


def load(name: str, options: DataOptions) -> Corpus:
    """Read a corpus, keep the wanted labels, and draw `limit` documents.

    Raises:
        DataError: nothing at its place, a file that cannot be read, an unknown label, or a label that
            no document has.
    """
    module = _module(name)
    corpus: Corpus = module.load(_existing(name, module.CARD, options), options)
    chosen = select(corpus.tasks, options, name)
    targets = {task.name: corpus.targets[task.name] for task in chosen}
    corpus = replace(corpus, name=options.alias or corpus.name, tasks=chosen, targets=targets)
    if options.limit is not None and options.limit < len(corpus):
        corpus = _draw(corpus, options.limit, options.seed)
    bare = corpus.unlearnable()
    if bare:
        raise DataError(
            f"a label of corpus `{name}` has no positive document",
            got=", ".join(bare),
            then="leave it out of `data.labels`, or raise `data.limit` if one is set",
        )
    return corpus


def _module(name: str) -> ModuleType:
    if name not in CORPORA:
        raise DataError(
            "`data.name` is no known corpus",
            got=name,
            allowed=", ".join(names()),
            then=nearest(name, names()),
        )
    return CORPORA[name]


def _existing(name: str, card: Card, options: DataOptions) -> Path | None:
    if card.generated or (card.hub and options.hub is not None and options.path is None):
        return None
    if options.path is None and not card.downloads and not card.by_hand:
        then = "set `data.path` to it" + ", or `data.hub` to its name" * card.hub
        raise DataError(f"corpus `{name}` needs a file", then=then)
    path = location(name, options)
    if not os.path.exists(path):  # Path's own raises where a name is too long
        raise _nowhere(name, card, options)
    return path


def _nowhere(name: str, card: Card, options: DataOptions) -> DataError:
    fetch = f"run `mtlv data fetch {name}` or " if card.downloads else ""
    if card.by_hand and not card.downloads:
        fetch = f"{card.by_hand}; then "
    where = "`data.path`" if options.path is not None else f"the place of corpus `{name}`"
    return DataError(
        f"nothing is at {where}",
        got=str(location(name, options)),
        then=f"{fetch}set `data.path` to the file or folder",
    )


def _draw(corpus: Corpus, limit: int, seed: int) -> Corpus:
    """`limit` documents in their old order, drawn without regard to their labels."""
    if limit < 1:
        raise DataError("`data.limit` is too small", got=limit, allowed="1 or more, or null for all")
    rows = np.sort(np.random.default_rng(seed).permutation(len(corpus))[:limit])
    return corpus.take(rows, note=f"{limit} of {len(corpus)} documents kept (data.limit)")
