"""Splitting of texts into words, and positions of words in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

RUNS, WHITESPACE = "runs", "whitespace"
MOST_COMPARED = 2000  # documents by which a rule is chosen, evenly spread

_CLITIC = r"(?:n['’]t|['’](?:s|re|ve|ll|d|m))\b"
_LOWER = r"[^\W_A-ZÀ-ÖØ-ÞΑ-ΩА-Я]"  # a digit, or a letter that is not a capital
_MARKS = r".,;:!?()\[\]{}\"'“”„‘’«»"

RULES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        RUNS: r"\w+|[^\w\s]",
        "numbers": r"\d+(?:[.,]\d+)+|\w+|[^\w\s]",
        "inner": r"\w+(?:[-.,'’]\w+)*|[^\w\s]",
        "edges": r"\w(?:\S*\w)?|[^\w\s]",
        "abbreviations": rf"(?:\w\.){{2,}}|\w(?:\S*\w)?(?:\.(?=\s+{_LOWER}))?|[^\w\s]",
        "treebank": rf"{_CLITIC}|\w(?:(?:(?!{_CLITIC})[^\s()\[\]{{}}])*\w)??(?={_CLITIC})"
        r"|\w(?:[^\s()\[\]{}]*\w)?(?:\.(?=\s+\S*\w))?|\.{2,}|-{2,}|[^\w\s]",
        "marks": rf"[^\s{_MARKS}](?:\S*[^\s{_MARKS}])?|\S",
        "characters": r"\S",
        WHITESPACE: r"\S+",
    }.items()
}
"""Patterns of a word, by the name that a model keeps:

- `runs`: letters, digits and underscores; every other character is a word (`IL`, `-`, `2`)
- `numbers`: the same, with `0.5` and `1,000` as one word
- `inner`: single hyphens, dots, commas and apostrophes within a word stay (`IL-2`, but `mg`, `/`, `kg`)
- `edges`: only what is before the first and after the last letter or digit is split off (`mg/kg`, `no`, `.`)
- `abbreviations`: the same, but a dot stays before a small letter or a digit (`no.` 5)
- `treebank`: the same, but every dot stays that does not end the text, and `n't` and `'s` are words
- `marks`: only punctuation is split off, no symbols (`CD4+`, `5%`)
- `characters`: each character, as in Chinese corpora
- `whitespace`: nothing is split off
"""


@dataclass(frozen=True)
class Words:
    """W words of a text."""

    text: str  # text that contains the words
    places: tuple[tuple[int, int], ...]  # first character of each word and the one after its last

    def __iter__(self) -> Iterator[str]:
        return (self.text[start:end] for start, end in self.places)

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class Agreement:
    """The rule that agrees best with given words."""

    rule: str  # a key of `RULES`
    share: float  # of documents that it splits exactly so


def split_words(text: str, start: int = 0, end: int | None = None, *, rule: str = RUNS) -> Words:
    """Split a text by one of `RULES`; corpora with their own word boundaries keep them.

    Example:
        >>> list(split_words("IL-2, no. 5", rule="abbreviations"))
        ['IL-2', ',', 'no.', '5']
    """
    matches = RULES[rule].finditer(text, start, len(text) if end is None else end)
    return Words(text, tuple(match.span() for match in matches))


def place_words(words: Sequence[str], text: str) -> Words | None:
    """Find words in order in `text`; None if one of them is missing."""
    places, at = [], 0
    for word in words:
        start = text.find(word, at)
        if start < 0:
            return None
        at = start + len(word)
        places.append((start, at))
    return Words(text, tuple(places))


def best_rule(documents: Iterable[tuple[Sequence[str], str | None]]) -> Agreement:
    """Return the rule that reproduces most words of N documents; of equal ones, the first of `RULES`.

    Args:
        documents: words of each, and the text they are from; without one they are joined by `prose_of`.
    """
    rows = [_place_words(words, text) for words, text in documents]
    rows = rows[:: -(-len(rows) // MOST_COMPARED) or 1]
    scores = {rule: _compare(rows, rule) for rule in RULES}
    rule = max(scores, key=scores.__getitem__)
    return Agreement(rule, scores[rule][1])


def _place_words(words: Sequence[str], text: str | None) -> Words:
    prose = prose_of(words)
    in_text = None if text is None else place_words(words, text)
    return in_text or place_words(words, prose) or Words(prose, ())


def _compare(rows: Sequence[Words], rule: str) -> tuple[float, float]:
    """Return the F1 of the words of a rule, and the share of documents in which all are right."""
    right = total = exact = 0
    for words in rows:
        split = split_words(words.text, rule=rule).places
        right += 2 * len({*split} & {*words.places})
        total += len(split) + len(words)
        exact += split == words.places
    return right / max(total, 1), exact / max(len(rows), 1)


# ---- Prose -----------------------------------------------------------------------------------------------

_CLOSING = re.compile(rf"[.,;:!?)\]}}%’”»。，、；：！？]+|{_CLITIC}")
_OPENING = re.compile(r"[(\[{“‘«„$]+")
_BETWEEN = re.compile(r"[-–/]")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef\u3000-\u303f\u0e00-\u0e7f]")
"""Characters of Chinese, Japanese and Thai, which have no spaces between words."""


def prose_of(words: Sequence[str]) -> str:
    """Join words as they are written: punctuation follows its word without a space.

    Example:
        >>> prose_of(["IL", "-", "2", "(", "no.", "5", ")", "."])
        'IL-2 (no. 5).'
    """
    text, is_quoted = [*words[:1]], words[:1] == ['"']
    for before, word in pairwise(words):
        is_quote = word == '"'
        is_joined = (
            (is_quoted if is_quote else bool(_CLOSING.fullmatch(word)))
            or bool(_OPENING.fullmatch(before) or (before == '"' and is_quoted))
            or bool(_BETWEEN.fullmatch(before) or _BETWEEN.fullmatch(word))
            or bool(_UNSPACED.match(before[-1:]) and _UNSPACED.match(word))
        )
        is_quoted ^= is_quote
        text.append(word if is_joined else f" {word}")
    return "".join(text)
