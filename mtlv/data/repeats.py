"""Detection of repeated documents: exact ones, and those that differ only in case, spaces or punctuation."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mtlv.data.source import Corpus

Numbers = NDArray[np.int64]
Digests = NDArray[np.uint64]

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
        self[code] = sign = _plain(chr(code))
        return sign


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
    """Ids that are equal for equal texts or documents."""

    exact: Numbers  # ids of N documents [N] or their texts [N, 2]
    near: Numbers  # the same, ignoring case, spaces and punctuation

    @property
    def documents(self) -> Repeats:
        """Return ids of documents, which are equal if both texts are equal."""
        return Repeats(_of_documents(self.exact), _of_documents(self.near))


def repeats_of(corpora: Sequence[Corpus]) -> Repeats:
    """Return ids of the texts of several corpora [N, 2]; single texts are in both columns.

    Texts are compared by digests of 8 bytes; among ten million different texts, the chance that two have the
    same is 3 in a million. Time is linear in the texts, memory in their number.
    """
    exact, near = ([getattr(corpus, name) for corpus in corpora] for name in ("digests", "near_digests"))
    return Repeats(_of_texts(exact), _of_texts(near))


def _of_texts(digests: Sequence[tuple[Digests, Digests]]) -> Numbers:
    """Return ids of texts [N, 2], from the digests of first and second texts of each corpus."""
    firsts, seconds = (np.concatenate(column) for column in zip(*digests, strict=True))
    if all(second is first for first, second in digests):
        return np.broadcast_to(_first_equal(firsts)[:, None], (len(firsts), 2))
    return _first_equal(np.concatenate([firsts, seconds])).reshape(2, -1).T


def digests_of(texts: Iterable[str], count: int, change: Callable[[str], str] = str) -> Digests:
    """Return digests of N texts, or of what `change` returns for them."""
    data = (hashlib.blake2b(change(x).encode("utf-8", "surrogatepass"), digest_size=8) for x in texts)
    return np.fromiter((int.from_bytes(hasher.digest(), "little") for hasher in data), np.uint64, count)


def number_values(values: Iterable[Hashable]) -> Numbers:
    """Return for each of N values its index among the different ones, in order of first occurrence."""
    first: dict[Hashable, int] = {}
    return np.fromiter((first.setdefault(value, len(first)) for value in values), np.int64)


def first_rows(values: NDArray) -> tuple[Numbers, Numbers]:
    """Return the first row of each distinct number, and the index of each of N numbers in these rows.

    As `np.unique` with `return_index` and `return_inverse`.
    """
    _, first, which = np.unique(values, return_index=True, return_inverse=True)
    return first, which


def _first_equal(values: NDArray) -> Numbers:
    """Return what `number_values` does, without an object for each value."""
    first, which = first_rows(values)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[which]


def near_of(count: int) -> str:
    """Return the addition to a note on repeats, with the number that are not exact."""
    return f" ({count} except for case, spaces or punctuation)" if count else ""


def _of_documents(texts: Numbers) -> Numbers:
    return _first_equal(texts[:, 0] * (texts.max() + 1) + texts[:, 1])
