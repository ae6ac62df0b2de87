"""Which documents repeat another: exactly, or but for case, blanks and punctuation."""

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

# Signs stay where they are part of a number: 1.5, 1,000, 3/4, 12:30, 10-20, -5, -.05. All others go.
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
    """What each character becomes, found when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = found = _plain(chr(code))
        return found


def _plain(sign: str) -> str:
    """One character by its general category in Unicode."""
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
    """A text without case, blanks and punctuation: its words, numbers and symbols, a blank between.

    A text with nothing else in it (`...`) is given back as it is, so that those are not all the same.
    """
    signs = unicodedata.normalize("NFC", text).translate(_SIGNS)
    return " ".join(_OUTSIDE_NUMBERS.sub(" ", signs).split()) or text


@dataclass(frozen=True)
class Repeats:
    """Numbers that are equal where texts, or documents, are.

    Args:
        exact: of N documents [N] or their texts [N, 2].
        near: the same, whatever their case, blanks and punctuation.
    """

    exact: Numbers
    near: Numbers

    @property
    def documents(self) -> Repeats:
        """Of documents: those are equal of which both texts are."""
        return Repeats(_of_documents(self.exact), _of_documents(self.near))


def repeats_of(corpora: Sequence[Corpus]) -> Repeats:
    """Numbers of the texts of several corpora [N, 2], of which a single text stands twice.

    Time and memory grow with the texts; of each different one a digest is held while they are counted.
    """
    first: dict[Hashable, int] = {}
    firsts = (text for corpus in corpora for text in corpus.texts)
    seconds = (text for corpus in corpora for text in corpus.seconds or corpus.texts)
    exact = numbered(chain(firsts, seconds), first).reshape(2, -1).T
    return Repeats(exact, numbered(_digest(str(text)) for text in first)[exact])


def numbered(values: Iterable[Hashable], first: dict[Hashable, int] | None = None) -> Numbers:
    """For each of N values the place among the different ones, in the order in which they come.

    Args:
        values: N of them.
        first: is filled with the different ones and their places.
    """
    first = {} if first is None else first
    return np.fromiter((first.setdefault(value, len(first)) for value in values), np.int64)


def near_of(count: int) -> str:
    """What a note says behind a number of repeats, of which so many are not exact."""
    return f" ({count} but for case, blanks or punctuation)" if count else ""


def _digest(text: str) -> bytes:
    return hashlib.blake2b(plain(text).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _of_documents(texts: Numbers) -> Numbers:
    return numbered((texts[:, 0] * (texts.max() + 1) + texts[:, 1]).tolist())
