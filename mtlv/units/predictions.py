"""Predictions of other models, an LLM, rules or people, read from a table in place of training.

The table has a column of document ids, and one for each task, of its name. Yes/no tasks have a score from 0
to 1, or a decision (0 and 1, yes and no); tasks with classes the name of the class; numbers the number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mtlv.data.tables.bad_cells import ColumnCheck, readable
from mtlv.data.tables.cells import class_of, number_of
from mtlv.data.tables.labels import flag_of
from mtlv.data.tables.rows import read_table
from mtlv.disk import digest_of
from mtlv.errors import DataError
from mtlv.formatting import list_first
from mtlv.plan import Scores, Task, TaskScores

if TYPE_CHECKING:
    from mtlv.settings import Settings
    from mtlv.units.input_cache import InputCache


def read_predictions(settings: Settings, tasks: Sequence[Task], ids: Sequence[str] = ()) -> Scores:
    """Read the file `predictions` of settings; columns that are not of `tasks` are ignored.

    `ids` are those of the corpus, if it is known. The scores have the file's digest as key, and no targets.

    Raises:
        DataError: a task is of another kind, a column is missing, or an id or a value is wrong.
    """
    path = Path(str(settings.predictions))
    if others := [f"{task.name} ({task.kind})" for task in tasks if task.kind not in CELLS]:
        text = "`predictions` cannot be read for tasks of this kind; leave them out with `tasks`"
        raise DataError(text, got=list_first(others, 5), allowed=", ".join(CELLS))
    table = read_table(path)
    columns = [source.columns.id for source in settings.data.each_source]
    id_column = next((name for name in columns if name in table.columns), "id")
    table.need([id_column, *(task.name for task in tasks)], "of document ids, or of a task")
    rows_of = Counter(map(str, table.column(id_column)))
    wrong = dict.fromkeys((rows_of.keys() - {*ids}) if ids else (), "is of no document")
    wrong |= {id_: "is there twice" for id_, count in rows_of.items() if count > 1}
    allowed = f"one row of each document{', with ids such as ' if ids else ''}{list_first(ids[:2])}"
    checks = [ColumnCheck("predictions", id_column, lambda id_: wrong.get(str(id_), ""), allowed)]
    readers = {task.name: partial(CELLS[task.kind][0], task) for task in tasks}
    for task in tasks:
        allowed = ", ".join(task.classes) or CELLS[task.kind][1]
        fault = readable(readers[task.name], "cannot be read")
        checks.append(ColumnCheck("predictions", task.name, fault, allowed))
    if faults := [fault for check in checks for fault in check.bad_cells(table, table.rows)]:
        raise DataError.all_of(faults)
    outputs = {name: np.array([*map(read, table.column(name))], np.float32) for name, read in readers.items()}
    known = np.ones(len(rows_of), np.bool_)
    of_tasks = {name: TaskScores(values, values, known) for name, values in outputs.items()}
    return Scores((digest_of(path),), "", tuple(rows_of), of_tasks)


def match_predictions(cache: InputCache, settings: Settings) -> Scores:
    """Read predictions, and return a row for each document of the corpus; those without any are masked.

    Raises:
        DataError: as for `read_predictions`, or a test document with a target has no predictions.
    """
    corpus, folds = cache.corpus(settings.data), cache.folds(settings.data)
    file = Path(str(settings.predictions)).name
    predictions = read_predictions(settings, cache.tasks(settings), corpus.ids)
    at = {id_: row for row, id_ in enumerate(predictions.ids)}
    places = np.array([at.get(id_, -1) for id_ in corpus.ids])
    has_row = places >= 0
    tested, validated = (
        np.unique(np.concatenate([fold.part(part) for fold in folds])) for part in ("test", "validation")
    )
    tested = tested[np.any([corpus.known(name)[tested] for name in predictions.tasks], axis=0)]
    if missing := [corpus.ids[row] for row in tested[~has_row[tested]]]:
        text = f"`{file}`: {len(missing)} of {len(tested)} test documents have no row"
        raise DataError(text, got=list_first(missing, 5), then="predict these, too")
    if count := int((~has_row[validated]).sum()):
        where = "stay at `evaluation.fixed`" if count == len(validated) else "are chosen on the others"
        cache.note(
            f"`{file}`: {count} of {len(validated)} validation documents have no row; thresholds {where}"
        )
    tasks = {
        name: TaskScores(task.outputs[places], task.targets[places], has_row)
        for name, task in predictions.tasks.items()
    }
    return replace(predictions, ids=tuple(corpus.ids), tasks=tasks)


def _score(task: Task, cell: Any) -> float:  # noqa: ARG001
    flag = flag_of(cell)
    score = float(flag) if flag in (0, 1) else number_of(cell)
    if not 0 <= score <= 1:
        raise ValueError
    return score


CELLS: Mapping[str, tuple[Callable[[Task, Any], Any], str]] = {
    "binary": (_score, "a score from 0 to 1, or yes and no"),
    "multiclass": (lambda task, cell: np.eye(len(task.classes))[task.classes.index(class_of(cell))], ""),
    "regression": (lambda _, cell: number_of(cell), "a number"),
}
"""Reading of a cell by kind of task, and what it may have; for others the names of the classes."""
