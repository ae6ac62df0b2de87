"""What a task's outputs are to those who asked, for each kind of task: cells, columns, JSON.

A new kind is one more class, named in `ANSWERS`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mtlv.data.targets import TARGETS
from mtlv.data.words import Words
from mtlv.plan import Task
from mtlv.serving.inputs import WORDS

COLUMNS = ("both", "probabilities", "decisions")
"""What a caller may ask for; the first is what it gets unasked."""
BOTH, PROBABILITIES, DECISIONS = COLUMNS
SHOWN_CLASSES = 3  # beside the one that is predicted, in a table for people
FIRST = (False, -math.inf)


@dataclass(frozen=True)
class TaskPrediction:
    """What a model says of N rows for one task.

    Args:
        task: name, kind and classes.
        outputs: [N], [N, C] or N tuples of spans in words, as `mtlv.plan.TaskScores` has them.
        threshold: the least probability that predicts; of yes/no tasks.
        words: of each row, where the task reads words.
    """

    task: Task
    outputs: NDArray
    threshold: float = 0.0
    words: Sequence[Words] = ()

    @property
    def kind(self) -> OutputFormat:
        return ANSWERS[self.task.kind]

    @property
    def decided(self) -> NDArray[np.bool_]:
        """[N] of a yes/no task: whether the probability is at least the threshold."""
        return self.outputs.astype(np.float64) >= self.threshold


@dataclass(frozen=True)
class OutputColumn:
    """A column of a table of answers.

    Args:
        name: of the column.
        type: `double`, `boolean` or `string`.
        values: a task's answers -> [N].
    """

    name: str
    type: str
    values: Callable[[TaskPrediction], NDArray]


class OutputFormat(Protocol):
    """How a kind's outputs are told.

    Args:
        thresholded: whether its outputs are probabilities that a threshold decides.
        classed: whether its tasks have classes.
        needs: a column that its tasks cannot do without, beside the text; empty for none.
        title: of what several rows are told, where all tasks are of this kind.
        header: titles of `cells`.
        text_columns: how many columns are words from the left, the task's name included.
        gives: what a task gives, for a person.
    """

    thresholded: bool
    classed: bool
    needs: str
    title: str
    header: tuple[str, ...]
    text_columns: int
    gives: str

    def columns(self, task: Task, wanted: str) -> list[OutputColumn]:
        """Columns for one of `COLUMNS`; none where the kind has no such thing."""
        ...

    def cells(self, prediction: TaskPrediction, row: int) -> tuple[str, ...]:
        """A row in a table of tasks, behind the task's name."""
        ...

    def answer(self, prediction: TaskPrediction, row: int) -> tuple[str, str]:
        """The same in two cells for tables of several kinds: the answer, and more about it."""
        ...

    def short(self, prediction: TaskPrediction, row: int) -> str:
        """A few words with the task's name; empty where there is nothing to say."""
        ...

    def rank(self, prediction: TaskPrediction, row: int) -> tuple[bool, float]:
        """Where the task stands among others, the lowest first."""
        ...

    def record(self, prediction: Sequence[TaskPrediction], row: int) -> dict[str, Any]:
        """What all tasks of this kind give for a row, as JSON has it."""
        ...

    def none(self, task: Task, rows: int) -> NDArray:
        """Outputs of rows that have nothing to read."""
        ...


class BinaryOutput:
    """A probability, and a decision at the task's threshold."""

    thresholded = True
    classed = False
    needs = ""
    title = "decided"
    header: tuple[str, ...] = ("probability", "threshold", "decided")
    text_columns = 1
    gives = "probability and decision at the threshold fitted on validation"

    def columns(self, task: Task, wanted: str) -> list[OutputColumn]:
        probability = OutputColumn(f"{task.name} probability", "double", _float)
        decided = OutputColumn(f"{task.name} decided", "boolean", lambda prediction: prediction.decided)
        alone = {PROBABILITIES: probability, DECISIONS: decided}
        if wanted in alone:
            return [OutputColumn(task.name, alone[wanted].type, alone[wanted].values)]
        return [probability, decided]

    def cells(self, prediction: TaskPrediction, row: int) -> tuple[str, ...]:
        return (f"{prediction.outputs[row]:.3f}", f"{prediction.threshold:.3g}", self._word(prediction, row))

    def answer(self, prediction: TaskPrediction, row: int) -> tuple[str, str]:
        probability, threshold, decided = self.cells(prediction, row)
        return decided, f"probability {probability}, threshold {threshold}"

    def short(self, prediction: TaskPrediction, row: int) -> str:
        return f"{prediction.task.name} {prediction.outputs[row]:.2f}" if prediction.decided[row] else ""

    def rank(self, prediction: TaskPrediction, row: int) -> tuple[bool, float]:
        return not prediction.decided[row], -float(prediction.outputs[row])

    def record(self, prediction: Sequence[TaskPrediction], row: int) -> dict[str, Any]:
        return {
            "probabilities": {each.task.name: float(each.outputs[row]) for each in prediction},
            "decided": [each.task.name for each in prediction if each.decided[row]],
        }

    def none(self, task: Task, rows: int) -> NDArray:
        return TARGETS[task.kind].none(rows).astype(np.float64)

    def _word(self, prediction: TaskPrediction, row: int) -> str:
        return "yes" if prediction.decided[row] else "no"


class ClassOutput:
    """The class with the highest probability, of equal ones the first, and all probabilities."""

    thresholded = False
    classed = True
    needs = ""
    title = "class"
    header: tuple[str, ...] = ("class", "probability", "next")
    text_columns = 4
    gives = "class and the probability of each class"

    def columns(self, task: Task, wanted: str) -> list[OutputColumn]:
        name = task.name if wanted == DECISIONS else f"{task.name} class"
        found = [] if wanted == PROBABILITIES else [OutputColumn(name, "string", _classes)]
        if wanted == DECISIONS:
            return found
        return found + [
            OutputColumn(f"{task.name} probability of {one}", "double", partial(_of_class, number=n))
            for n, one in enumerate(task.classes)
        ]

    def cells(self, prediction: TaskPrediction, row: int) -> tuple[str, ...]:
        order = np.argsort(-prediction.outputs[row], kind="stable").tolist()
        best, *others = [f"{prediction.task.classes[n]} {prediction.outputs[row, n]:.3f}" for n in order]
        more = f" and {len(others) - SHOWN_CLASSES} more" if len(others) > SHOWN_CLASSES else ""
        return (*best.rsplit(" ", 1), ", ".join(others[:SHOWN_CLASSES]) + more)

    def answer(self, prediction: TaskPrediction, row: int) -> tuple[str, str]:
        best, probability, others = self.cells(prediction, row)
        return best, f"probability {probability}; {others}" if others else f"probability {probability}"

    def short(self, prediction: TaskPrediction, row: int) -> str:
        best, probability, _ = self.cells(prediction, row)
        return f"{prediction.task.name}: {best} {float(probability):.2f}"

    def rank(self, prediction: TaskPrediction, row: int) -> tuple[bool, float]:  # noqa: ARG002
        return FIRST

    def record(self, prediction: Sequence[TaskPrediction], row: int) -> dict[str, Any]:
        return {"classes": {each.task.name: self._one(each, row) for each in prediction}}

    def _one(self, prediction: TaskPrediction, row: int) -> dict[str, Any]:
        probabilities = dict(zip(prediction.task.classes, _float(prediction)[row].tolist(), strict=True))
        return {"class": str(_classes(prediction)[row]), "probabilities": probabilities}

    def none(self, task: Task, rows: int) -> NDArray:
        return np.zeros((rows, len(task.classes)))


class NumberOutput:
    """A number, in the units of the corpus that taught it."""

    thresholded = False
    classed = False
    needs = ""
    title = "value"
    header: tuple[str, ...] = ("value",)
    text_columns = 1
    gives = "value"

    def columns(self, task: Task, wanted: str) -> list[OutputColumn]:
        names = {BOTH: f"{task.name} value", DECISIONS: task.name}
        return [OutputColumn(names[wanted], "double", _float)] if wanted in names else []

    def cells(self, prediction: TaskPrediction, row: int) -> tuple[str, ...]:
        return (f"{prediction.outputs[row]:.3f}",)

    def answer(self, prediction: TaskPrediction, row: int) -> tuple[str, str]:
        return self.cells(prediction, row)[0], ""

    def short(self, prediction: TaskPrediction, row: int) -> str:
        return f"{prediction.task.name}: {prediction.outputs[row]:.2f}"

    def rank(self, prediction: TaskPrediction, row: int) -> tuple[bool, float]:  # noqa: ARG002
        return FIRST

    def record(self, prediction: Sequence[TaskPrediction], row: int) -> dict[str, Any]:
        return {"values": {each.task.name: float(each.outputs[row]) for each in prediction}}

    def none(self, task: Task, rows: int) -> NDArray:
        return TARGETS[task.kind].none(rows)


class SpanOutput:
    """Spans of the text, with the words and characters that they cover."""

    thresholded = False
    classed = True
    needs = WORDS
    title = "spans"
    header: tuple[str, ...] = ("spans",)
    text_columns = 2
    gives = "spans: type, words and characters"

    def columns(self, task: Task, wanted: str) -> list[OutputColumn]:
        names = {BOTH: f"{task.name} spans", DECISIONS: task.name}
        return [OutputColumn(names[wanted], "string", self._as_json)] if wanted in names else []

    def cells(self, prediction: TaskPrediction, row: int) -> tuple[str, ...]:
        found = [f"{s['type']} {s['text']!r} {s['start']}-{s['end']}" for s in spans_found(prediction, row)]
        return (", ".join(found) or "none",)

    def answer(self, prediction: TaskPrediction, row: int) -> tuple[str, str]:
        return self.cells(prediction, row)[0], ""

    def short(self, prediction: TaskPrediction, row: int) -> str:
        found = [f"{span['text']} ({span['type']})" for span in spans_found(prediction, row)]
        return f"{prediction.task.name}: {', '.join(found)}" if found else ""

    def rank(self, prediction: TaskPrediction, row: int) -> tuple[bool, float]:  # noqa: ARG002
        return FIRST

    def record(self, prediction: Sequence[TaskPrediction], row: int) -> dict[str, Any]:
        return {"spans": {each.task.name: spans_found(each, row) for each in prediction}}

    def none(self, task: Task, rows: int) -> NDArray:
        return TARGETS[task.kind].none(rows)

    def _as_json(self, prediction: TaskPrediction) -> NDArray:
        rows = [
            json.dumps(spans_found(prediction, row), ensure_ascii=False)
            for row in range(len(prediction.outputs))
        ]
        return np.array(rows, dtype=object)


def spans_found(prediction: TaskPrediction, row: int) -> list[dict[str, Any]]:
    """The spans of a row: `type`, `text`, `start` and `end` in characters (`end` exclusive), `words`, and
    the number of the first of them among the row's words, from 0."""
    words = prediction.words[row]
    found = []
    for span in prediction.outputs[row]:
        start, end = words.places[span.start][0], words.places[span.end - 1][1]
        content = {"type": span.type, "text": words.text[start:end], "start": start, "end": end}
        held = list(words)[span.start : span.end]
        found.append({**content, "words": held, "first_word": span.start})
    return found


def _float(prediction: TaskPrediction) -> NDArray[np.float64]:
    return prediction.outputs.astype(np.float64)


def _of_class(prediction: TaskPrediction, number: int) -> NDArray[np.float64]:
    return _float(prediction)[:, number]


def _classes(prediction: TaskPrediction) -> NDArray:
    return np.array([prediction.task.classes[n] for n in prediction.outputs.argmax(1)], dtype=object)


ANSWERS: dict[str, OutputFormat] = {
    "binary": BinaryOutput(),
    "multiclass": ClassOutput(),
    "regression": NumberOutput(),
    "tagging": SpanOutput(),
}
