"""Columns of an unknown table that are no text and no label: ids, parts, groups, and notes on the rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from mtlv.data.parts import part_of
from mtlv.data.tables.cells import is_missing
from mtlv.data.tables.column_kinds import FEWEST, MOST_CLASSES, are_numbers
from mtlv.errors import shorten

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")  # in a name: of `SUBJECT_ID`, `patientId`, `note id`
WHOSE = {
    "patient", "subject", "person", "participant", "author", "user", "speaker", "client", "customer",
    "student", "patienten", "autor", "auteur", "mrn",
}  # fmt: skip
WITHIN = {
    "document", "doc", "article", "abstract", "note", "report", "study", "exam", "visit", "encounter",
    "admission", "hadm", "stay", "thread", "conversation", "dialog", "dialogue", "session", "pmid", "pmcid",
    "doi", "paper", "book", "story", "page", "group", "family", "cluster", "case", "fall", "url", "source",
}  # fmt: skip
GRADES = {"note", "case", "page"}  # these may be numbers that count or judge: `Note` is a grade in German
MADE_BY = {
    "annotator", "rater", "coder", "worker", "editor", "reviewer", "created", "updated", "modified",
    "timestamp",
}  # fmt: skip
ABOUT = {
    "date", "time", "year", "month", "day", "lang", "language", "source", "url", "file", "filename", "path",
    "session", "version", "sex", "gender", "site", "hospital", "institution", "device", "split", "fold",
    "batch",
} | WHOSE  # fmt: skip
DECISIONS = {"accept", "reject", "ignore"}  # of an annotation tool, about its own suggestion
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")
CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d]|\d{5})[\w.:/#-]+")  # has a digit, and a letter or five digits
LARGEST = 0.2  # share of the rows that the largest group may have
SHARED = 0.1  # share of the rows from which codes repeat that no name says to be of persons or documents


def words_of_name(name: str) -> set[str]:
    """Return the words of a column's name, in lower case."""
    return {word.lower() for word in WORD.findall(name)}


def is_record(name: str, column: Iterable[object]) -> bool:
    """Whether it records how the rows were made, which is never learned: annotators, decisions, dates."""
    values = {str(cell).strip().lower() for cell in column if not is_missing(cell)}
    made = name.startswith("_") or bool(MADE_BY & words_of_name(name))
    return made or values <= DECISIONS or all(map(DATE.fullmatch, values))


def places_of(cells: Mapping[str, Sequence[object]], texts: Sequence[object]) -> dict[str, object]:
    """Return the columns of ids, of parts and of groups, if there are any."""
    columns: dict[str, object] = {}
    for name, column in cells.items():
        plain = [str(cell).strip() for cell in column]
        if name in texts or any(map(is_missing, column)):
            continue
        if name.lower() in ("id", "uid", "doc_id", "document_id") and len(set(plain)) == len(plain):
            columns.setdefault("id", name)
        parts = {*map(part_of, plain)}
        if {"train", "test"} <= parts and "" not in parts:
            columns.setdefault("part", name)
    # The largest units that repeat: persons first, then documents, then other codes.
    others = (name for name in cells if name not in (*texts, *columns.values()))
    ranks = {name: rank for name in others if (rank := _rank(name, cells[name])) is not None}
    if ranks:
        columns["group"] = min(ranks, key=lambda name: ranks[name])
    return columns


def share_of_repeats(column: Sequence[object]) -> float:
    """Return the share of rows that share their value with another."""
    counts = Counter(str(cell).strip() for cell in column)
    return sum(count for count in counts.values() if count > 1) / max(1, len(column))


def _rank(name: str, column: Sequence[object]) -> tuple[int, int] | None:
    """Return how good a column is as group, the smaller the better; None if it is none."""
    values = [str(cell).strip() for cell in column]
    counts, share = Counter(values), share_of_repeats(column)
    if not name or any(map(is_missing, column)) or share == 0:
        return None
    if len(counts) < 2 * FEWEST or max(counts.values()) > LARGEST * len(values):
        return None
    if any(
        len(value.split()) > 4 or DATE.fullmatch(value) or re.fullmatch(r"\d+\.\d*", value)
        for value in counts
    ):
        return None
    words = words_of_name(name)
    if are_numbers(column) or (
        are_numbers(column, can_be_whole=True) and words & GRADES and "id" not in words
    ):
        return None
    if words & WHOSE or words & WITHIN:
        return int(not words & WHOSE), len(counts)
    is_code = all(map(CODE.fullmatch, counts)) and len(counts) > min(MOST_CLASSES, len(values) // FEWEST)
    if share < SHARED:
        return None
    return (2, len(counts)) if is_code or ("id" in words and len(counts) > MOST_CLASSES) else None


def group_note(name: str, column: Sequence[object]) -> str:
    """Return the note on a column that is read as group."""
    return (
        f"`{shorten(name)}` repeats: {share_of_repeats(column):.0%} of the rows share its value "
        "with another; rows of one value stay in one part (`group`)"
    )
