"""Columns of an unknown table that are texts: how long they are, and which is the text of the documents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from mtlv.data.tables.cells import is_missing
from mtlv.data.tables.rows import Table
from mtlv.errors import DataError

WORDS = 3  # mean number of words from which a column can be the text
NEARLY = 0.8  # of the longest mean from which texts are as long, as those of a pair
# A word, or a letter in scripts without spaces: Thai, Lao, Tibetan, Burmese, Japanese, Chinese.
WORD = re.compile(r"[\u0e00-\u109f\u3040-\u30ff\u3400-\u9fff]|\w+")
ENGLISH = {
    "the", "of", "and", "to", "in", "is", "a", "for", "with", "no",
    "on", "are", "was", "that", "by", "this", "be", "as", "from", "not",
}  # fmt: skip
SHARE = 0.03  # of the words of English texts that are among these, and more


def size_of(texts: Sequence[object]) -> tuple[tuple[float, float, float], bool]:
    """Return the number of words of a text (median, 95th percentile, mean), and whether they look English."""
    split = [WORD.findall(str(cell).lower()) for cell in texts if not is_missing(cell)]
    words = [len(each) for each in split] or [0]
    common = sum(word in ENGLISH for each in split for word in each)
    size = (float(np.median(words)), float(np.percentile(words, 95)), fmean(words))
    return size, common >= SHARE * sum(words)


def lengths_of(cells: Mapping[str, Sequence[object]]) -> dict[str, float]:
    """Return the mean number of words of each column that has any."""
    return {
        name: fmean(len(WORD.findall(cell)) for cell in column if isinstance(cell, str))
        for name, column in cells.items()
        if any(isinstance(cell, str) for cell in column)
    }


def text_column(table: Table, lengths: Mapping[str, float], *, tags: Mapping[str, str]) -> str:
    """Return the first column with nearly the longest texts; without texts, that of the words of tags.

    Raises:
        DataError: there is neither.
    """
    most = max(lengths.values(), default=0)
    if most < WORDS:
        if words := next(filter(None, tags.values()), ""):
            return words
        raise DataError(
            f"no column of `{table.path.name}` looks like texts",
            allowed=f"a column with {WORDS} words or more on average",
            then="name it with `--text`; docs/data.md has words and pairs of texts",
        )
    return next(name for name, length in lengths.items() if length >= max(WORDS, NEARLY * most))
