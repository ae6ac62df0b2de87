"""Columns of an unknown table that mark parts of its texts: tags of words, and entities in characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from statistics import fmean

from mtlv.data.tables.cells import is_missing, look_like_words, mentions_of, tags_of
from mtlv.data.tables.column_kinds import FEWEST, MOST_CLASSES
from mtlv.data.tables.labels import are_whole
from mtlv.data.tables.text_columns import WORDS
from mtlv.plan.tagging import OUTSIDE
from mtlv.plan.word_tags import IGNORED, TAG

MOSTLY = 0.9  # share of the rows with a tag for each word, from which the others look like mistakes
ALONE = "has a tag for each word, which is learned alone: name only this column with `--labels`"
NO_WORDS = (
    "has tags such as `B-Drug`, but no column has a word for each tag; write words and tags as "
    'lists in JSON, such as ["O", "B-Drug"] (docs/data.md, `kind: tagging`)'
)
NO_PIECES = (
    f"has {IGNORED}, as pieces of words have that are not learned; write the words and tags from before the "
    "words were cut into pieces"
)
SPANS = (
    "has entities in characters; to find them, set `data.name: standoff` (or write a tag for each word, "
    "`kind: tagging`); to learn something about them, name it as `mentions`, and a class or number as "
    "`target` (docs/data.md)"
)


def tag_columns(cells: Mapping[str, Sequence[object]]) -> dict[str, str]:
    """Return the columns of tags (`B-Drug`, `NOUN`, numbers), each with the column of their words, or ""."""
    lists = {name: tags for name, column in cells.items() if (tags := _tags(column))}
    sizes = {name: _size(column) for name, column in cells.items()} if lists else {}
    coded = {name for name, tags in lists.items() if _are_numbers(tags) or _are_letters(tags)}
    words_of_tags = {}
    for name, tags in lists.items():
        lengths, kinds = sizes[name]
        others = [
            other
            for other in cells
            if other not in {name} | coded
            and (name in coded or sizes[other][1] > kinds)
            and _agree(lengths, sizes[other][0])
        ]
        # Words as a list first: texts are only split at spaces.
        words = max(others, key=lambda x: (sizes[x][1], are_lists(cells[x])), default="")
        # Names and numbers are tags only if they follow the lengths of texts; bare letters may be anything.
        is_alike = _are_letters(tags) or (len(set(lengths)) > 1 and fmean(lengths) >= WORDS)
        if (words and is_alike) or (_are_letters(tags) and any("-" in tag for tag in chain(*tags))):
            words_of_tags[name] = words
    return words_of_tags


def names_of_numbers(tags: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return names of the tags of N documents if these are whole numbers, in their order; else none.

    The most frequent number is outside if it is 0. A number that only follows itself and one other is within
    the entities that the other begins. Without outside or any such number, a number is its own name.

    Example: `names_of_numbers([["0", "1", "2", "0"], ["0", "0", "1"]])` is `("O", "B-1", "I-1")`.
    """
    if not _are_numbers(tags):
        return ()
    count = 1 + max(map(int, chain.from_iterable(tags)))
    names = [str(number) for number in range(count)]
    if Counter(chain.from_iterable(tags)).most_common(1)[0][0] != "0":
        return tuple(names)
    before: dict[str, set[str]] = {name: set() for name in names}
    for row in tags:
        for one, two in pairwise(["0", *row]):
            before[two] |= {one} - {two}
    first: dict[str, str] = {}  # of the entities that a number is within
    for name in names[1:] * 2:  # again, as a last word may follow one with a higher number
        starts = {first.get(one, one) for one in before[name]} - {name}
        if len(starts) == 1 and starts != {"0"}:
            first[name] = starts.pop()
    return (OUTSIDE, *(f"I-{first[x]}" if x in first else f"B-{x}" if first else x for x in names[1:]))


def why_not(name: str, column: Sequence[object], *, tags: Mapping[str, str]) -> str:
    """Return why a column that marks parts of texts is not learned; empty for other columns."""
    if name in tags:
        return ALONE if tags[name] else NO_WORDS
    return SPANS if _are_spans(column) else ""


def mentions_column(cells: Mapping[str, Sequence[object]], text: str) -> str | None:
    """Return the column that marks entities of the texts, as many in each; None if there is none."""
    return next((name for name, column in cells.items() if _are_marked(column, cells[text])), None)


def are_lists(column: Sequence[object]) -> bool:
    """Whether cells are lists, also as JSON."""
    return any(map(look_like_words, column))


def _tags(column: Sequence[object]) -> list[list[str]]:
    """Return the tags of each row; empty if these are no tags of words."""
    rows, names = [], set[str]()
    for cell in column:
        row = list_or_empty(cell)
        rows.append(row)
        names.update(tag for tag in row if not TAG.fullmatch(tag))
        if len(names) > MOST_CLASSES:
            return []
    return rows if max(map(len, rows), default=0) > 1 and (_are_letters(rows) or _are_frequent(rows)) else []


def _are_letters(tags: Sequence[Sequence[str]]) -> bool:
    """Whether tags are of BIO or another such scheme."""
    kinds = set(chain.from_iterable(tags))
    typed = all("-" in tag for tag in kinds)  # such as S-NOUN
    return all(map(TAG.fullmatch, kinds)) and ({OUTSIDE} < kinds or (typed and bool(kinds)))


def _are_numbers(tags: Sequence[Sequence[str]]) -> bool:
    return are_whole(chain.from_iterable(tags)) and _are_frequent(tags)


def _are_frequent(tags: Sequence[Sequence[str]]) -> bool:
    """Whether there are two tags or more, and each is frequent on average."""
    return 1 < len(set(chain.from_iterable(tags))) <= sum(map(len, tags)) / FEWEST


def _size(column: Sequence[object]) -> tuple[list[int], int]:
    """Return the number of words in each cell, and of different words."""
    rows = [list_or_empty(cell) for cell in column]
    return [*map(len, rows)], len(set(chain.from_iterable(rows)))


def _agree(lengths: Sequence[int], others: Sequence[int]) -> bool:
    """Whether nearly all lengths are the same."""
    same = sum(one == two for one, two in zip(lengths, others, strict=True))
    return same >= MOSTLY * len(lengths)


def list_or_empty(cell: object) -> list[str]:
    """Return words or tags; none for an empty cell, and for one that has none."""
    try:
        return tags_of(cell)
    except ValueError:
        return []


def _are_spans(column: Sequence[object]) -> bool:
    try:
        return any(list(map(mentions_of, (cell for cell in column if not is_missing(cell)))))  # reads all
    except ValueError:
        return False


def _are_marked(column: Sequence[object], texts: Sequence[object]) -> bool:
    """Whether each text has entities within it, with roles; other numbers of them are no relation's."""
    try:
        rows = [*map(mentions_of, column)]
    except ValueError:
        return False
    is_valid = all(
        span.type and 0 <= span.start < span.end <= len(str(text))
        for row, text in zip(rows, texts, strict=True)
        for span in row
    )
    return is_valid and all(rows) and len(set(map(len, rows))) == 1
