"""Detection of repeated documents: exact ones, and those that differ only in case, spaces or punctuation."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from mtlv.data.source import Corpus

Numbers = NDArray[np.int64]

# Punctuation is kept in numbers: 1.5, 1,000, 3/4, 12:30, 10-20, -5, -.05. All other is removed.
_OUTSIDE_NUMBERS = re.compile(
    r"""[-.,:/](?:            # first a sign: the search is several times as quick so
        (?<=-)(?!\.?\d)       # no number behind it
      | (?<=[.,:/])(?!\d)
      | (?<=[^ \d-].)         # a letter or symbol before it
      | (?<=[,:/])(?<!\d.)    # begins no number
    )""",
    re.VERBOSE,
)


class _Signs(dict[int, str]):
    """Replacements of characters, computed on first use."""

    def __missing__(self, code: int) -> str:
        self[code] = found = _plain(chr(code))
        return found


def _plain(sign: str) -> str:
    """Return the replacement of a character, by its Unicode category."""
    alike = unicodedata.normalize("NFKC", sign)
    if unicodedata.category(sign) == "No":  # 10² is not 102
        return sign
    if len(alike) > 1:
        return alike.casefold()
    category = unicodedata.category(alike)
    if category == "Cf":  # soft hyphens, joiners
        return ""
    if category == "Pd" or alike == "\N{MINUS SIGN}":
        return "-"
    if alike in ".,:/":
        return alike
    if alike == "%" or category in ("Sm", "Sc", "So"):  # CD4+, p < 0.05, 5 %
        return f" {alike} "
    blank = category[0] in "ZP" or category in ("Cc", "Sk")
    return " " if blank else alike.casefold()


_SIGNS = _Signs()


def plain(text: str) -> str:
    """Return a text without case, spaces and punctuation: words, numbers and symbols, separated by spaces.

    A text without any of these (`...`) is returned unchanged, so that these texts are not all equal.
    """
    signs = unicodedata.normalize("NFC", text).translate(_SIGNS)
    return " ".join(_OUTSIDE_NUMBERS.sub(" ", signs).split()) or text


@dataclass(frozen=True)
class Repeats:
    """Ids that are equal for equal texts or documents.

    Args:
        exact: ids of N documents [N] or their texts [N, 2].
        near: the same, ignoring case, spaces and punctuation.
    """

    exact: Numbers
    near: Numbers

    @property
    def documents(self) -> Repeats:
        """Return ids of documents, which are equal if both texts are equal."""
        return Repeats(_of_documents(self.exact), _of_documents(self.near))


def repeats_of(corpora: Sequence[Corpus]) -> Repeats:
    """Return ids of the texts of several corpora [N, 2]; single texts are in both columns.

    Time and memory are linear in the texts; a digest of each different text is kept meanwhile.
    """
    first: dict[Hashable, int] = {}
    firsts = (text for corpus in corpora for text in corpus.texts)
    seconds = (text for corpus in corpora for text in corpus.seconds or corpus.texts)
    exact = numbered(chain(firsts, seconds), first).reshape(2, -1).T
    return Repeats(exact, numbered(_digest(str(text)) for text in first)[exact])


def numbered(values: Iterable[Hashable], first: dict[Hashable, int] | None = None) -> Numbers:
    """Return for each of N values its index among the different ones, in order of first occurrence.

    Args:
        values: N values.
        first: filled with the different values and their indices.
    """
    first = {} if first is None else first
    return np.fromiter((first.setdefault(value, len(first)) for value in values), np.int64)


def near_of(count: int) -> str:
    """Return the addition to a note on repeats, with the number that are not exact."""
    return f" ({count} except for case, spaces or punctuation)" if count else ""


def _digest(text: str) -> bytes:
    return hashlib.blake2b(plain(text).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _of_documents(texts: Numbers) -> Numbers:
    return numbered((texts[:, 0] * (texts.max() + 1) + texts[:, 1]).tolist())
