"""What of a store can go: `mtlv clean` lists it, and deletes only when told to."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from mtlv.disk import remove
from mtlv.store.checkpoints import ENDING
from mtlv.store.local import Store
from mtlv.store.token_cache import TokenCache


@dataclass(frozen=True)
class Leftover:
    """Something that nothing needs.

    Args:
        path: a file or folder of the store.
        why: nobody needs it.
        bytes: on disk.
    """

    path: Path
    why: str
    bytes: int

    def delete(self) -> None:
        """What is gone already is fine."""
        if self.path.is_dir():
            remove(self.path)
        else:
            self.path.unlink(missing_ok=True)


def leftovers(
    store: Store, needed: Collection[str] | None = None, tokens: TokenCache | None = None
) -> list[Leftover]:
    """Everything that can go, units that a process works on left out.

    Args:
        store: where.
        needed: keys of units to keep; None keeps all.
        tokens: which was asked for all tokens to keep; None keeps all.
    """
    found = [*_half_written(store), *_old_checkpoints(store)]
    if tokens is not None:
        found += [(path, "tokens that none of the configs asks for") for path in tokens.unused()]
    if needed is not None:
        found += _unneeded(store, needed)
    return [Leftover(path, why, _size(path)) for path, why in dict(found).items()]


def delete(found: Collection[Leftover]) -> None:
    """Delete them; what is gone already is fine."""
    for each in found:
        each.delete()


def _half_written(store: Store) -> Iterator[tuple[Path, str]]:
    for path in sorted([*store.units.glob(".*-*"), *(store.root / "checkpoints").glob(".*-*")]):
        if _free(store, path.name.lstrip(".").split("-")[0]):
            yield path, "half a unit: its process ended while it was written or deleted"
    for path in sorted(store.aside.glob("*")):
        yield path, "a finished unit that was damaged and set aside"
    for path in TokenCache(store.tokens).half_written():
        yield path, "half a file of tokens: its process ended while it was written"


def _old_checkpoints(store: Store) -> Iterator[tuple[Path, str]]:
    for folder in _folders(store.root / "checkpoints"):
        if not _free(store, folder.name):
            continue
        if store.has(folder.name):
            yield folder, "checkpoints of a unit that is finished"
            continue
        for path in sorted(folder.iterdir()):
            if path.suffix != ENDING:
                yield path, "a checkpoint that is broken or half written"


def _unneeded(store: Store, needed: Collection[str]) -> Iterator[tuple[Path, str]]:
    for kind, what in (("units", "a finished unit"), ("checkpoints", "checkpoints of a unit")):
        for folder in _folders(store.root / kind):
            if folder.name not in needed and _free(store, folder.name):
                yield folder, f"{what} that none of the configs asks for"


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[!.]*") if path.is_dir())


def _free(store: Store, key: str) -> bool:
    """Whether no process works on the unit."""
    return not store.busy(key)


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
