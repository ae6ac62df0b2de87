"""Reading of CoNLL files: lines of columns, of which one has a word and one its tag."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mtlv.data.options import Columns
from mtlv.data.parts import title_of
from mtlv.data.tables.delimited import also
from mtlv.errors import DataError, nearest, shorten
from mtlv.plan.spans import Span
from mtlv.plan.word_tags import ALLOWED, unknown_tags

MOST_WORDS = 10_000  # maximum words of a sentence; longer ones indicate missing blank lines
MARKER = "-DOCSTART-"
UNNAMED = ("", "O", "-X-", "_")  # second columns of a marker that are no name of a document
SUFFIX_U = ".conllu"
COLUMNS_U = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
COLUMNS_2003 = ("word", "pos", "chunk", "ner")
_NUMBER = re.compile(r"-?[1-9]\d{0,3}")
_NO_WORD = re.compile(r"\d+[-.]\d+")  # id of a range of words that are listed after it, or of an empty node
_COMMENT = re.compile(r"#\s*(text|newdoc(?: id)?|global\.columns)\s*(?:=\s*(.*))?")

Line = tuple[int, list[str]]
"""Number of a line in its file, and its columns."""


@dataclass(frozen=True)
class Sentence:
    """One sentence."""

    id: str  # file name, document name if any, and number of the sentence in the file
    words: tuple[str, ...]  # W words
    spans: tuple[Span, ...] = ()  # entities in words, without overlaps; of a file, see `sentences_of`
    document: str = ""
    prose: str | None = None  # its text as written, if that is known
    tags: tuple[str, ...] = ()  # W tags of a file, if they are read


@dataclass
class ConllFile:
    """A file as lines of columns.

    Args:
        path: its path, for messages.
        lines: its lines.
        choice: the columns of words and of tags, by number, from 1 or from -1 at the end, or by name; None is
            the usual one.
        is_tagged: whether tags are read.
    """

    path: Path
    lines: Sequence[str]
    choice: Columns = field(default_factory=Columns)
    is_tagged: bool = True
    documents: int = field(default=0, init=False)

    @cached_property
    def rows(self) -> list[Line]:
        """All lines but comments; blank ones have no columns."""
        return [(number, cells) for number, cells in self._split if not self._is_comment(cells)]

    @cached_property
    def _split(self) -> list[Line]:
        return [(number, columns_of(line)) for number, line in enumerate(self.lines, start=1)]

    @cached_property
    def _plain(self) -> list[list[str]]:
        """The columns of lines that can be no comments."""
        return [cells for _, cells in self._split if cells and not cells[0].startswith(("#", MARKER))]

    @cached_property
    def width(self) -> int:
        """Usual number of columns; 0 without lines."""
        return max(Counter(map(len, self._plain)).items(), key=lambda item: item[::-1], default=(0, 0))[0]

    @cached_property
    def is_universal(self) -> bool:
        """Whether it is CoNLL-U, the format of Universal Dependencies."""
        return self.path.suffix.lower() == SUFFIX_U or (
            self.width == len(COLUMNS_U) and all(cells[0][:1].isdecimal() for cells in self._plain)
        )

    @cached_property
    def names(self) -> Sequence[str]:
        """Names of the columns; empty if they have none."""
        for line in self.lines[:1]:
            if (comment := _COMMENT.fullmatch(line.strip())) and comment[1] == "global.columns":
                return [name.rpartition(":")[2].lower() for name in (comment[2] or "").split()]
        if self.is_universal:
            return COLUMNS_U
        return COLUMNS_2003 if self.width == len(COLUMNS_2003) else ()

    @cached_property
    def word(self) -> int:
        """Index of the column of words."""
        return self._index("words", self.choice.words or ("form" if "form" in self.names else "1"))

    @cached_property
    def tag(self) -> int:
        """Index of the column of tags, negative from the end."""
        return self._index("tags", self.choice.tags or ("upos" if self.is_universal else "-1"))

    @cached_property
    def tags(self) -> list[str]:
        """Each tag of the file once."""
        return list(dict.fromkeys(_cell(cells, self.tag) for cells in self._plain if self._is_full(cells)))

    def _index(self, key: str, name: str) -> int:
        """Return the index of a column.

        Raises:
            DataError: there is no such column.
        """
        at = int(name) if _NUMBER.fullmatch(name) else 0
        if at and abs(at) <= self.width:
            return at - (at > 0)
        if name.lower() in self.names:
            return list(self.names).index(name.lower())
        names = f", or {', '.join(self.names)}" if self.names else ""
        raise DataError(
            f"`{self.path.name}` has no column `{shorten(name)}` (`data.columns.{key}`)",
            allowed=f"1 to {self.width}, or -1 (the last) to -{self.width}{names}",
            then=nearest(name, self.names),
        )

    def _is_comment(self, cells: Sequence[str]) -> bool:
        """Whether a line that begins with `#` is not a word `#` with a tag that other words have."""
        if not cells or not cells[0].startswith("#"):
            return False
        is_like_others = len(cells) == self.width and " " not in cells[0]
        return not is_like_others or (self.is_tagged and _cell(cells, self.tag) not in self.tags)

    # ---- Sentences ---------------------------------------------------------------------------------------

    def sentences(self) -> list[Sentence]:
        """Return all sentences.

        Raises:
            DataError: lines without a word and its tag, unknown tags, with their numbers; a sentence that is
                too long, none at all, or no such column.
        """
        if self.width and (faults := list(self._faults())):
            raise DataError.all_of(faults)
        sentences = list(self._sentences()) if self.width else []
        if not sentences:
            raise DataError(f"`{self.path.name}` has no sentences", then="check `data.path`")
        if self.documents <= 1:  # a marker at the top of a file names no document
            sentences = [
                self._sentence(n, s.words, s.tags, "", s.prose) for n, s in enumerate(sentences, start=1)
            ]
        return sentences

    def _faults(self) -> Iterator[DataError]:
        words = [(number, cells) for number, cells in self.rows if cells and cells[0] != MARKER]
        bare = [number for number, cells in words if not self._is_full(cells)]
        unknown = {*unknown_tags(self.tags)} if self.is_tagged else set()
        strange = [n for n, cells in words if self._is_full(cells) and unknown & {_cell(cells, self.tag)}]
        for fault, allowed, numbers in (
            ("has a line without a word and its tag", "word, tab or space, tag", bare),
            ("has an unknown tag", ALLOWED, strange),
        ):
            if numbers:
                place = f"`{self.path.name}:{numbers[0]}`"
                cells = columns_of(self.lines[numbers[0] - 1])
                got = self.lines[numbers[0] - 1] if numbers is bare else _cell(cells, self.tag)
                then = also("line", numbers[1:]).removeprefix("; ")
                yield DataError(f"{place} {fault}", got=got, allowed=allowed, then=then)

    def _is_full(self, cells: Sequence[str]) -> bool:
        if not self.is_tagged:
            return bool(_cell(cells, self.word))
        return len(cells) > 1 and bool(cells[0] and _cell(cells, self.word) and _cell(cells, self.tag))

    def _sentences(self) -> Iterator[Sentence]:
        document, prose, lines, count = "", None, list[list[str]](), 0
        for number, cells in (*self._split, (len(self.lines) + 1, [])):
            is_comment = self._is_comment(cells)
            is_end = not cells or cells[0] == MARKER
            if is_end and lines:
                count += 1
                yield self._closed(number, lines, count, document, prose)
                lines, prose = [], None
            if cells and cells[0] == MARKER:
                document = self._opened(cells[1].strip("()") if len(cells) > 1 else "")
            elif is_comment and (known := _COMMENT.fullmatch(self.lines[number - 1].strip())):
                prose = known[2] if known[1] == "text" else prose
                document = self._opened(known[2] or "") if known[1].startswith("newdoc") else document
            elif cells and not is_comment and not (self.is_universal and _NO_WORD.fullmatch(cells[0])):
                lines.append(cells)

    def _closed(
        self, line: int, lines: Sequence[Sequence[str]], number: int, document: str, prose: str | None
    ) -> Sentence:
        if len(lines) > MOST_WORDS:
            raise DataError(
                f"`{self.path.name}` has a sentence of more than {MOST_WORDS:,} words before line {line}",
                then="put a blank line after each sentence",
            )
        words = tuple(_cell(cells, self.word) for cells in lines)
        tags = tuple(_cell(cells, self.tag) for cells in lines) if self.is_tagged else ()
        return self._sentence(number, words, tags, document, prose)

    def _sentence(
        self, number: int, words: tuple[str, ...], tags: tuple[str, ...], document: str, prose: str | None
    ) -> Sentence:
        title = title_of(self.path)
        id_ = ".".join(part for part in (title, document, str(number)) if part)
        document = f"{title}.{document}" if document else ""
        return Sentence(id_, words, document=document, prose=prose, tags=tags)

    def _opened(self, name: str) -> str:
        self.documents += 1
        return f"{self.documents}" if name in UNNAMED else shorten(name)


def columns_of(line: str) -> list[str]:
    """Return the columns of a line, between tabs, or between spaces if there are none; [] of a blank line."""
    if not (line := line.rstrip(" \r")).strip("\t"):
        return []
    if "\t" not in line:
        return [cell for cell in line.split(" ") if cell]
    return [cell.strip(" ") for cell in line.rstrip("\t").split("\t")]


def _cell(cells: Sequence[str], index: int) -> str:
    """Return a cell of a line; empty if the line has fewer columns."""
    return cells[index] if -len(cells) <= index < len(cells) else ""
