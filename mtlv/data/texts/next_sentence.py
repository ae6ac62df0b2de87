"""Next sentence prediction (Devlin et al. 2019): a yes/no task over pairs that are made from documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mtlv.data.repeats import first_rows
from mtlv.data.source import Corpus
from mtlv.data.texts.lazy import read
from mtlv.errors import DataError
from mtlv.plan.task import Task
from mtlv.seeding import seed_from

NEXT_SENTENCE = "next_sentence"
_BETWEEN = re.compile(r"(?<=[.!?])\s+")


def next_task(source: str) -> Task:
    """Return the task of a source: whether the second text of a pair continues the first."""
    return Task(f"{source}.next", source=source, description="whether a text continues another")


def next_sentences(corpus: Corpus, seed: int) -> Corpus:
    """Return a pair of each document: its first half, and with a chance of 50% its own second half.

    The others have the second half of another document. Documents (whole groups, if there are any) are drawn
    into blocks of two or three, within the corpus's own parts; the other document is of the same block, and
    blocks are the groups of the pairs, so that no text is in two parts of a split. Halves are divided between
    two sentences, as near to the middle as possible.

    Args:
        corpus: N documents; those with the text of an earlier one, or of one sentence, are left out.
        seed: seed of the draws.

    Raises:
        DataError: fewer than two documents are left.
    """
    corpus = corpus.text_only()
    exact, near = corpus.digests[0], corpus.near_digests[0]
    rows = np.sort(first_rows(near)[0]).tolist()
    texts = zip(rows, read(corpus.texts, rows), strict=True)
    halves = {row: pair for row, text in texts if (pair := _halves(text.strip())) is not None}
    rng = np.random.default_rng(seed_from(seed, NEXT_SENTENCE))
    pairs: list[tuple[int, int, int]] = []
    for number, block in enumerate(_blocks(corpus, list(halves), rng)):
        for unit, others in zip(block, (*block[1:], block[0]), strict=True):
            seconds = ((row, row if rng.random() < 0.5 else int(rng.choice(others))) for row in unit)
            pairs += [(row, second, number) for row, second in seconds]
    if not pairs:
        raise DataError(
            f"`data.text_only: {NEXT_SENTENCE}`: too few documents of `{corpus.name}` have several sentences",
            got=len(halves),
            allowed="2 or more different ones in a part",
        )
    first, second, blocks = np.array(sorted(pairs)).T
    task = next_task(corpus.name)
    left = len(corpus) - len(first)
    note = f"{left} of {len(corpus)} documents left out: of one sentence, or repeated" if left else ""
    return replace(
        corpus.take(first, note=note),
        tasks=(task,),
        targets={task.name: (first == second).astype(np.int8)},
        texts=tuple(halves[row][0] for row in first.tolist()),
        seconds=tuple(halves[row][1] for row in second.tolist()),
        groups=tuple(f"block {number}" for number in blocks.tolist()),
        whole_digests=np.stack([exact[first], exact[second], near[first], near[second]], axis=1),
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
