"""What is known of the data before a run: its tasks, and whether it can be read and split."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mtlv.data import catalog
from mtlv.data.joined import repeated_tasks_error
from mtlv.data.source import Corpus
from mtlv.errors import MtlvError
from mtlv.plan import Task, select_tasks
from mtlv.settings.data_schema import SOURCE_KEYS
from mtlv.settings.problems import Problem
from mtlv.units.corpora import options_of, read_folds, surely_splits
from mtlv.units.input_cache import InputCache

if TYPE_CHECKING:
    from mtlv.data.options import DataOptions
    from mtlv.settings import Settings
    from mtlv.settings.data_schema import DataSettings

READ_KEYS = tuple(
    f"data.{key}" for key in (*SOURCE_KEYS, "columns", "documents", "descriptions", "parents", "sources")
)
"""Keys that determine the documents and tasks of a corpus."""
MOST_BYTES = 50_000_000  # of a corpus of the catalog, which is read in a few seconds
MOST_DOCUMENTS = 10_000  # of a generated corpus


@dataclass(frozen=True)
class _Known:
    """What is known of one corpus.

    Args:
        tasks: its tasks.
        corpus: its documents; None if they are missing, or too many to be read for a check.
        errors: why it cannot be read.
    """

    tasks: tuple[Task, ...] = ()
    corpus: Corpus | None = None
    errors: tuple[MtlvError, ...] = ()


class KnownData(InputCache):
    """Tasks and problems of the corpora of a suite, each read once for all members."""

    def tasks(self, settings: Settings) -> tuple[Task, ...]:
        """Return the tasks that settings learn, of data without problems.

        Raises:
            PlanError: `settings.tasks` contains none of them.
        """
        return select_tasks(
            [task for source in settings.data.each_source for task in self._of(source).tasks], settings.tasks
        )

    def problems(self, data: DataSettings, *, split: bool) -> Iterator[Problem]:
        """Yield why corpora cannot be read together or, if `split`, not be split, each at its own place."""
        for number, source in enumerate(data.each_source):
            lines = [line for error in self._of(source).errors for line in error.problems]
            for line in (*lines, *(self._unsplit(source) if split else ())):
                yield _problem(line, data, number)
        repeated = repeated_tasks_error(task for one in data.each_source for task in self._of(one).tasks)
        if repeated is not None:
            yield from (Problem(line) for line in repeated.problems)

    def absent(self, data: DataSettings) -> Iterator[Problem]:
        """Yield which corpora of the catalog are missing; a config may be meant for another machine."""
        for number, source in enumerate(data.each_source):
            if not self._of(source).errors and (line := catalog.absence(source.name, options_of(source))):
                yield _problem(line, data, number)

    def constant(self, data: DataSettings) -> Iterator[str]:
        """Yield a warning on each label that all documents have."""
        for source in data.each_source:
            corpus = self._of(source).corpus
            for task, reason in (corpus.constant if corpus else {}).items():
                yield f"`{task}` {reason}, so that a constant answer is right"

    def _of(self, data: DataSettings) -> _Known:
        options = options_of(data)
        key = ("known", data.name, repr(options))
        return self.once(key, lambda: self._look(data.name, options))

    def _unsplit(self, data: DataSettings) -> tuple[str, ...]:
        """Return why a corpus cannot be split."""
        corpus = self._of(data).corpus
        if corpus is None or surely_splits(data, corpus):
            return ()
        try:
            if self._of(data).errors:  # read with other labels than those of the settings
                read_folds(data, corpus)
            else:
                self.folds(data)
        except MtlvError as error:
            return error.problems
        return ()

    def _look(self, name: str, options: DataOptions) -> _Known:
        """Read a corpus; if it is absent or large, its card may have the tasks."""
        try:
            if catalog.absence(name, options) or not _is_small(name, options):
                return _Known(catalog.tasks(name, options))
            corpus = self.read(name, options)
        except MtlvError as error:
            return _Known((), self._with_right_labels(name, options), (error,))
        return _Known(corpus.tasks, corpus)

    def _with_right_labels(self, name: str, options: DataOptions) -> Corpus | None:
        """Return the corpus with the labels that it has, if only wrong names are why it cannot be read."""
        if not (options.labels or options.descriptions):
            return None
        corpus = self._look(name, replace(options, labels=None, descriptions={})).corpus
        if corpus is None:
            return None
        tasks = tuple(task for task in corpus.tasks if task.name in (options.labels or corpus.names))
        return replace(corpus, tasks=tasks) if tasks else None


def _problem(line: str, data: DataSettings, number: int) -> Problem:
    """Return a problem of the only corpus, or of one of several, which has its keys in `data.sources`."""
    if data.sources is None:
        return Problem(line, ("data.path", "data.name"))
    source = f"data.sources[{number}]"
    keys = "|".join((*SOURCE_KEYS, "columns"))
    return Problem(re.sub(rf"`data\.(?={keys}\b)", f"`{source}.", line), (f"{source}.path", source))


def _is_small(name: str, options: DataOptions) -> bool:
    if catalog.card(name).generated:
        return options.documents <= MOST_DOCUMENTS
    place = catalog.location(name, options)
    files = [place] if place.is_file() else [path for path in place.glob("**/*") if path.is_file()]
    return sum(os.path.getsize(file) for file in files) <= MOST_BYTES
