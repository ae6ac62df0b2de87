"""What a corpus is: documents, targets and where they came from."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mtlv.data.targets import TARGETS
from mtlv.errors import DataError, nearest
from mtlv.plan.spans import Span
from mtlv.plan.task import Task

PARTS = ("train", "validation", "test")
T = TypeVar("T")


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
        labels: known labels, each a yes/no task; empty where the user's file decides.
        other_tasks: known tasks of other kinds, in place of labels.
        main_metric: the metric that the corpus is usually judged by.
        downloads: files that `mtlv data fetch` gets.
        by_hand: what to do where nothing can be fetched automatically.
        generated: whether the documents are made up by `mtlv`.
        hub: whether `data.hub` may name it in place of a file.
    """

    name: str
    title: str
    address: str
    licence: str
    citation: str
    labels: tuple[Label, ...] = ()
    other_tasks: tuple[Task, ...] = ()
    main_metric: str = "f1_macro"
    downloads: tuple[Download, ...] = ()
    by_hand: str = ""
    generated: bool = False
    hub: bool = False

    def tasks(self) -> tuple[Task, ...]:
        """The tasks (T): a yes/no task per label, or those of other kinds."""
        yes_no = (Task(x.name, source=self.name, description=x.description) for x in self.labels)
        return self.other_tasks or tuple(yes_no)


@dataclass(frozen=True)
class Columns:
    """Which columns of a user's table hold what, and what is learned of them; see `data.columns`.

    Args:
        text: the document.
        text_pair: second text of a pair.
        words: the document as words, in place of `text`.
        mentions: marked entities, characters of `text`.
        id: its id; without one, the row's number.
        part: `train`, `validation` or `test`; without one, the corpus has no split of its own.
        group: what it is part of (an abstract, a patient); a group is not divided.
        kind: of the task, one of `mtlv.data.tables.readers`.
        task: the task's name; without one, that of the column it is learned from.
        labels: columns of 0 and 1, one per label.
        label_list: or one column of label lists: JSON lists, or names joined by `separator`.
        target: the class or the number.
        tags: a tag for each word.
        classes: names of the classes or types; None takes those found, sorted.
        negative: those of the classes that say "nothing here".
        metric: what the task is judged by; None takes its kind's usual one.
    """

    text: str = "text"
    text_pair: str | None = None
    words: str | None = None
    mentions: str | None = None
    id: str | None = None
    part: str | None = None
    group: str | None = None
    kind: str = "binary"
    task: str | None = None
    labels: tuple[str, ...] | None = None
    label_list: str | None = None
    separator: str = ";"
    target: str | None = None
    tags: str | None = None
    classes: tuple[str, ...] | None = None
    negative: tuple[str, ...] = ()
    metric: str | None = None


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
        alias: what the corpus is called in place of its name in the catalog.
        hub: name of a data set on a hub, in place of `path`.
    """

    path: Path | None = None
    labels: tuple[str, ...] | None = None
    limit: int | None = None
    documents: int = 600
    columns: Columns = Columns()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    alias: str | None = None
    hub: str | None = None


@dataclass(frozen=True)
class Corpus:
    """Documents with a target per task.

    Args:
        name: as in the catalog.
        tasks: T tasks.
        ids: N document ids, unique.
        texts: N documents; equal texts may repeat, splits keep them together.
        targets: task name -> [N], as `mtlv.data.targets` says for its kind.
        parts: `train`, `validation` or `test` per document, where the corpus brings its own split.
        seconds: second texts of N text pairs.
        words: the words of N documents, which `texts` joins by blanks; tagging tasks need them.
        mentions: marked entities of N documents as spans of characters of `texts`, in the order of their
            roles: what a relation is asked of.
        groups: what each of N documents is part of (its abstract); documents of one group are drawn into one
            part together.
        members: the corpora that this one was joined of (`mtlv.data.joined`), in the order of its rows; a
            task's targets then count in its own corpus only.
        generated: whether the documents are made up by `mtlv`.
        notes: what was dropped and why, with counts.

    Raises:
        DataError: no document, no task, an id twice, or lengths that differ.
    """

    name: str
    tasks: tuple[Task, ...]
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    targets: Mapping[str, NDArray]
    parts: tuple[str, ...] | None = None
    generated: bool = False
    notes: tuple[str, ...] = ()
    seconds: tuple[str, ...] | None = None
    words: tuple[tuple[str, ...], ...] | None = None
    mentions: tuple[tuple[Span, ...], ...] | None = None
    groups: tuple[str, ...] | None = None
    members: tuple[Corpus, ...] = ()

    def __post_init__(self) -> None:
        if not self.texts:
            raise DataError(
                f"corpus `{self.name}` has no document", then="check `data.path` and `data.limit`"
            )
        if not self.tasks:
            raise DataError(f"corpus `{self.name}` has no label", then="name at least one in `data.labels`")
        columns = [self.ids, self.texts, *(self.targets[task.name] for task in self.tasks), *self._optional]
        lengths = {len(column) for column in columns}
        if len(lengths) > 1:
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
        """Targets [N, T] of the named yes/no tasks, or of all, in their order."""
        return np.stack([self.targets[name] for name in names or self.names], axis=1).astype(np.int8)

    @property
    def _optional(self) -> list[Sequence[Any]]:
        columns = (self.parts, self.seconds, self.words, self.mentions, self.groups)
        return [column for column in columns if column is not None]

    @property
    def all_texts(self) -> tuple[str, ...]:
        """First and second texts, of whatever it was joined of."""
        return (*self.texts, *(text for each in (self, *self.members) for text in each.seconds or ()))

    def with_tasks(self, tasks: Sequence[Task]) -> Corpus:
        """The same documents with some of its tasks."""
        return replace(self, tasks=tuple(tasks))

    def strata(self) -> dict[str, NDArray[np.bool_]]:
        """What is to be spread evenly over the parts of a split: flags [N] by a name for a person."""
        if self.members:
            return self._strata_of_members()
        return {
            name: flags
            for task in self.tasks
            for name, flags in TARGETS[task.kind].strata(task, self.targets[task.name]).items()
        }

    def _strata_of_members(self) -> dict[str, NDArray[np.bool_]]:
        found, start = {}, 0
        for member in self.members:
            for name, flags in member.strata().items():
                found[name] = np.zeros(len(self), bool)
                found[name][start : start + len(member)] = flags
            start += len(member)
        return found

    def unlearnable(self, rows: NDArray[np.int64] | slice = slice(None)) -> list[str]:
        """Tasks of which these documents can teach nothing."""
        return [t.name for t in self.tasks if not TARGETS[t.kind].learnable(self.targets[t.name][rows])]

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of ids, texts, own parts, task names, targets and whatever else there is."""
        digest = hashlib.sha256()
        for values in (self.names, self.ids, self.texts, self.parts or ()):
            digest.update(len(values).to_bytes(8, "big"))
            for value in values:
                data = value.encode("utf-8", "surrogatepass")
                digest.update(len(data).to_bytes(8, "big") + data)
        targets = {
            task.name: [task.kind, task.classes, TARGETS[task.kind].plain(self.targets[task.name])]
            for task in self.tasks
        }
        held: list[object] = [targets, self.seconds, self.words, self.mentions]
        # Second texts and mentions of members are in no column above.
        held += [each.digest for each in self.members if each.seconds or each.mentions]
        digest.update(json.dumps(held, separators=(",", ":")).encode())
        return digest.hexdigest()[:16]

    def take(self, rows: Sequence[int] | NDArray[np.int64], *, note: str = "") -> Corpus:
        """The corpus of these rows, in this order."""
        index = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            ids=tuple(self.ids[i] for i in index),
            texts=tuple(self.texts[i] for i in index),
            targets={name: np.asarray(column)[index] for name, column in self.targets.items()},
            parts=_rows(self.parts, index),
            seconds=_rows(self.seconds, index),
            words=_rows(self.words, index),
            mentions=_rows(self.mentions, index),
            groups=_rows(self.groups, index),
            notes=(*self.notes, note) if note else self.notes,
        )


def _rows(column: tuple[T, ...] | None, index: NDArray[np.int64]) -> tuple[T, ...] | None:
    return None if column is None else tuple(column[i] for i in index)


def groups_of(groups: Iterable[str], ids: Sequence[str]) -> tuple[str, ...] | None:
    """Groups of N documents, each without one a group by itself; None where none has one."""
    found = tuple(groups)
    return tuple(group or id_ for group, id_ in zip(found, ids, strict=True)) if any(found) else None


def targets_of(rows: Sequence[set[str]], names: Sequence[str]) -> dict[str, NDArray[np.int8]]:
    """Task name -> [N] of 0/1 from the set of label names of each of N documents."""
    return {name: np.array([name in row for row in rows], dtype=np.int8) for name in names}


def select(tasks: Sequence[Task], options: DataOptions, corpus: str) -> tuple[Task, ...]:
    """The tasks that `options.labels` keeps, with the user's descriptions and name of the corpus.

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
    described = options.descriptions
    return tuple(
        replace(t, description=described.get(t.name, t.description), source=options.alias or t.source)
        for t in chosen
    )
