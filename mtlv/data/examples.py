"""Corpora of one task with one answer per text, pair of texts or marked pair of entities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtlv.data.options import DataOptions
from mtlv.data.parts import absent, part_files, text_of
from mtlv.data.source import Card, Corpus, groups_of
from mtlv.errors import DataError
from mtlv.plan.spans import Span
from mtlv.plan.task import Task


@dataclass(frozen=True, slots=True)
class Example:
    """One document.

    Args:
        id: unique in its corpus.
        text: the document.
        answer: answer as in the file.
        place: file and line for messages.
        part: `train`, `validation` or `test`; empty without a split.
        second: second text of a pair.
        mentions: marked entities in characters of `text`, in the order of their roles.
        group: group of the document; empty if unknown.
    """

    id: str
    text: str
    answer: str
    place: str
    part: str = ""
    second: str | None = None
    mentions: tuple[Span, ...] | None = None
    group: str = ""


def answers_corpus(card: Card, examples: Sequence[Example], *notes: str) -> Corpus:
    """Build the corpus of the card's only task, of N examples, all with or all without a second text and
    mentions.

    Raises:
        DataError: an answer that is invalid for the task, or an invalid `Corpus`.
    """
    task = card.other_tasks[0]
    divided = any(example.part for example in examples)
    paired = any(example.second is not None for example in examples)
    marked = any(example.mentions is not None for example in examples)
    return Corpus(
        name=card.name,
        tasks=(task,),
        ids=tuple(example.id for example in examples),
        texts=tuple(example.text for example in examples),
        targets={task.name: ANSWERS[task.kind](examples, task)},
        parts=tuple(example.part for example in examples) if divided else None,
        seconds=tuple(example.second or "" for example in examples) if paired else None,
        mentions=tuple(example.mentions or () for example in examples) if marked else None,
        groups=groups_of((example.group for example in examples), [example.id for example in examples]),
        notes=tuple(note for note in notes if note),
    )


def by_parts(
    card: Card,
    suffixes: Sequence[str],
    read: Callable[[Path, str], Iterable[Example]],
    then: str = "",
) -> Callable[[Path, DataOptions], Corpus]:
    """Return the `load` of a data set with one task and a file for each part.

    `then` is the next step if there is no file; empty for `card.by_hand`.
    """

    def load(path: Path, options: DataOptions) -> Corpus:  # noqa: ARG001
        files = part_files(path, suffixes, then or card.by_hand)
        examples = [example for part, file in files.items() for example in read(file, part)]
        return answers_corpus(card, examples, absent(files))

    return load


def _class_answers(examples: Sequence[Example], task: Task) -> NDArray[np.int64]:
    """Return indices into the task's classes [N]."""
    known = {name: number for number, name in enumerate(task.classes)}
    _need([e for e in examples if e.answer not in known], "has an unknown class", ", ".join(known))
    return np.array([known[example.answer] for example in examples], dtype=np.int64)


def _flag_answers(examples: Sequence[Example], task: Task) -> NDArray[np.int8]:  # noqa: ARG001
    """Return 0 or 1 [N]."""
    _need([e for e in examples if e.answer not in ("0", "1")], "has an unknown label", "0, 1")
    return np.array([int(example.answer) for example in examples], dtype=np.int8)


def _number_answers(examples: Sequence[Example], task: Task) -> NDArray[np.float32]:  # noqa: ARG001
    """Return numbers [N]."""
    wrong, numbers = [], []
    for example in examples:
        try:
            numbers.append(float(example.answer))
        except ValueError:
            numbers.append(math.nan)
        wrong += [] if math.isfinite(numbers[-1]) else [example]
    _need(wrong, "has no score", "a number")
    return np.array(numbers, dtype=np.float32)


ANSWERS: dict[str, Callable[[Sequence[Example], Task], NDArray]] = {
    "binary": _flag_answers,
    "multiclass": _class_answers,
    "regression": _number_answers,
}
"""Functions that return the targets [N] of N examples, by the kind of their task."""


def _need(wrong: Sequence[Example], fault: str, allowed: str) -> None:
    if wrong:
        others = f"{len(wrong) - 1} more are wrong, such as `{wrong[1].place}`" if len(wrong) > 1 else ""
        raise DataError(f"`{wrong[0].place}` {fault}", got=wrong[0].answer, allowed=allowed, then=others)


def tab_rows(path: Path, width: int) -> Iterator[tuple[str, list[str]]]:
    """Yield (`file:line`, `width` cells) of each line that is not blank; quotes are ordinary characters.

    Raises:
        DataError: a line with a wrong number of cells.
    """
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        if not line.strip():
            continue
        cells = line.rstrip("\r").split("\t")
        if len(cells) != width:
            raise DataError(
                f"`{path.name}:{number}` has a wrong number of columns",
                got=len(cells),
                allowed=f"{width}, separated by tabs",
            )
        yield f"{path.name}:{number}", cells
