"""Presentation of the outputs of each kind of task: table cells, columns, JSON.

A new kind needs one more class in `ANSWERS`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mtlv.data.targets import TARGETS
from mtlv.data.words import Words
from mtlv.formatting import list_first
from mtlv.plan import Task
from mtlv.plan.temperature import at_temperature, confidence
from mtlv.serving.inputs import WORDS

COLUMNS = ("both", "probabilities", "decisions")
"""Values of `columns`; the first is the default."""
BOTH, PROBABILITIES, DECISIONS = COLUMNS
ABSTAIN = "abstain"
SHOWN_CLASSES = 3  # shown in a table, besides the predicted one
FIRST = (False, -math.inf)


@dataclass(frozen=True)
class TaskPrediction:
    """Predictions of a model for N rows of one task."""

    task: Task
    outputs: NDArray  # [N], [N, C] or N tuples of spans in words, as in `mtlv.plan.TaskScores`
    threshold: float = 0.0  # decision threshold of a yes/no task
    words: Sequence[Words] = ()  # words of each row, if the task reads words
    temperature: float = 1.0  # at which probabilities are given; it does not change what is decided
    least: float | None = None  # confidence of decisions that are made; None is any
    empty: NDArray[np.int64] = field(default_factory=lambda: np.arange(0))  # rows without an answer
    attended: Mapping[int, Mapping[str, float]] = field(default_factory=dict)  # weights of words, by row

    @property
    def kind(self) -> OutputFormat:
        return ANSWERS[self.task.kind]

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """[N] numbers or probabilities of "yes", or [N, C] of classes; NaN for rows without an answer."""
        values = np.array(at_temperature(self.outputs, self.temperature), dtype=np.float64)
        values[self.empty] = np.nan
        return values

    @property
    def limit(self) -> float:
        """The threshold for `values`."""
        return float(at_temperature([self.threshold], self.temperature)[0])

    @property
    def decided(self) -> NDArray[np.bool_]:
        """[N] for a yes/no task: whether the probability is at least the threshold."""
        return self.outputs.astype(np.float64) >= self.threshold

    @cached_property
    def unsure(self) -> NDArray[np.bool_]:
        """[N] whether the decision is abstained from."""
        if self.least is None:
            return np.zeros(len(self.outputs), bool)
        return confidence(self.outputs, self.threshold) < self.least

    def attention(self, row: int) -> str:
        """Return the words with the largest weights for what was predicted; none if that is "no"."""
        is_no = self.kind.thresholded and not self.decided[row]
        words = {} if is_no else self.attended.get(row, {})
        return ", ".join(f"{word} {weight:.2f}" for word, weight in words.items())


@dataclass(frozen=True)
class OutputColumn:
    """A column of a table of predictions."""

    name: str
    type: str  # `double`, `boolean` or `string`
    values: Callable[[TaskPrediction], NDArray]  # function from a task's predictions to values [N]


class OutputFormat(Protocol):
    """Presentation of a kind's outputs.

    Args:
        thresholded: whether its outputs are probabilities decided by a threshold.
        probable: whether its outputs are probabilities, which a temperature calibrates.
        classed: whether its tasks have classes.
        needs: required column besides the text; empty for none.
        key: key of predictions in JSON.
        title: column title for several rows, if all tasks are of this kind.
        header: column titles of `cells`.
        text_columns: number of text columns from the left, including the task's name.
        gives: description of a task's output.
    """

    thresholded: bool = False
    probable: bool = False
    classed: bool = False
    needs: str = ""
    key: str
    title: str
    header: tuple[str, ...]
    text_columns: int = 1
    gives: str

    def columns(self, task: Task, selection: str) -> list[OutputColumn]:
        """Return the columns for one of `COLUMNS`; [] if the kind has none."""

    def cells(self, prediction: TaskPrediction, row: int) -> tuple[str, ...]:
        """Return a row in a table of tasks, without the task's name."""

    def answer(self, prediction: TaskPrediction, row: int) -> tuple[str, str]:
        """Return the same in two cells, for tables of several kinds: the prediction, and details.

        By default, the first cell has everything.
        """
        return self.cells(prediction, row)[0], ""

    def short(self, prediction: TaskPrediction, row: int) -> str:
        """Return a short text with the task's name; empty if there is nothing to show."""

    def rank(self, prediction: TaskPrediction, row: int) -> tuple[bool, float]:
        """Return the sort key of the task among others, lowest first; by default before all others."""
        return FIRST

    def value(self, prediction: TaskPrediction, row: int) -> Any:
        """Return the prediction for a row, for JSON; by default its value."""
        return float(prediction.values[row])

    def none(self, task: Task, rows: int) -> NDArray:
        """Return outputs for rows without anything to read; by default those of documents without targets."""
        return TARGETS[task.kind].none(rows)


class BinaryOutput(OutputFormat):
    """A probability, and a decision at the task's threshold."""

    thresholded = probable = True
    key, title = "probabilities", "decided"
    header: tuple[str, ...] = ("probability", "threshold", "decided")
    gives = "probability and decision at the threshold fitted on validation"

    def columns(self, task: Task, selection: str) -> list[OutputColumn]:
        probability = OutputColumn(f"{task.name} probability", "double", _values)
        decided = OutputColumn(f"{task.name} decided", "boolean", lambda prediction: prediction.decided)
        alone = {PROBABILITIES: probability, DECISIONS: decided}
        if selection in alone:
            return [OutputColumn(task.name, alone[selection].type, alone[selection].values)]
        return [probability, decided]

    def cells(self, prediction: TaskPrediction, row: int) -> tuple[str, ...]:
        decided = ABSTAIN if prediction.unsure[row] else "yes" if prediction.decided[row] else "no"
        return (f"{prediction.values[row]:.3f}", f"{prediction.limit:.3g}", decided)

    def answer(self, prediction: TaskPrediction, row: int) -> tuple[str, str]:
        probability, threshold, decided = self.cells(prediction, row)
        return decided, f"probability {probability}, threshold {threshold}"

    def short(self, prediction: TaskPrediction, row: int) -> str:
        if prediction.unsure[row]:
            return f"{prediction.task.name} {ABSTAIN}"
        return f"{prediction.task.name} {prediction.values[row]:.2f}" if prediction.decided[row] else ""

    def rank(self, prediction: TaskPrediction, row: int) -> tuple[bool, float]:
        return not prediction.decided[row], -float(prediction.values[row])

    def none(self, task: Task, rows: int) -> NDArray:
        return TARGETS[task.kind].none(rows).astype(np.float64)


class ClassOutput(OutputFormat):
    """The class with the highest probability (on ties the first), and all probabilities."""

    classed = probable = True
    key, title = "classes", "class"
    header: tuple[str, ...] = ("class", "probability", "next")
    text_columns = 4
    gives = "class and the probability of each class"

    def columns(self, task: Task, selection: str) -> list[OutputColumn]:
        name = task.name if selection == DECISIONS else f"{task.name} class"
        columns = [] if selection == PROBABILITIES else [OutputColumn(name, "string", _classes)]
        if selection == DECISIONS:
            return columns
        return columns + [
            OutputColumn(f"{task.name} probability of {one}", "double", partial(_of_class, number=n))
            for n, one in enumerate(task.classes)
        ]

    def cells(self, prediction: TaskPrediction, row: int) -> tuple[str, ...]:
        order = np.argsort(-prediction.values[row], kind="stable").tolist()
        best, *others = [f"{prediction.task.classes[n]} {prediction.values[row, n]:.3f}" for n in order]
        name, probability = best.rsplit(" ", 1)
        name = f"{ABSTAIN} ({name})" if prediction.unsure[row] else name
        return name, probability, list_first(others, SHOWN_CLASSES)

    def answer(self, prediction: TaskPrediction, row: int) -> tuple[str, str]:
        best, probability, others = self.cells(prediction, row)
        return best, f"probability {probability}; {others}" if others else f"probability {probability}"

    def short(self, prediction: TaskPrediction, row: int) -> str:
        best, probability, _ = self.cells(prediction, row)
        return f"{prediction.task.name}: {best} {float(probability):.2f}"

    def value(self, prediction: TaskPrediction, row: int) -> Any:
        probabilities = dict(zip(prediction.task.classes, prediction.values[row].tolist(), strict=True))
        decided = None if prediction.unsure[row] else str(_classes(prediction)[row])
        return {"class": decided, "probabilities": probabilities}

    def none(self, task: Task, rows: int) -> NDArray:
        return np.zeros((rows, len(task.classes)))


class NumberOutput(OutputFormat):
    """A number, in the unit of the training corpus."""

    key, title = "values", "value"
    header: tuple[str, ...] = ("value",)
    gives = "value"

    def columns(self, task: Task, selection: str) -> list[OutputColumn]:
        names = {BOTH: f"{task.name} value", DECISIONS: task.name}
        return [OutputColumn(names[selection], "double", _values)] if selection in names else []

    def cells(self, prediction: TaskPrediction, row: int) -> tuple[str, ...]:
        return (f"{prediction.values[row]:.3f}",)

    def short(self, prediction: TaskPrediction, row: int) -> str:
        return f"{prediction.task.name}: {prediction.values[row]:.2f}"


class NoOutput(NumberOutput):
    """Masked language modelling, which a served model is not asked for."""

    gives = ""

    def columns(self, task: Task, selection: str) -> list[OutputColumn]:
        return []


class SpanOutput(OutputFormat):
    """Spans of the text, with the words and characters they cover."""

    classed = True
    needs = WORDS
    key = title = "spans"
    header: tuple[str, ...] = ("spans",)
    text_columns = 2
    gives = "spans: type, words and characters"

    def columns(self, task: Task, selection: str) -> list[OutputColumn]:
        names = {BOTH: f"{task.name} spans", DECISIONS: task.name}
        return [OutputColumn(names[selection], "string", self._as_json)] if selection in names else []

    def cells(self, prediction: TaskPrediction, row: int) -> tuple[str, ...]:
        spans = [
            f"{s['type']} {s['text']!r} {s['start']}-{s['end']}" for s in describe_spans(prediction, row)
        ]
        return (", ".join(spans) or "none",)

    def short(self, prediction: TaskPrediction, row: int) -> str:
        spans = [f"{span['text']} ({span['type']})" for span in describe_spans(prediction, row)]
        return f"{prediction.task.name}: {', '.join(spans)}" if spans else ""

    def value(self, prediction: TaskPrediction, row: int) -> Any:
        return describe_spans(prediction, row)

    def _as_json(self, prediction: TaskPrediction) -> NDArray:
        spans = (describe_spans(prediction, row) for row in range(len(prediction.outputs)))
        return np.array([json.dumps(of_row, ensure_ascii=False) for of_row in spans], dtype=object)


def describe_spans(prediction: TaskPrediction, row: int) -> list[dict[str, Any]]:
    """Return the spans of a row: `type`, `text`, `start` and `end` in characters (`end` exclusive), `words`,
    and the index of the first of them among the row's words."""
    words = prediction.words[row]
    spans = []
    for span in prediction.outputs[row]:
        start, end = words.places[span.start][0], words.places[span.end - 1][1]
        content = {"type": span.type, "text": words.text[start:end], "start": start, "end": end}
        span_words = list(words)[span.start : span.end]
        spans.append({**content, "words": span_words, "first_word": span.start})
    return spans


def _values(prediction: TaskPrediction) -> NDArray[np.float64]:
    return prediction.values


def _of_class(prediction: TaskPrediction, number: int) -> NDArray[np.float64]:
    return prediction.values[:, number]


def _classes(prediction: TaskPrediction) -> NDArray:
    return np.array([prediction.task.classes[n] for n in prediction.outputs.argmax(1)], dtype=object)


ANSWERS: dict[str, OutputFormat] = {
    "binary": BinaryOutput(),
    "multiclass": ClassOutput(),
    "regression": NumberOutput(),
    "tagging": SpanOutput(),
    "mlm": NoOutput(),
}
