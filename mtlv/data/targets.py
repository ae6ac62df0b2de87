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
from mtlv.plan.tagging import BIO, Scheme, Tags, count_merged_spans
from mtlv.plan.task import UNKNOWN, Task

IGNORED = -100
"""Target of a word that is not learned: PyTorch's default."""
BINS = 4  # number of strata of a regression's values, so that every part has low and high ones
Flags = NDArray[np.bool_]


class Targets(Protocol):
    """Operations on the targets [N] of one kind.

    Args:
        by_word: whether there is a target per word, so that documents can be cut into windows.
        has_targets: whether documents have targets; otherwise they are learned from the text itself.
        by_class: whether a document has one of several classes, numbered from 0.
    """

    by_word: bool = False
    has_targets: bool = True
    by_class: bool = False

    def strata(self, task: Task, values: NDArray) -> dict[str, Flags]:
        """Return the strata of a split: flags [N] by readable name; an unknown target is in none."""

    def known(self, values: NDArray) -> Flags:
        """Return which documents have a target [N]; others are not learned or tested."""

    def learnable(self, values: NDArray) -> bool:
        """Whether anything can be learned: there is a positive, or values differ."""

    def constant(self, task: Task, values: NDArray) -> str:
        """Say what targets have in common that makes a constant answer right; empty if they differ."""
        known = values[self.known(values)]
        if not len(known):
            return "is never known"
        where = "" if len(known) == len(values) else " where it is known"
        return (same := self.same(task, known)) and f"{same}{where}"

    def same(self, task: Task, known: NDArray) -> str:
        """Say what known targets, one or more, have in common; see `constant`."""

    def none(self, documents: int) -> NDArray:
        """Return placeholder targets of documents without targets."""

    def column(self, task: Task, values: NDArray, tokens: Tokens) -> TargetColumn:
        """Return the targets for batches."""

    def read(self, task: Task, outputs: NDArray) -> NDArray:
        """Convert a model's outputs to the form of scores (`mtlv.plan.TaskScores`)."""

    def describe_lost(self, task: Task, values: NDArray) -> str:
        """Describe targets that cannot be learned in the form given to a model; empty, the default, if all
        can."""
        return ""

    def plain(self, values: NDArray) -> object:
        """Return the targets as plain values, for a digest."""


class _OnePerDocument(Targets):
    """One value per document, of one NumPy type."""

    dtype: type[np.generic]

    def known(self, values: NDArray) -> Flags:
        return values != UNKNOWN

    def learnable(self, values: NDArray) -> bool:
        return len(np.unique(values[self.known(values)])) > 1

    def same(self, task: Task, known: NDArray) -> str:
        return "" if len(np.unique(known)) > 1 else f"is always {known[0]:g}"

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
        return {task.name: values == 1}

    def learnable(self, values: NDArray) -> bool:
        return bool((values == 1).any())


class ClassTargets(_OnePerDocument):
    """The index of the document's class in the task's classes, or `UNKNOWN`."""

    dtype = np.int64
    by_class = True

    def strata(self, task: Task, values: NDArray) -> dict[str, Flags]:
        return {f"{task.name}: {name}": values == number for number, name in enumerate(task.classes)}

    def same(self, task: Task, known: NDArray) -> str:
        return super().same(task, known) and f"has one class ({shorten(task.classes[known[0]])})"


class NumberTargets(_OnePerDocument):
    """One number per document; NaN if it is not known."""

    dtype = np.float32

    def known(self, values: NDArray) -> Flags:
        return ~np.isnan(values)

    def strata(self, task: Task, values: NDArray) -> dict[str, Flags]:
        """Return quarters of the known values; fewer if values repeat."""
        known = self.known(values)
        if not known.any():
            return {}
        edges = np.unique(np.quantile(values[known], np.linspace(0, 1, BINS + 1)[1:-1]))
        quarter = np.where(known, np.searchsorted(edges, values, side="left"), -1)
        return {f"{task.name}: quarter {q + 1}": quarter == q for q in np.unique(quarter[known]).tolist()}


class UnknownSpans(tuple[Span, ...]):
    """Target of a document whose tags are not known; without spans, so that it can be read as any other."""


@dataclass(frozen=True)
class SpanTargets(Targets):
    """A tuple of `Span`s in words per document, or `UnknownSpans`: an array of objects."""

    scheme: Scheme = BIO

    by_word = True

    def strata(self, task: Task, values: NDArray) -> dict[str, Flags]:
        types_of_documents = [{span.type for span in spans} for spans in values]
        return {
            f"{task.name}: {name}": np.array([name in types for types in types_of_documents], bool)
            for name in task.classes
        }

    def known(self, values: NDArray) -> Flags:
        return np.array([not isinstance(spans, UnknownSpans) for spans in values], bool)

    def learnable(self, values: NDArray) -> bool:
        return any(len(spans) for spans in values)

    def same(self, task: Task, known: NDArray) -> str:
        return "" if self.learnable(known) else "has no entity"

    def none(self, documents: int) -> NDArray:
        return spans_column([()] * documents)

    def column(self, task: Task, values: NDArray, tokens: Tokens) -> TargetColumn:
        """Return the tag ids of each word; `IGNORED` for words that were truncated or have no known tag.

        Raises:
            DataError: the documents are not given as words.
        """
        places = tokens.words
        if places is None:
            raise DataError(f"task `{task.name}` needs documents that are given as words")
        tags = Tags(self.scheme, task.classes)
        spans_of_rows = values if tokens.cuts is None else tokens.cuts.spans(values)
        lengths = np.diff(places.offsets)
        rows = [tags.encode(spans, n) for spans, n in zip(spans_of_rows, lengths, strict=True)]
        known = self.known(values)[tokens.documents(np.arange(len(tokens)))]
        learned = (places.flat >= 0) & np.repeat(known, lengths)
        flat = np.where(learned, np.concatenate(rows), IGNORED)
        return RaggedColumn(flat, places.offsets, IGNORED)

    def read(self, task: Task, outputs: NDArray) -> NDArray:
        """Return the spans of tag ids, decoded like in conlleval."""
        tags = Tags(self.scheme, task.classes)
        return spans_column([tags.decode(row) for row in outputs])

    def describe_lost(self, task: Task, values: NDArray) -> str:
        """Describe spans that merge with their neighbour."""
        count = count_merged_spans(values, self.scheme)
        if not count:
            return ""
        spans = sum(map(len, values))
        return (
            f"`{task.name}`: {count:,} of {spans:,} spans merge with the previous span in tags of "
            f"`{self.scheme.name}`, and cannot be predicted"
        )

    def plain(self, values: NDArray) -> object:
        known = self.known(values)
        return [[tuple(span) for span in values[n]] if known[n] else None for n in range(len(values))]


class NoTargets(_OnePerDocument):
    """Documents whose text is learned; see `mtlv.data.masking`."""

    dtype = np.int8
    has_targets = False

    def strata(self, task: Task, values: NDArray) -> dict[str, Flags]:
        return {task.name: np.ones(len(values), bool)}

    def known(self, values: NDArray) -> Flags:
        return np.ones(len(values), bool)

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


def spans_column(rows: Sequence[Sequence[Span] | None]) -> NDArray[np.object_]:
    """Return the targets of a tagging task [N]; None if the tags of a document are not known."""
    return of_objects([UnknownSpans() if row is None else tuple(row) for row in rows])
