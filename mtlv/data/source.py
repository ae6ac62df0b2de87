"""What a corpus is: documents, targets and where they came from."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import DataError, nearest
from mtlv.plan.task import Task

PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class Label:
    """A label of a catalogued corpus.

    Args:
        name: as it is shown and written in a config; words, because names may be embedded.
        description: one or two sentences of our own.
        code: the corpus's own code for it, where that is not the name.
    """

    name: str
    description: str
    code: str = ""


@dataclass(frozen=True)
class Download:
    """One file at a source address.

    Args:
        url: https only.
        filename: its name in the target folder.
        max_bytes: refuse anything larger.
        sha256: hexadecimal checksum, where it is known.
        unpack: whether it is an archive to unpack.
    """

    url: str
    filename: str
    max_bytes: int
    sha256: str | None = None
    unpack: bool = False


@dataclass(frozen=True)
class Card:
    """What is known of a corpus without reading it.

    Args:
        name: as written in `data.name`.
        title: as written in prose.
        address: its home, for a person.
        licence: as its source states it.
        citation: the work to cite.
        labels: known labels; empty where the user's file decides.
        main_metric: the metric that the corpus is usually judged by.
        downloads: files that `mtlv data fetch` gets.
        by_hand: what to do where nothing can be fetched automatically.
        generated: whether the documents are made up by `mtlv`.
    """

    name: str
    title: str
    address: str
    licence: str
    citation: str
    labels: tuple[Label, ...] = ()
    main_metric: str = "f1_macro"
    downloads: tuple[Download, ...] = ()
    by_hand: str = ""
    generated: bool = False

    def tasks(self) -> tuple[Task, ...]:
        """A yes/no task per label (T)."""
        return tuple(Task(x.name, source=self.name, description=x.description) for x in self.labels)


@dataclass(frozen=True)
class Columns:
    """Which columns of a user's table hold what; see `data.columns`.

    Args:
        text: the document.
        id: its id; without one, the row's number.
        part: `train`, `validation` or `test`; without one, the corpus has no split of its own.
        labels: columns of 0 and 1, one per label.
        label_list: or one column of label lists: JSON lists, or names joined by `separator`.
    """

    text: str = "text"
    id: str | None = None
    part: str | None = None
    labels: tuple[str, ...] | None = None
    label_list: str | None = None
    separator: str = ";"


@dataclass(frozen=True)
class DataOptions:
    """The `data.*` settings that concern reading.

    Args:
        path: file or folder; without one, where `mtlv data fetch` puts it.
        labels: names of the labels to keep, in this order; None keeps all.
        limit: read at most this many documents, drawn by `seed`; None reads all.
        documents: how many to generate (`synthetic`).
        columns: of a user's `table`.
        descriptions: label name -> sentence, in place of the card's.
        seed: of the draw for `limit` and of generated text.
    """

    path: Path | None = None
    labels: tuple[str, ...] | None = None
    limit: int | None = None
    documents: int = 600
    columns: Columns = Columns()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True)
class Corpus:
    """Documents with a 0/1 target per task.

    Args:
        name: as in the catalog.
        tasks: T tasks.
        ids: N document ids, unique.
        texts: N documents; equal texts may repeat, splits keep them together.
        targets: task name -> [N] of 0/1.
        parts: `train`, `validation` or `test` per document, where the corpus brings its own split.
        generated: whether the documents are made up by `mtlv`.
        notes: what was dropped and why, with counts.

    Raises:
        DataError: no document, no task, an id twice, or lengths that differ.
    """

    name: str
    tasks: tuple[Task, ...]
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    targets: Mapping[str, NDArray[np.int8]]
    parts: tuple[str, ...] | None = None
    generated: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.texts:
            raise DataError(
                f"corpus `{self.name}` has no document", then="check `data.path` and `data.limit`"
            )
        if not self.tasks:
            raise DataError(f"corpus `{self.name}` has no label", then="name at least one in `data.labels`")
        lengths = {len(self.ids), len(self.texts), *(len(self.targets[t.name]) for t in self.tasks)}
        if len(lengths | ({len(self.parts)} if self.parts is not None else set())) > 1:
            raise DataError(f"corpus `{self.name}` has columns of different lengths", got=sorted(lengths))
        if len(set(self.ids)) < len(self.ids):
            twice = next(x for x, count in Counter(self.ids).items() if count > 1)
            raise DataError(f"corpus `{self.name}` has an id twice", got=twice, then="make the ids unique")

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(task.name for task in self.tasks)

    def matrix(self, names: Sequence[str] | None = None) -> NDArray[np.int8]:
        """Targets [N, T] of the named tasks, or of all, in their order."""
        return np.stack([self.targets[name] for name in names or self.names], axis=1).astype(np.int8)

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of ids, texts, own parts, task names and targets."""
        digest = hashlib.sha256()
        for values in (self.names, self.ids, self.texts, self.parts or ()):
            digest.update(len(values).to_bytes(8, "big"))
            for value in values:
                data = value.encode("utf-8", "surrogatepass")
                digest.update(len(data).to_bytes(8, "big") + data)
        digest.update(np.ascontiguousarray(self.matrix()).tobytes())
        return digest.hexdigest()[:16]

    def take(self, rows: Sequence[int] | NDArray[np.int64], *, note: str = "") -> Corpus:
        """The corpus of these rows, in this order."""
        index = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            ids=tuple(self.ids[i] for i in index),
            texts=tuple(self.texts[i] for i in index),
            targets={name: np.asarray(column)[index] for name, column in self.targets.items()},
            parts=None if self.parts is None else tuple(self.parts[i] for i in index),
            notes=(*self.notes, note) if note else self.notes,
        )


def targets_of(rows: Sequence[set[str]], names: Sequence[str]) -> dict[str, NDArray[np.int8]]:
    """Task name -> [N] of 0/1 from the set of label names of each of N documents."""
    return {name: np.array([name in row for row in rows], dtype=np.int8) for name in names}


def select(tasks: Sequence[Task], options: DataOptions, corpus: str) -> tuple[Task, ...]:
    """The tasks that `options.labels` keeps, with the user's descriptions.

    Raises:
        DataError: a label in `labels` or `descriptions` that the corpus does not have, or twice.
    """
    known = {task.name: task for task in tasks}
    wanted = tuple(known) if options.labels is None else options.labels
    for key, named in (("labels", wanted), ("descriptions", options.descriptions)):
        unknown = [name for name in named if name not in known]
        if unknown:
            hints = " ".join(hint for name in unknown if (hint := nearest(name, known)))
            raise DataError(
                f"`data.{key}`: corpus `{corpus}` has no label {', '.join(f'`{name}`' for name in unknown)}",
                allowed=", ".join(known),
                then=hints or f"run `mtlv data show {corpus}`",
            )
    if len(set(wanted)) < len(wanted):
        raise DataError("`data.labels` names a label twice", got=", ".join(wanted))
    chosen = (known[name] for name in wanted)
    return tuple(replace(t, description=options.descriptions.get(t.name, t.description)) for t in chosen)
