"""Predictions of a served plan, as a table for a terminal or as a file."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from mtlv.disk import write_atomically
from mtlv.errors import DataError
from mtlv.serving.frame import as_columns
from mtlv.serving.kinds import OutputFormat, TaskPrediction
from mtlv.serving.model import Prediction
from mtlv.serving.texts import InputTexts

SHOWN_TEXT = 60  # maximum characters of a text in a row


@dataclass(frozen=True)
class PredictionTable:
    """Predictions of texts by the model `origin`."""

    texts: InputTexts
    prediction: Prediction
    origin: str

    @cached_property
    def _kinds(self) -> list[OutputFormat]:
        """Return the kinds of the tasks, without duplicates."""
        return list(dict.fromkeys(prediction.kind for prediction in self.prediction.predictions))

    @property
    def _explains(self) -> bool:
        return any(prediction.attended for prediction in self.prediction.predictions)

    @property
    def header(self) -> tuple[str, ...]:
        """Column titles of `rows`."""
        (kind, *others) = self._kinds
        more = ("attention",) if self._explains else ()
        if len(self.texts) == 1:
            return ("task", *(("answer", "more") if others else kind.header), *more)
        return (self.texts.unit, "text", "answers" if others else kind.title, *more)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """For one text, a row per task, with positive yes/no tasks first; for several, a row per text with
        its predictions."""
        if len(self.texts) == 1:
            return [self._task_row(prediction) for prediction in self._order(0)]
        return [self._text_row(row) for row in range(len(self.texts))]

    @property
    def text_columns(self) -> int:
        """Number of columns of `rows` that are text, from the left."""
        alike = len(self.texts) == 1 and len(self._kinds) == 1
        return self._kinds[0].text_columns if alike else len(self.header)

    def _order(self, row: int) -> list[TaskPrediction]:
        """Return the tasks that a text answers: positive ones first, then by probability."""
        answered = [prediction for prediction in self.prediction.predictions if row not in prediction.empty]
        return sorted(answered, key=lambda prediction: prediction.kind.rank(prediction, row))

    def _task_row(self, prediction: TaskPrediction) -> tuple[str, ...]:
        cells = prediction.kind.answer if len(self._kinds) > 1 else prediction.kind.cells
        more = (prediction.attention(0),) if self._explains else ()
        return (prediction.task.name, *cells(prediction, 0), *more)

    def _text_row(self, row: int) -> tuple[str, ...]:
        answered = self._order(row)
        parts = [text for prediction in answered if (text := prediction.kind.short(prediction, row))]
        text = " ".join(str(self.texts.texts[row] or "").split())
        text = text if len(text) <= SHOWN_TEXT else f"{text[: SHOWN_TEXT - 1]}…"
        between = ", " if all(kind.thresholded for kind in self._kinds) else "; "
        nothing = "none" if answered else ""
        words = [f"{one.task.name}: {one.attention(row)}" for one in answered if one.attention(row)]
        more = ("; ".join(words),) if self._explains else ()
        return (str(self.texts.numbers[row]), text, between.join(parts) or nothing, *more)

    def record(self, row: int) -> dict[str, Any]:
        """Return the predictions of all tasks for a row, for JSON."""
        content: dict[str, Any] = {}
        for prediction in self.prediction.predictions:
            name, kind, is_empty = prediction.task.name, prediction.kind, row in prediction.empty
            is_unsure = bool(prediction.unsure[row])
            content.setdefault(kind.key, {})[name] = None if is_empty else kind.value(prediction, row)
            if kind.thresholded:
                before = content.setdefault("decided", None)
                is_yes = prediction.decided[row] and not is_unsure
                content["decided"] = before if is_empty else [*(before or ()), *([name] if is_yes else ())]
            if prediction.attention(row):
                content.setdefault("attention", {})[name] = prediction.attended[row]
            if prediction.least is not None:
                content.setdefault("abstained", []).extend([name] if is_unsure and not is_empty else ())
        return content

    def source(self, row: int) -> dict[str, Any]:
        """Return the number of a row, its id if the file has one, and its text, by column."""
        texts = self.texts
        ids = {name: cells[row] for name, cells in texts.ids.items()}
        return {texts.unit: texts.numbers[row], **ids, "text": texts.texts[row]}


def check_target(path: Path, read: Path | None = None) -> Path:
    """Return `path`, if predictions of the texts in the file `read` can be written there.

    Raises:
        DataError: an unknown suffix, a missing folder, or the file that is read.
    """
    if read is not None and path.exists() and path.samefile(read):
        raise DataError(f"`--out` {path} is the file of the texts", then="give another file")
    if path.suffix.lower() not in WRITERS:
        raise DataError(
            f"`--out` {path} is an unknown file type", allowed=f"a file ending in {', '.join(WRITERS)}"
        )
    if not path.absolute().parent.is_dir() or path.is_dir():
        raise DataError(f"`--out` {path} cannot be written", then="give a file in an existing folder")
    return path


def write_answers(answers: PredictionTable, path: Path) -> None:
    """Write every text with the predictions of each task, atomically.

    Raises:
        DataError: the file cannot be written.
    """
    text = WRITERS[path.suffix.lower()](answers)
    try:
        with write_atomically(path) as part:
            part.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise DataError(f"`--out` {path} cannot be written", got=error.strerror) from error


def _as_csv(answers: PredictionTable) -> str:
    """Return CSV with decisions as 1 and 0, as in tables of labels."""
    columns = as_columns(answers.prediction, "both")
    explained = [prediction for prediction in answers.prediction.predictions if prediction.attended]
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in range(len(answers.texts)):
        source = answers.source(row)
        if row == 0:
            titles = (f"{prediction.task.name} attention" for prediction in explained)
            writer.writerow([*source, *columns, *titles])
        values = [np.asarray(column[row]).item() for column in columns.values()]
        values = [
            None if value != value else int(value) if isinstance(value, bool) else value for value in values
        ]
        words = (prediction.attention(row) for prediction in explained)
        writer.writerow([*source.values(), *values, *words])
    return out.getvalue()


def _as_jsonl(answers: PredictionTable) -> str:
    rows = (answers.source(row) | answers.record(row) for row in range(len(answers.texts)))
    return "".join(json.dumps(content, ensure_ascii=False, default=str) + "\n" for content in rows)


WRITERS: dict[str, Callable[[PredictionTable], str]] = {".csv": _as_csv, ".jsonl": _as_jsonl}
"""Writers by file suffix."""
