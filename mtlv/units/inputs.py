"""Inputs shared by the units of a suite, and their use by each model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.data.batches import PartDocuments
from mtlv.data.columns import of_objects
from mtlv.data.joined import sources_of
from mtlv.data.source import Corpus
from mtlv.data.splits import units_of
from mtlv.data.targets import TARGETS, Targets
from mtlv.data.texts.lazy import read
from mtlv.plan import Scores, Task, TaskScores

if TYPE_CHECKING:
    from mtlv.data.columns import TargetColumn
    from mtlv.data.masking import Masking
    from mtlv.data.tokens import Tokens
    from mtlv.models.encoder import Encoder
    from mtlv.models.fast.frozen_cache import FrozenCache

Outputs = Mapping[str, NDArray]
"""Outputs by task of a model, for the documents of its own source in one part of a split."""


@dataclass(frozen=True)
class UnitInputs:
    """Corpus, tokens and encoder: read once, never changed.

    Args:
        corpus: N documents, of one source or joined from several.
        tokens: tokens of the N documents.
        encoder: published encoder.
        targets: conversion of targets and outputs by kind of task.
        below: cache of the outputs of frozen layers, if there are any.
        masking: masks pieces of the texts of sources whose texts are learned.
        teacher_outputs: raw outputs of teachers for the training documents, by task.
        predictions: those of another model for all documents, taken in place of training.
    """

    corpus: Corpus
    tokens: Tokens
    encoder: Encoder
    targets: Mapping[str, Targets] = field(default_factory=lambda: TARGETS, repr=False)
    below: FrozenCache | None = field(default=None, repr=False)
    masking: Masking | None = field(default=None, repr=False)
    teacher_outputs: Mapping[str, TargetColumn] = field(default_factory=dict, repr=False)
    predictions: Scores | None = None
    _columns: dict[str, TargetColumn] = field(default_factory=dict, repr=False)

    @property
    def tasks(self) -> dict[str, Task]:
        """Tasks by name."""
        return {task.name: task for task in self.corpus.tasks}

    def by_word(self, name: str) -> bool:
        """Whether a task has a target per word."""
        return self.targets[self.tasks[name].kind].by_word

    def parts(
        self, names: Sequence[str], rows: NDArray[np.int64], *, known: bool = False
    ) -> tuple[PartDocuments, ...]:
        """Return the documents of these rows with targets of these tasks, for each source with some of them.

        If long documents are cut into windows, indices are those of the windows.

        Args:
            names: names of the tasks.
            rows: rows of the corpus.
            known: whether to leave out documents of which no target is known.
        """
        parts = []
        for source, start in self._sources(names):
            here = rows[(rows >= start) & (rows < start + len(source))]
            columns = {name: self._column(name) for name in source.names if name in names}
            if known:
                here = self._known(here, columns)
            masking = self.masking if source.masked else None
            targeted = [task.name for task in source.tasks if self.targets[task.kind].has_targets]
            index, (first, *_) = self.tokens.rows(here), self.tokens.rows(np.array([start]))
            documents = PartDocuments(self.tokens, columns, index, masking=masking, first=int(first))
            parts.append(replace(documents, targeted=targeted))
        return tuple(parts)

    def count(self, names: Sequence[str], rows: NDArray[np.int64]) -> int:
        """Return the number of documents, or windows of them, that `parts` has of known targets."""
        count = 0
        for source, start in self._sources(names):
            here = rows[(rows >= start) & (rows < start + len(source))]
            here = self._known(here, [name for name in source.names if name in names])
            count += len(here) if self.tokens.cuts is None else int(self.tokens.cuts.counts[here].sum())
        return count

    def _known(self, rows: NDArray[np.int64], names: Iterable[str]) -> NDArray[np.int64]:
        """Return the documents of one source of which a target of these tasks is known."""
        return rows[np.any([self.corpus.known(name)[rows] for name in names], axis=0)]

    def sources(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the sources with some of these tasks, in the order of `parts`."""
        return tuple(source.name for source, _ in self._sources(names))

    def _sources(self, names: Sequence[str]) -> list[tuple[Corpus, int]]:
        """Return the sources with their first row."""
        sources = sources_of(self.corpus)
        return [(source, start) for source, start, _ in sources if not set(names).isdisjoint(source.names)]

    def _column(self, name: str) -> TargetColumn:
        if name not in self._columns:
            task = self.tasks[name]
            self._columns[name] = self.targets[task.kind].column(task, self.corpus.targets[name], self.tokens)
        return self._columns[name]

    def targets_of(self, names: Sequence[str], rows: NDArray[np.int64]) -> dict[str, NDArray]:
        """Return the known targets of tasks, for those of `rows` that are documents of the task's source."""
        targets = {}
        for part in self.parts(names, rows):
            documents = self.documents(part.index)
            for name in part.targets:
                known = documents[self.corpus.known(name)[documents]]
                targets[name] = np.asarray(self.corpus.targets[name])[known]
        return targets

    def describe_lost(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """Return notes on targets that cannot be learned in the form given to a model, and on long texts."""
        notes = [self.targets[t.kind].describe_lost(t, self.corpus.targets[t.name]) for t in tasks]
        if self.tokens.truncated:
            is_uncut = self.tokens.cuts is None
            of = f"{len(self.tokens):,} {'documents' if is_uncut else 'windows of documents'}"
            tagged = is_uncut and any(self.by_word(task.name) for task in tasks)
            key = "window" if tagged else "window_pooling"
            lost = f" ({self.tokens.lost:,} tokens are not read)" if self.tokens.lost else ""
            more = f"; `data.{key}` cuts them into windows" if is_uncut and (tagged or lost) else ""
            truncates = f"`data.max_length` truncates {self.tokens.truncated:,} of {of}{lost}"
            notes.append(f"{truncates}, see `mtlv data check`{more}")
        if self.tokens.windows is not None:
            count = np.diff(self.tokens.windows.offsets)
            of = f"{(count > 1).sum():,} of {len(count):,} documents are read in windows"
            notes.append(f"{of}, {count[count > 1].sum():,} in all and up to {count.max():,} each")
        return tuple(note for note in notes if note)

    def outputs(self, model: Any, parts: Sequence[PartDocuments], *, precision: str) -> Outputs:
        """Return a model's outputs for documents, as scores of each task's kind."""
        from mtlv.training.predict import predict

        outputs: dict[str, NDArray] = {}
        for part in parts:
            for name, values in predict(model, part, precision=precision).items():
                task = self.tasks[name]
                outputs[name] = self.targets[task.kind].read(task, self._combine_windows(values, part))
        return outputs

    def _combine_windows(self, values: NDArray, part: PartDocuments) -> NDArray:
        """Combine the values of each document's windows."""
        documents = self.documents(part.index)
        if self.tokens.cuts is None or len(documents) == len(values):
            return values
        if values.dtype != object:  # sums over the pieces of a text
            _, place = np.unique(self.tokens.documents(part.index), return_inverse=True)
            return np.stack([np.bincount(place, column) for column in values.T], 1).astype(values.dtype)
        return of_objects(self.tokens.cuts.combine(values, documents.tolist()))

    def documents(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the documents of rows of tokens, in order, without duplicates."""
        return np.array(list(dict.fromkeys(self.tokens.documents(rows).tolist())), np.int64)

    def ids(self, rows: NDArray[np.int64]) -> tuple[str, ...]:
        """Return the ids of the documents of rows of tokens."""
        return self._of_rows(self.corpus.ids, self.documents(rows))

    def scores(
        self, unit: str, split: str, rows: NDArray[np.int64], parts: Sequence[PartDocuments], outputs: Outputs
    ) -> Scores:
        """Return outputs as scores of all of `rows`; documents of other sources have no target.

        Args:
            unit: key of the unit.
            split: `validation` or `test`.
            rows: rows of the part.
            parts: parts of `rows` with outputs.
            outputs: outputs by task.
        """
        tasks = {
            name: self._spread(name, np.isin(rows, self.documents(part.index)), rows, outputs[name])
            for part in parts
            for name in part.targets
        }
        ids, groups = self._of_rows(self.corpus.ids, rows), self._of_rows(self._units, rows)
        return Scores((unit,), split, ids, tasks, groups)

    def align_scores(self, scores: Scores, rows: NDArray[np.int64]) -> Scores:
        """Return the scores of a unit for all of `rows`, whatever other sources the training suite had."""
        ids = self._of_rows(self.corpus.ids, rows)
        if scores.ids == ids:
            return scores
        at = {name: place for place, name in enumerate(scores.ids)}
        tasks: dict[str, TaskScores] = {}
        for part in self.parts(tuple(scores.tasks), rows):
            documents = self.documents(part.index)
            places = [at[self.corpus.ids[row]] for row in documents]
            mask = np.isin(rows, documents)
            for name in part.targets:
                task = scores.tasks[name]
                aligned = self._spread(name, mask, rows, task.outputs[places])
                known = aligned.mask & np.isin(rows, documents[task.mask[places]])
                tasks[name] = replace(aligned, mask=known)
        return Scores(scores.units, scores.part, ids, tasks, self._of_rows(self._units, rows))

    @cached_property
    def _units(self) -> Sequence[str]:
        return units_of(self.corpus)

    @staticmethod
    def _of_rows(values: Sequence[str], rows: NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(read(values, rows.tolist()))

    def _spread(
        self, name: str, mask: NDArray[np.bool_], rows: NDArray[np.int64], values: NDArray
    ) -> TaskScores:
        """Return the scores of a task for `rows`, with the outputs `values` where `mask` is true."""
        targets, known = np.asarray(self.corpus.targets[name])[rows], mask & self.corpus.known(name)[rows]
        if mask.all():
            return TaskScores(values, targets, known)
        outputs = self.targets[self.tasks[name].kind].none(len(rows))
        if values.dtype != object:
            outputs = np.zeros((len(rows), *values.shape[1:]), values.dtype)
        outputs[mask] = values
        return TaskScores(outputs, targets, known)
