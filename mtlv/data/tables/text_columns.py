"""Columns of an unknown table that are texts: how long they are, and which are the text of the documents."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean

import numpy as np

from mtlv.data.tables.cells import is_missing
from mtlv.data.tables.places import words_of_name
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
ANSWERS = {
    "answer", "answers", "explanation", "rationale", "reason", "reasoning", "justification", "conclusion",
    "decision", "parse", "comments",
}  # fmt: skip
"""Words of names of columns that contain the answer, or are made from the text."""
PARSED = 0.3  # brackets for each word, from which a text is a tree
PAIRS = (
    ("premise", "hypothesis"), ("question", "context"), ("question", "passage"), ("question", "sentence"),
    ("query", "document"), ("query", "passage"), ("query", "title"), ("claim", "evidence"),
    ("headline", "body"),
)  # fmt: skip
NO_TEXT = (
    "name it with `--text`; lists of words are read with a column of as many tags in each row; a table with "
    "one word in each row becomes a file of words and tags with a blank line after each sentence "
    "(docs/data.md, `kind: tagging` and `data.name: conll`)"
)
PAIR_ENDS = (("1", "2"), ("a", "b"))  # of names such as `sentence1` and `sentence2`


def size_of(texts: Sequence[object]) -> tuple[tuple[float, float, float], bool]:
    """Return the number of words of a text (median, 95th percentile, mean), and whether they look English."""
    split = [WORD.findall(str(cell).lower()) for cell in texts if not is_missing(cell)]
    words = [len(text) for text in split] or [0]
    common = sum(word in ENGLISH for text in split for word in text)
    size = (float(np.median(words)), float(np.percentile(words, 95)), fmean(words))
    return size, common >= SHARE * sum(words)


def lengths_of(cells: Mapping[str, Sequence[object]]) -> dict[str, float]:
    """Return the mean number of words of each column that has any; ids, dates and addresses are one word."""
    return {
        name: fmean(_length(cell) for cell in column if isinstance(cell, str))
        for name, column in cells.items()
        if any(isinstance(cell, str) for cell in column)
    }


def _length(cell: str) -> int:
    if cell.isascii() and len(cell.split()) < 2:
        return 1
    return sum(not word.isdecimal() for word in WORD.findall(cell))


def is_derived(name: str, column: Iterable[object]) -> bool:
    """Whether a column has answers or explanations, or trees of a parser, and no texts of documents."""
    return bool(ANSWERS & words_of_name(name)) or is_tree(column)


def is_tree(column: Iterable[object]) -> bool:
    """Whether texts are trees of a parser: `(S (NP (NN pain)))`."""
    texts = [cell for cell in column if isinstance(cell, str)]
    brackets = sum(cell.count("(") for cell in texts)
    words = sum(len(WORD.findall(cell)) for cell in texts)
    return brackets > PARSED * words and all(cell.lstrip()[:1] in ("(", "") for cell in texts)


def text_column(
    table: Table, lengths: Mapping[str, float], *, tags: Mapping[str, str], derived: Collection[str] = ()
) -> str:
    """Return the first column with nearly the longest texts; without texts, that of the words of tags.

    Columns that are derived from the text or the answer are only taken if there is no other.

    Raises:
        DataError: there is neither.
    """
    lengths = {name: length for name, length in lengths.items() if name}
    lengths = {x: n for x, n in lengths.items() if x not in derived and n >= WORDS} or lengths
    most = max(lengths.values(), default=0)
    if most < WORDS:
        if words := next(filter(None, tags.values()), ""):
            return words
        raise DataError(
            f"no column of `{table.path.name}` looks like texts",
            allowed=f"a column with {WORDS} words or more on average",
            then=NO_TEXT,
        )
    return next(name for name, length in lengths.items() if length >= max(WORDS, NEARLY * most))


def pair_of(text: str, cells: Mapping[str, Sequence[object]]) -> tuple[str, str] | None:
    """Return the columns of a pair of texts, of which one is `text`, by their names; None if it is single.

    Example: `sentence1` and `sentence2`, `premise` and `hypothesis`, `question` and `context`.
    """
    names = {name.lower(): name for name in cells}
    pairs = [(names.get(one, ""), names.get(two, "")) for one, two in PAIRS]
    for one, two in PAIR_ENDS:
        low = text.lower()
        pairs += [(text, names.get(low[:-1] + two, ""))] * low.endswith(one)
        pairs += [(names.get(low[:-1] + one, ""), text)] * low.endswith(two)
    return next((pair for pair in pairs if text in pair and all(pair) and _is_pair(pair, cells)), None)


def _is_pair(pair: tuple[str, str], cells: Mapping[str, Sequence[object]]) -> bool:
    """Whether every row has both texts or neither, and the second ones are no single words."""
    first, second = (cells[name] for name in pair)
    is_complete = all(is_missing(one) == is_missing(two) for one, two in zip(first, second, strict=True))
    are_texts = all(
        is_missing(cell) or isinstance(cell, str) for column in (first, second) for cell in column
    )
    return (
        is_complete
        and are_texts
        and lengths_of({"": first}).get("", 0) > 1
        and lengths_of({"": second}).get("", 0) > 1
    )
