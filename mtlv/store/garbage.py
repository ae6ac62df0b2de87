"""Files of a store that can be deleted: `mtlv clean` lists them, and deletes them only on request."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from mtlv.sealed import DAMAGED
from mtlv.store.checkpoints import ENDING
from mtlv.store.local import Store
from mtlv.store.token_cache import MAX_WRITE_SECONDS, TokenCache


@dataclass(frozen=True)
class Leftover:
    """A file or folder that nothing needs."""

    path: Path
    why: str
    bytes: int  # on disk


def leftovers(
    store: Store, needed: Collection[str] | None = None, tokens: TokenCache | None = None
) -> list[Leftover]:
    """Return everything that can be deleted, except for units that a process works on.

    Args:
        store: the store.
        needed: keys of units to keep; None keeps all.
        tokens: a cache that was asked for all tokens to keep; None keeps all.
    """
    reasons = [*_half_written(store), *_old_checkpoints(store)]
    if tokens is not None:
        reasons += [(path, "tokens that none of the configs needs") for path in tokens.unused_files()]
    if needed is not None:
        for kind, what in ((store.units, "a finished unit"), (store.unfinished, "checkpoints of a unit")):
            unneeded = (folder for folder in _folders(kind) if folder.name not in needed)
            why = f"{what} that none of the configs needs"
            reasons += [(folder, why) for folder in unneeded if not store.busy(folder.name)]
    return [Leftover(path, why, _size(path)) for path, why in dict(reasons).items()]


def _half_written(store: Store) -> Iterator[tuple[Path, str]]:
    for path in sorted([*store.units.glob(".*-*"), *store.unfinished.glob(".*-*")]):
        if not store.busy(path.name.lstrip(".").split("-")[0]):
            yield path, "an incomplete unit: its process ended while writing or deleting it"
    for path in sorted(store.damaged.glob("*")):
        yield path, "a damaged unit that was moved aside"
    for path in sorted(store.root.glob(f"*/*{DAMAGED}")):
        yield path, "a damaged file that was moved aside"
    for path in sorted(store.journal.glob(".*-*")):
        if time.time() - path.stat().st_mtime > MAX_WRITE_SECONDS:
            yield path, "an incomplete journal: its process ended while creating or deleting it"
    for path in TokenCache(store.tokens).half_written():
        yield path, "an incomplete file of tokens: its process ended while writing it"


def _old_checkpoints(store: Store) -> Iterator[tuple[Path, str]]:
    for folder in _folders(store.unfinished):
        if store.busy(folder.name):
            continue
        if store.has(folder.name):
            yield folder, "checkpoints of a finished unit"
            continue
        for path in sorted(folder.iterdir()):
            if path.suffix != ENDING:
                yield path, "a damaged or incomplete checkpoint"


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[!.]*") if path.is_dir())


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
