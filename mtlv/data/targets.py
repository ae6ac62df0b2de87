"""Targets of each kind of task in a corpus: how they are split, counted and checked.

A new kind needs one more entry in `TARGETS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mtlv.data.columns import DenseColumn, RaggedColumn, TargetColumn, of_objects
from mtlv.data.tokens import Tokens
from mtlv.errors import DataError, shorten
from mtlv.plan.spans import Span
from mtlv.plan.tagging import BIO, Scheme, Tags, merged
from mtlv.plan.task import UNKNOWN, Task

IGNORED = -100
"""Target of a word that is not learned: PyTorch's default."""
BINS = 4  # number of strata of a regression's values, so that every part has low and high ones
Flags = NDArray[np.bool_]


class Targets(Protocol):
    """Operations on the targets [N] of one kind.

    Args:
        by_word: whether there is a target per word, so that documents can be cut into windows.
        own: whether documents have targets; otherwise they are learned from the text itself.
        by_class: whether a document has one of several classes, numbered from 0.
    """

    by_word: bool = False
    own: bool = True
    by_class: bool = False

    def strata(self, task: Task, values: NDArray) -> dict[str, Flags]:
        """Return the strata of a split: flags [N] by readable name."""

    def known(self, values: NDArray) -> Flags:
        """Return which documents have a target [N], by default all; others are not learned or tested."""
        return np.ones(len(values), bool)

    def learnable(self, values: NDArray) -> bool:
        """Whether anything can be learned: there is a positive, or values differ."""

    def constant(self, task: Task, values: NDArray) -> str:
        """Say what targets have in common that makes a constant answer right; empty if they differ."""

    def none(self, documents: int) -> NDArray:
        """Return placeholder targets of documents without targets."""

    def column(self, task: Task, values: NDArray, tokens: Tokens) -> TargetColumn:
        """Return the targets for batches."""

    def read(self, task: Task, outputs: NDArray) -> NDArray:
        """Convert a model's outputs to the form of scores (`mtlv.plan.TaskScores`)."""

    def lost(self, task: Task, values: NDArray) -> str:
        """Describe targets that cannot be learned in the form given to a model; empty, the default, if all
        can."""
        return ""

    def plain(self, values: NDArray) -> object:
        """Return the targets as plain values, for a digest."""


class _OnePerDocument(Targets):
    """One value per document, of one NumPy type."""

    dtype: type[np.generic]

    def learnable(self, values: NDArray) -> bool:
        return len(np.unique(values)) > 1

    def constant(self, task: Task, values: NDArray) -> str:
        return "" if len(np.unique(values)) > 1 else f"is always {values[0]:g}"

    def none(self, documents: int) -> NDArray:
        return np.zeros(documents, self.dtype)

    def column(self, task: Task, values: NDArray, tokens: Tokens) -> TargetColumn:
        return DenseColumn(values[tokens.documents(np.arange(len(tokens)))].astype(self.dtype))

    def read(self, task: Task, outputs: NDArray) -> NDArray:
        return outputs

    def plain(self, values: NDArray) -> object:
        return values.tolist()


class BinaryTargets(_OnePerDocument):
    """0, 1 or `UNKNOWN` per document."""

    dtype = np.int8
    by_class = True

    def strata(self, task: Task, values: NDArray) -> dict[str, Flags]:
        found = {task.name: values == 1}
        return found if self.known(values).all() else found | {f"{task.name}: no": values == 0}

    def known(self, values: NDArray) -> Flags:
        return values != UNKNOWN

    def learnable(self, values: NDArray) -> bool:
        return bool((values == 1).any())

    def constant(self, task: Task, values: NDArray) -> str:
        known = values[self.known(values)]
        if not len(known):
            return "is never known"
        where = "" if len(known) == len(values) else " where it is known"
        return (same := super().constant(task, known)) and f"{same}{where}"


class ClassTargets(_OnePerDocument):
    """The index of the document's class in the task's classes."""

    dtype = np.int64
    by_class = True

    def strata(self, task: Task, values: NDArray) -> dict[str, Flags]:
        return {f"{task.name}: {name}": values == number for number, name in enumerate(task.classes)}

    def constant(self, task: Task, values: NDArray) -> str:
        return super().constant(task, values) and f"has one class ({shorten(task.classes[values[0]])})"


class NumberTargets(_OnePerDocument):
    """One number per document."""

    dtype = np.float32

    def strata(self, task: Task, values: NDArray) -> dict[str, Flags]:
        """Return quarters of the values; fewer if values repeat."""
        edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
        quarter = np.searchsorted(edges, values, side="left")
        return {f"{task.name}: quarter {q + 1}": quarter == q for q in np.unique(quarter).tolist()}


@dataclass(frozen=True)
class SpanTargets(Targets):
    """A tuple of `Span`s in words per document: an array of objects."""

    scheme: Scheme = BIO

    by_word = True

    def strata(self, task: Task, values: NDArray) -> dict[str, Flags]:
        held = [{span.type for span in spans} for spans in values]
        return {
            f"{task.name}: {name}": np.array([name in types for types in held], bool) for name in task.classes
        }

    def learnable(self, values: NDArray) -> bool:
        return any(len(spans) for spans in values)

    def constant(self, task: Task, values: NDArray) -> str:
        return "" if self.learnable(values) else "has no entity"

    def none(self, documents: int) -> NDArray:
        return spans_column([()] * documents)

    def column(self, task: Task, values: NDArray, tokens: Tokens) -> TargetColumn:
        """Return the tag ids of each word; `IGNORED` for words that were truncated.

        Raises:
            DataError: the documents are not given as words.
        """
        places = tokens.words
        if places is None:
            raise DataError(f"task `{task.name}` needs documents that are given as words")
        tags = Tags(self.scheme, task.classes)
        given = values if tokens.cuts is None else tokens.cuts.spans(values)
        rows = [tags.encode(spans, n) for spans, n in zip(given, np.diff(places.offsets), strict=True)]
        flat = np.where(places.flat < 0, IGNORED, np.concatenate(rows))
        return RaggedColumn(flat, places.offsets, IGNORED)

    def read(self, task: Task, outputs: NDArray) -> NDArray:
        """Return the spans of tag ids, decoded like in conlleval."""
        tags = Tags(self.scheme, task.classes)
        return spans_column([tags.decode(row) for row in outputs])

    def lost(self, task: Task, values: NDArray) -> str:
        """Describe spans that merge with their neighbour."""
        count = merged(values, self.scheme)
        if not count:
            return ""
        spans = sum(map(len, values))
        return (
            f"`{task.name}`: {count:,} of {spans:,} spans merge with the previous span in tags of "
            f"`{self.scheme.name}`, and cannot be predicted"
        )

    def plain(self, values: NDArray) -> object:
        return [[tuple(span) for span in spans] for spans in values]


class NoTargets(_OnePerDocument):
    """Documents whose text is learned; see `mtlv.data.masking`."""

    dtype = np.int8
    own = False

    def strata(self, task: Task, values: NDArray) -> dict[str, Flags]:
        return {task.name: np.ones(len(values), bool)}

    def learnable(self, values: NDArray) -> bool:
        return len(values) > 0

    def constant(self, task: Task, values: NDArray) -> str:
        return ""

    def column(self, task: Task, values: NDArray, tokens: Tokens) -> TargetColumn:
        return DenseColumn(np.broadcast_to(self.dtype(0), len(tokens)))  # takes no memory


TARGETS: dict[str, Targets] = {
    "binary": BinaryTargets(),
    "multiclass": ClassTargets(),
    "regression": NumberTargets(),
    "tagging": SpanTargets(),
    "mlm": NoTargets(),
}


def targets_with(scheme: Scheme) -> dict[str, Targets]:
    """Return `TARGETS`, with this scheme for spans."""
    return {**TARGETS, "tagging": SpanTargets(scheme)}


def spans_column(rows: Sequence[Sequence[Span]]) -> NDArray[np.object_]:
    """Return the targets of a tagging task [N]."""
    return of_objects([tuple(row) for row in rows])
