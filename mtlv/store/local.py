"""Finished units on disk, by content key: weights, scores, curves and costs.

The SHA-256 of each file is checked when it is read; a unit with a damaged file is moved aside as a whole.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mtlv import locks
from mtlv.disk import cannot_write, flush, remove, tensor_bytes
from mtlv.errors import DamagedError, TrackingError
from mtlv.sealed import read_sealed, write_sealed
from mtlv.store.checkpoints import ENDING, Checkpoints
from mtlv.store.records import EpochRecord, UnitRecord
from mtlv.store.scores_file import read_curve, read_scores, write_curve, write_scores
from mtlv.store.timestamps import EpochTimestamps
from mtlv.store.unit_files import (
    CURVE,
    TEST,
    UNIT,
    VALIDATION,
    WEIGHTS,
    check_file,
    missing,
    read_checked,
    read_unit,
    reading,
    write_unit,
)

if TYPE_CHECKING:
    import torch

T = TypeVar("T")


class Store:
    """A folder of finished units, and of what else is kept between runs.

    Beside the folders named here, it has `status`: the last suites (`mtlv.store.progress`).

    Raises:
        TrackingError: the folder cannot be created or written.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.units = root / "units"  # finished units: `KEY/unit.json` and the files that it lists
        self.unfinished = root / "checkpoints"  # of unfinished units: `KEY/STEP.ckpt`
        self.locks = root / "locks"  # `KEY.lock`, held by the process that works on the unit
        self.damaged = root / "damaged"  # units that were moved aside: `KEY-NUMBER`
        self.splits = root / "splits"  # by corpus and settings, `split_file.py`
        self.tokens = root / "tokens"  # of corpora, `token_cache.py`
        self.encoders = root / "encoders"  # files of encoders, shared by logged models
        self.references = root / "references"  # scores of bags of words
        self.journal = root / "journal"  # calls to upload to MLflow, written by `mtlv.tracking`
        self.timestamps = EpochTimestamps(root / "ledger")  # `KEY.jsonl`
        self.attempts = root / "attempts"  # numbers of reruns, by the uid of a member
        try:
            for folder in (self.units, self.splits):
                folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.units):
                pass
        except OSError as error:
            raise TrackingError(
                f"`store.uri`: {root} cannot be written",
                got=error.strerror,
                then="choose another folder or change its permissions",
            ) from error

    @classmethod
    def existing(cls, root: Path) -> Store:
        """Return the store in a folder, and create none.

        Raises:
            TrackingError: there is none, or it cannot be written.
        """
        if not (root / "units").is_dir():
            raise TrackingError(
                f"there is no store in `{root}`", then="give its folder with `--store FOLDER`"
            )
        return cls(root)

    def has(self, key: str) -> bool:
        """Whether a unit is finished."""
        return all((self.units / key / name).is_file() for name in (UNIT, CURVE))

    def has_weights(self, key: str) -> bool:
        """Whether the weights of a finished unit were kept."""
        return (self.units / key / WEIGHTS).is_file()

    def checkpoints(self, key: str) -> Checkpoints:
        """Return the checkpoints of an unfinished unit."""
        return Checkpoints(self.unfinished / key)

    def last_step(self, key: str) -> int | None:
        """Return the step of the last checkpoint of a unit, or None."""
        return max((int(path.stem) for path in self.checkpoints(key).folder.glob(f"*{ENDING}")), default=None)

    def lock(self, key: str) -> Path:
        """Return the lock file of a unit; the process that works on the unit holds it, see `lock_unit`."""
        return self.locks / f"{key}.lock"

    def lock_unit(self, key: str) -> AbstractContextManager[bool]:
        """Lock a unit until the block ends; yield whether no other process held the lock."""
        return locks.hold_lock(self.lock(key))

    def holder(self, key: str) -> str:
        """Return a description of the last holder of a unit's lock."""
        return locks.holder(self.lock(key))

    def busy(self, key: str) -> bool:
        """Whether a process works on a unit."""
        if not self.lock(key).exists():
            return False
        with locks.hold_lock(self.lock(key)) as mine:
            return not mine

    def forget(self, key: str) -> None:
        """Remove everything of a unit, so that it is trained again."""
        for folder in (self.units / key, self.unfinished / key):
            remove(folder)
        self.timestamps.forget(key)

    def reruns(self, uid: str, warn: Callable[[str], None] = lambda _: None) -> int:
        """Return how often a member was run again; 0 if it was only resumed, or the file was damaged."""
        content = read_sealed(self.attempts / uid, warn, "the runs continue those of the first time")
        return 0 if content is None else int(content["count"])

    def count_rerun(self, uid: str, warn: Callable[[str], None] = lambda _: None) -> None:
        """Count one more rerun of a member."""
        write_sealed(self.attempts / uid, {"count": self.reruns(uid, warn) + 1})

    def missing(self, key: str) -> str:
        """Describe a missing file of a finished unit; empty if none is missing."""
        return missing(self.units / key)

    def damage(self, key: str) -> str:
        """Describe the damage of a finished unit, empty without any; weights are not checked.

        Raises:
            TrackingError: it cannot be read for another reason.
        """
        try:
            if self.has(key):
                self.load(key)
        except DamagedError as error:
            return error.why
        return ""

    def set_aside(self, key: str) -> str:
        """Move a damaged unit aside; return a message with its new location."""
        folder = self.units / key
        self.damaged.mkdir(exist_ok=True)
        place = next(place for n in count(1) if not (place := self.damaged / f"{key}-{n}").exists())
        with suppress(FileNotFoundError):
            folder.replace(place)
        return f"it was moved to {place} and is trained again"

    def read_or_set_aside(self, key: str, read: Callable[[], T], warn: Callable[[str], None]) -> T | None:
        """Return `read()` for a finished unit; if the unit is damaged, move it aside and call `warn`.

        Returns:
            None if it was damaged and must be trained again, here or by the process that has its lock.

        Raises:
            TrackingError: it cannot be read for another reason.
        """
        with suppress(DamagedError):
            return read()
        with self.lock_unit(key) as mine:
            if mine and self.has(key):
                try:
                    return read()  # another process may have trained it again in the meantime
                except DamagedError as error:
                    warn(f"a file of the finished unit is damaged ({error.why}); {self.set_aside(key)}")
        return None

    def weights(self, key: str) -> Path | None:
        """Return the weights file of a finished unit, from which a later stage starts; None if not kept.

        Raises:
            DamagedError: it was changed.
        """
        return self.units / key / WEIGHTS if self._has_files(key, [WEIGHTS]) else None

    def weights_of(self, record: UnitRecord) -> dict[str, Path]:
        """Return the weights file of each task of a finished unit; empty if its weights were not kept.

        Raises:
            DamagedError: one of them was changed.
        """
        names = {task: _file(epoch, record) for task, epoch in record.chosen_epochs.items()}
        if not self._has_files(record.key, {WEIGHTS, *names.values()}):
            return {}
        return {task: self.units / record.key / name for task, name in names.items()}

    def load(self, key: str) -> UnitRecord:
        """Load the finished unit `key`, without its weights.

        Raises:
            DamagedError: one of its files was changed.
            TrackingError: it cannot be read for another reason.
        """
        folder = self.units / key
        with reading(folder):
            content, files = read_unit(folder)
            epochs = tuple(EpochRecord(**epoch) for epoch in content.pop("epochs"))
            return UnitRecord(
                **content,
                epochs=epochs,
                validation=read_scores(read_checked(folder / VALIDATION, files)),
                test=read_scores(read_checked(folder / TEST, files)),
                curve=read_curve(read_checked(folder / CURVE, files)),
            )

    def _has_files(self, key: str, names: Collection[str]) -> bool:
        """Whether files of weights were kept and are unchanged."""
        folder = self.units / key
        with reading(folder):
            _, files = read_unit(folder)
            if not files.keys() >= set(names):
                return False
            for name in names:
                check_file(folder / name, files)
        return True

    def save(self, record: UnitRecord, weights: Mapping[int, Mapping[str, torch.Tensor]] | None) -> None:
        """Save a finished unit atomically, with the weights of its chosen epochs, by epoch, if they are
        given.

        Raises:
            TrackingError: it cannot be written.
        """
        from safetensors import SafetensorError

        folder = Path(tempfile.mkdtemp(dir=self.units, prefix=f".{record.key}-"))
        try:
            if weights is not None:
                from safetensors.torch import save_file
            for epoch, state in (weights or {}).items():
                save_file(dict(state), folder / _file(epoch, record))
            write_scores(record.validation, folder / VALIDATION)
            write_scores(record.test, folder / TEST)
            write_curve(record.curve, folder / CURVE)
            left_out = ("epochs", "validation", "test", "curve")
            plain = {name: value for name, value in vars(record).items() if name not in left_out}
            write_unit(folder, plain | {"epochs": [asdict(epoch) for epoch in record.epochs]})
            self.publish(record.key, folder)
        except (OSError, SafetensorError) as error:
            size = tensor_bytes([*(weights or {}).values(), *record.curve]) + 100_000
            raise cannot_write("a finished unit", size, self.units, error) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # already moved on success

    def publish(self, key: str, folder: Path) -> None:
        """Move the complete files of a unit from a hidden folder in `units` to their place.

        Raises:
            OSError: they cannot be moved.
        """
        for path in (*folder.iterdir(), folder):
            flush(path)
        if not self.has(key):  # otherwise another process was faster; its unit is the same
            folder.chmod(0o755)
            remove(self.units / key)  # left by a removal that was cut off; it could not be replaced
            os.replace(folder, self.units / key)
            flush(self.units)


def _file(epoch: int, record: UnitRecord) -> str:
    """Return the name of the weights file of an epoch."""
    return WEIGHTS if epoch == record.chosen_epoch else f"model-epoch-{epoch}.safetensors"
