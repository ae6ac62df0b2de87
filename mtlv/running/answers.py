"""What a served plan said, as a table for people or as a file."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from mtlv.errors import DataError
from mtlv.running.frame import as_columns
from mtlv.running.served import Prediction
from mtlv.running.texts import Texts

SHOWN_TEXT = 60  # characters of a text in a row


@dataclass(frozen=True)
class Answers:
    """Predictions of texts by the model `origin`."""

    texts: Texts
    found: Prediction
    origin: str

    @property
    def header(self) -> tuple[str, ...]:
        """Titles of `rows`."""
        if len(self.texts) == 1:
            return ("task", "probability", "threshold", "decided")
        return (self.texts.unit, "text", "decided")

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """One text: a row per task, the decided ones first. Several: a row per text with what was decided."""
        if len(self.texts) == 1:
            return [self._task_row(task) for task in self._order(0)]
        return [self._text_row(row) for row in range(len(self.texts))]

    def _order(self, row: int) -> list[int]:
        """Tasks of a text: decided before undecided, then the most probable first."""
        values, decided = self.found.probabilities[row], self.found.decided[row]
        return sorted(range(len(self.found.tasks)), key=lambda t: (not decided[t], -values[t]))

    def _task_row(self, task: int) -> tuple[str, ...]:
        decided = "yes" if self.found.decided[0, task] else "no"
        value, threshold = self.found.probabilities[0, task], self.found.thresholds[task]
        return (self.found.tasks[task], f"{value:.3f}", f"{threshold:.3g}", decided)

    def _text_row(self, row: int) -> tuple[str, ...]:
        said = [
            f"{self.found.tasks[task]} {self.found.probabilities[row, task]:.2f}"
            for task in self._order(row)
            if self.found.decided[row, task]
        ]
        text = " ".join(self.texts.texts[row].split())
        text = text if len(text) <= SHOWN_TEXT else f"{text[: SHOWN_TEXT - 1]}…"
        return (str(self.texts.numbers[row]), text, ", ".join(said) or "none")


def check_target(path: Path) -> Path:
    """`path` itself, if answers can be written there.

    Raises:
        DataError: another suffix, or a folder that is not there.
    """
    if path.suffix.lower() not in WRITERS:
        raise DataError(
            f"`--out` {path} is a file of an unknown kind", allowed=f"a file ending in {', '.join(WRITERS)}"
        )
    if not path.absolute().parent.is_dir() or path.is_dir():
        raise DataError(f"`--out` {path} cannot be written", then="give a file in a folder that is there")
    return path


def write_answers(answers: Answers, path: Path) -> None:
    """Write every text with each task's probability and decision, whole or not at all.

    Raises:
        DataError: the file cannot be written.
    """
    text = WRITERS[path.suffix.lower()](answers)
    made = None
    try:
        handle, made = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}-")
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(made, 0o644)
        os.replace(made, path)
    except OSError as error:
        if made is not None:
            Path(made).unlink(missing_ok=True)
        raise DataError(f"`--out` {path} cannot be written", got=error.strerror) from error


def _as_csv(answers: Answers) -> str:
    """Decisions as 1 and 0, as tables of labels have them."""
    columns = as_columns(answers.found, "both")
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([answers.texts.unit, "text", *columns])
    for row, (number, text) in enumerate(zip(answers.texts.numbers, answers.texts.texts, strict=True)):
        values = [column[row].item() for column in columns.values()]
        writer.writerow([number, text, *(int(v) if isinstance(v, bool) else v for v in values)])
    return out.getvalue()


def _as_jsonl(answers: Answers) -> str:
    lines = []
    for row, (number, text) in enumerate(zip(answers.texts.numbers, answers.texts.texts, strict=True)):
        found = answers.found
        content = {
            answers.texts.unit: number,
            "text": text,
            "probabilities": dict(zip(found.tasks, found.probabilities[row].tolist(), strict=True)),
            "decided": [task for t, task in enumerate(found.tasks) if found.decided[row, t]],
        }
        lines.append(json.dumps(content, ensure_ascii=False) + "\n")
    return "".join(lines)


WRITERS: dict[str, Callable[[Answers], str]] = {".csv": _as_csv, ".jsonl": _as_jsonl}
"""File ending -> writer."""
