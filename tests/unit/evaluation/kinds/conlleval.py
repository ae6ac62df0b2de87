"""The counts of `conlleval`, as an oracle: its rules, one by one, in Python.

Source: conlleval, the Perl script of the CoNLL shared tasks by Erik Tjong Kim Sang, version of 2004-01-26
(https://www.clips.uantwerpen.be/conll2000/chunking/output.html): `startOfChunk`, `endOfChunk` and the way
right chunks are counted while reading. Nothing of it is shared with `mtlv`.
"""

from __future__ import annotations

from typing import NamedTuple

ENDS = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"}
STARTS = {"BB", "IB", "OB", "OI", "EE", "EI", "OE"}
BREAK = ("O", "")  # what the script reads between sentences


class Found(NamedTuple):
    right: int
    guessed: int
    gold: int

    @property
    def f1(self) -> float:
        precision = self.right / self.guessed if self.guessed else 0.0
        recall = self.right / self.gold if self.gold else 0.0
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def parse(tag: str) -> tuple[str, str]:
    letter, hyphen, type_ = tag.partition("-")
    return (letter, type_) if hyphen else (tag, "")


def end_of_chunk(before: tuple[str, str], now: tuple[str, str]) -> bool:
    changes = before[0] not in ("O", ".") and before[1] != now[1]
    return before[0] + now[0] in ENDS or changes or before[0] in ("[", "]")


def start_of_chunk(before: tuple[str, str], now: tuple[str, str]) -> bool:
    changes = now[0] not in ("O", ".") and before[1] != now[1]
    return before[0] + now[0] in STARTS or changes or now[0] in ("[", "]")


def conlleval(gold: list[list[str]], guessed: list[list[str]]) -> Found:
    """Chunks right, guessed and in the gold standard, of tags per sentence."""
    pairs = []
    for true_tags, tags in zip(gold, guessed, strict=True):
        pairs += [(parse(a), parse(b)) for a, b in zip(true_tags, tags, strict=True)]
        pairs.append((BREAK, BREAK))
    right = found = there = 0
    in_correct = False
    last_true = last = BREAK
    for true, tag in pairs:
        ends, guess_ends = end_of_chunk(last_true, true), end_of_chunk(last, tag)
        if in_correct and ends and guess_ends and last[1] == last_true[1]:
            in_correct = False
            right += 1
        elif in_correct and (ends != guess_ends or tag[1] != true[1]):
            in_correct = False
        starts, guess_starts = start_of_chunk(last_true, true), start_of_chunk(last, tag)
        in_correct = in_correct or (starts and guess_starts and tag[1] == true[1])
        there += starts
        found += guess_starts
        last_true, last = true, tag
    return Found(right + in_correct, found, there)
