"""Next sentence prediction (Devlin et al. 2019): a yes/no task over pairs that are made from documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mtlv.data.repeats import first_rows
from mtlv.data.source import Corpus, text_task
from mtlv.data.targets import TARGETS
from mtlv.data.texts.lazy import read
from mtlv.errors import DataError
from mtlv.plan.task import Task
from mtlv.seeding import seed_from

NEXT_SENTENCE = "next_sentence"
PAIRS = (NEXT_SENTENCE, "masked_pairs")
"""Settings `data.text_only` that make pairs; pieces of the second are masked, and are a task beside."""
_BETWEEN = re.compile(r"(?<=[.!?])\s+")


def pair_tasks(source: str, pairs: str) -> tuple[Task, ...]:
    """Return the tasks of a source: whether the second text of a pair continues the first; masked words."""
    task = Task(f"{source}.next", source=source, description="whether a text continues another")
    return (task,) if pairs == NEXT_SENTENCE else (task, text_task(f"{source}.text", source))


def next_sentences(corpus: Corpus, seed: int, pairs: str = NEXT_SENTENCE) -> Corpus:
    """Return a pair of each document: its first half, and with a chance of 50% its own second half.

    The others have the second half of another document. Documents (whole groups, if there are any) are drawn
    into blocks of two or three, within the corpus's own parts; the other document is of the same block, and
    blocks are the groups of the pairs, so that no text is in two parts of a split. Halves are divided between
    two sentences, as near to the middle as possible.

    Args:
        corpus: N documents; those with the text of an earlier one, or of one sentence, are left out.
        seed: seed of the draws.
        pairs: one of `PAIRS`.

    Raises:
        DataError: fewer than two documents are left.
    """
    corpus = corpus.text_only()
    exact, near = corpus.digests[0], corpus.near_digests[0]
    rows = np.sort(first_rows(near)[0]).tolist()
    texts = zip(rows, read(corpus.texts, rows), strict=True)
    halves = {row: pair for row, text in texts if (pair := _halves(text.strip())) is not None}
    rng = np.random.default_rng(seed_from(seed, NEXT_SENTENCE))
    drawn: list[tuple[int, int, int]] = []
    for number, block in enumerate(_blocks(corpus, list(halves), rng)):
        for unit, others in zip(block, (*block[1:], block[0]), strict=True):
            seconds = ((row, row if rng.random() < 0.5 else int(rng.choice(others))) for row in unit)
            drawn += [(row, second, number) for row, second in seconds]
    if not drawn:
        raise DataError(
            f"`data.text_only: {pairs}`: too few documents of `{corpus.name}` have several sentences",
            got=len(halves),
            allowed="2 or more different ones in a part",
        )
    first, second, blocks = np.array(sorted(drawn)).T
    task, *masked = pair_tasks(corpus.name, pairs)
    left = len(corpus) - len(first)
    note = f"{left} of {len(corpus)} documents left out: of one sentence, or repeated" if left else ""
    return replace(
        corpus.take(first, note=note),
        tasks=(task, *masked),
        targets={task.name: (first == second).astype(np.int8)}
        | {one.name: TARGETS[one.kind].none(len(first)) for one in masked},
        texts=tuple(halves[row][0] for row in first.tolist()),
        seconds=tuple(halves[row][1] for row in second.tolist()),
        groups=tuple(f"block {number}" for number in blocks.tolist()),
        document_digests=np.stack([exact[first], exact[second], near[first], near[second]], axis=1),
    )


def _halves(text: str) -> tuple[str, str] | None:
    middle = min(_BETWEEN.finditer(text), key=lambda gap: abs(gap.start() - len(text) / 2), default=None)
    return middle and (text[: middle.start()], text[middle.end() :])


def _blocks(corpus: Corpus, rows: list[int], rng: np.random.Generator) -> Iterator[list[list[int]]]:
    """Yield the rows of two or three documents, or groups of them, that are in the same part."""
    units: dict[str, dict[object, list[int]]] = {}
    for row in rows:
        part = corpus.parts[row] if corpus.parts else ""
        units.setdefault(part, {}).setdefault(corpus.groups[row] if corpus.groups else row, []).append(row)
    for members in (list(by_unit.values()) for by_unit in units.values() if len(by_unit) > 1):
        for block in np.array_split(rng.permutation(len(members)), len(members) // 2):
            yield [members[number] for number in block]
