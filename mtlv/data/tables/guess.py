"""What the columns of an unknown table are: its texts, labels, ids and parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtlv.data.parts import NAMES
from mtlv.data.tables.cells import is_missing
from mtlv.data.tables.column_kinds import (
    FEWEST,
    Part,
    are_numbers,
    can_be_named,
    classes_in,
    lists_of,
    of_flags,
    of_kind,
)
from mtlv.data.tables.parts import look_at
from mtlv.data.tables.readers import YES_NO, flag_of
from mtlv.data.tables.rows import Table, also
from mtlv.data.tables.tag_columns import SPANS, are_lists, mentions_column, tag_columns, why_not
from mtlv.data.tables.text_columns import WORDS, lengths_of, size_of, text_column
from mtlv.errors import DataError, shorten

MOSTLY = 0.9  # share of cells that are 0 or 1 from which the others look like mistakes
PLACES = {"text": "texts", "id": "ids", "part": "parts", "mentions": "marked entities"}
"""Keys of `data.columns` for all kinds of tasks."""


@dataclass(frozen=True)
class Learned:
    """A column of another kind that is learned, too."""

    columns: Mapping[str, object]  # its part of `data.columns`
    counts: Mapping[str, int]  # documents of each class, or with each label; empty for a number

    @property
    def name(self) -> str:
        """The column."""
        return name_of(self.columns)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The task; of a list the labels that some documents have, and some do not."""
        return tuple(self.counts) if "label_list" in self.columns else (self.name,)


def name_of(columns: Mapping[str, object]) -> str:
    """Return the column that is learned, of those that have one."""
    return str(columns.get("target") or columns.get("tags") or columns["label_list"])


@dataclass(frozen=True)
class TableGuess:
    """What a table holds."""

    path: Path
    documents: int  # number of its rows
    columns: Mapping[str, object]  # `data.columns`, of the settings
    tasks: Mapping[str, int]  # documents with each label, or of each class; empty for a number
    more: tuple[Learned, ...] = ()  # classes and numbers that are learned besides
    # the same of labels with fewer than `FEWEST` documents with or without them, which are left out
    rare: Mapping[str, int] = field(default_factory=dict)
    empty: Mapping[str, int] = field(default_factory=dict)  # of labels with empty cells: how many
    # words of the texts: median, 95th percentile and mean
    words: tuple[float, float, float] = (0.0, 0.0, 0.0)
    unused: tuple[str, ...] = ()  # columns that are not read
    others: tuple[str, ...] = ()  # those of them that could be learned: of classes or numbers
    flawed: tuple[str, ...] = ()  # sentences on those of them whose cells are mostly 0 and 1
    texts: tuple[str, ...] = ()  # those of them that have texts, too
    pair: float = 0.0  # words of the texts with the first of those: 95th percentile
    marked: tuple[str, ...] = ()  # those of them that have entities in characters
    english: bool = True  # whether the texts look like English
    notes: tuple[str, ...] = ()  # on how the table was read

    @property
    def text(self) -> str:
        """The column of the texts, or of their words."""
        return str(self.columns.get("words") or self.columns["text"])

    @property
    def labels(self) -> tuple[str, ...]:
        """The tasks; one for each column of classes, numbers or tags."""
        first = tuple(self.tasks) if self.columns["kind"] == "binary" else (name_of(self.columns),)
        return (*first, *(task for each in self.more for task in each.tasks))


def guess(
    path: Path,
    *,
    text: str | None = None,
    labels: Sequence[str] = (),
    names: Sequence[str] | None = None,
    header: bool | None = None,
) -> TableGuess:
    """Read a table and guess what its columns are.

    Args:
        path: the file, or a folder with one for each part.
        names, header: as for `look_at`.
        text: the column of the texts; None for the column with the longest ones.
        labels: columns to learn; none for all columns of 0 and 1 (or yes and no), else the only column of
            tags or lists, of classes or of numbers.

    Raises:
        DataError: the file cannot be read, a column is not there, or none can be the text or the labels.
    """
    table, header_names = look_at(path, names=names, header=header)
    table.need([text] if text else [], "--text")
    table.need(labels, "--labels")
    cells = {name: [row.get(name) for _, row in table.rows] for name in table.columns}
    tags = tag_columns({text: cells[text], **cells} if text else cells)
    lengths = lengths_of({name: column for name, column in cells.items() if name not in tags})
    found = text or text_column(table, lengths, tags=tags)
    columns: dict[str, object] = {"text": found, **_places(cells, found)}
    if taken := [name for name in labels if name in columns.values()]:
        key = next(key for key, name in columns.items() if name == taken[0])
        raise DataError(f"`--labels`: `{taken[0]}` is the column of the {PLACES[key]}", then="leave it out")
    left = {name: cells[name] for name in labels or cells if name not in columns.values()}
    flawed = _flawed(table, left)
    (learned, counts), *more = _learned(table, left, flawed=flawed, tags=tags, given=bool(labels))
    found = _read(columns, learned, cells=cells, tags=tags)
    size, english = size_of(cells[found])
    tasks, rare, empty = _labels(table, cells, learned, counts)
    columns |= learned
    if header_names:
        columns["names"] = list(header_names)
    if "tags" not in learned and (mentions := mentions_column(cells, found)):
        columns["mentions"] = mentions
    read = {*map(str, columns.values()), *counts, *(name_of(one) for one, _ in more)}
    unused = tuple(name for name in table.columns if name and name not in read)
    texts = tuple(name for name in unused if lengths.get(name, 0) >= WORDS)
    pairs = [f"{one} {two}" for one, two in zip(cells[found], cells[texts[0]], strict=True)] if texts else []
    marked = tuple(name for name in unused if why_not(name, cells[name], tags=tags) == SPANS)
    named = (name for name in unused if name not in (*flawed, *marked))
    return TableGuess(
        path,
        len(table.rows),
        columns,
        tasks,
        tuple(
            Learned(one, _frequent(its, len(table.rows), {}) if "label_list" in one else its)
            for one, its in more
        ),
        rare,
        empty,
        size,
        unused,
        tuple(name for name in named if name in tags or can_be_named(cells[name])),
        tuple(said for name, said in flawed.items() if name in unused),
        texts,
        size_of(pairs)[0][1],
        marked,
        english,
        table.notes,
    )


def _labels(
    table: Table,
    cells: Mapping[str, Sequence[object]],
    learned: dict[str, object],
    counts: Mapping[str, int],
) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return the documents of each task, of each label that is too rare, and the empty cells of labels.

    The settings of columns of labels, `learned`, get those that are frequent enough.

    Raises:
        DataError: all labels are too rare.
    """
    if learned["kind"] != "binary":
        return dict(counts), {}, {}
    of_columns = "labels" in learned
    empty = {name: sum(map(is_missing, cells[name])) for name in counts} if of_columns else {}
    tasks = _frequent(counts, len(table.rows), empty)
    rare = {name: n for name, n in counts.items() if name not in tasks}
    if not tasks:
        raise DataError(
            f"no label of `{table.path.name}` can be learned",
            got=", ".join(f"{name}: {count} documents" for name, count in rare.items()),
            allowed=f"{FEWEST} documents or more with a label, and without it",
        )
    empty = {name: n for name, n in empty.items() if n and name in tasks}
    if of_columns:
        learned["labels"] = list(tasks)
    if empty:
        learned["missing_labels"] = "unknown"
    return tasks, rare, empty


def _read(
    columns: dict[str, object],
    learned: Mapping[str, object],
    *,
    cells: Mapping[str, Sequence[object]],
    tags: Mapping[str, str],
) -> str:
    """Return the column that is read, which is that of the words for tags; change `columns` to it.

    Raises:
        DataError: it has lists of words, but there are no tags to learn.
    """
    found = tags[str(learned["tags"])] if "tags" in learned else str(columns["text"])
    if not are_lists(cells[found]):
        columns["text"] = found
    elif "tags" in learned:
        del columns["text"]
        columns["words"] = found
    else:
        raise DataError(
            f"`{shorten(found)}` has lists of words, which are read only with a tag for each word",
            then="add a column with the words as one text, or name the column of the tags with `--labels`",
        )
    return found


def _frequent(counts: Mapping[str, int], documents: int, empty: Mapping[str, int]) -> dict[str, int]:
    """Return the labels that enough documents have and lack; those with an empty cell do neither."""
    most = documents - FEWEST
    return {name: n for name, n in counts.items() if FEWEST <= n <= most - empty.get(name, 0)}


def _places(cells: Mapping[str, Sequence[object]], text: str) -> dict[str, object]:
    """Return the columns of ids and of parts, if there are any."""
    found: dict[str, object] = {}
    for name, column in cells.items():
        plain = [str(cell).strip() for cell in column]
        if name == text or any(map(is_missing, column)):
            continue
        if name.lower() in ("id", "uid", "doc_id", "document_id") and len(set(plain)) == len(plain):
            found.setdefault("id", name)
        if {NAMES.get(each.lower()) for each in plain} >= {"train", "test"} and len(set(plain)) <= len(NAMES):
            found.setdefault("part", name)
    return found


def _learned(
    table: Table,
    cells: Mapping[str, Sequence[object]],
    *,
    flawed: Mapping[str, str],
    tags: Mapping[str, str],
    given: bool,
) -> list[Part]:
    """Return what is learned; of several kinds if all of its columns are given."""
    flags = {name: [flag_of(cell) for cell in column] for name, column in cells.items()}
    binary = {name: column for name, column in flags.items() if _are_labels(cells[name], column)}
    if binary and (not given or len(binary) == len(cells)):
        return [of_flags(binary)]
    slips = [name for name in flawed if flags[name].count(None) < FEWEST]  # neither classes nor numbers
    if slips and given:
        raise DataError(
            f"a label of `{table.path.name}` is not always 0 or 1, or yes or no",
            then="; ".join(flawed[name] for name in slips),
        )
    lists = lists_of({name: column for name, column in cells.items() if name not in tags})
    tagged: list[Part] = [({"kind": "tagging", "tags": name}, {}) for name in cells if tags.get(name)]
    # Nothing else is a list; years look like classes.
    if len(tagged + lists) == 1 and (len(cells) == 1 or not given):
        return tagged + lists
    listed = {str(each["label_list"]): (each, counts) for each, counts in reversed(lists)}
    plain = [name for name in cells if not why_not(name, cells[name], tags=tags)]
    rest = [name for name in plain if name not in slips and not (given and name in binary)]
    parts = {
        name: part for name in rest if (part := listed.get(name) or of_kind(cells[name], name, whole=given))
    }
    wrong = [name for name in cells if name not in parts and name not in binary]
    if given and not wrong:
        return [*([of_flags(binary)] if binary else []), *parts.values()]
    if len(parts) == 1 and not given and not tagged:
        return list(parts.values())
    found = [name_of(each) for each, _ in tagged]
    found += [name for name in rest if name in parts or can_be_named(cells[name])]
    said = (
        f"has {('no column', 'a column of whole numbers', 'several columns')[min(len(found), 2)]} that could"
    )
    raise DataError(
        f"`{table.path.name}` {'has columns that cannot be learned' if given else f'{said} be learned'}",
        got=", ".join(wrong if given else found or cells),
        allowed="columns of 0 and 1 (or yes and no), of label lists, of classes or of numbers, "
        "each with two values or more",
        then="; ".join([*flawed.values(), *_nearly(table, cells, tags=tags)])
        or "name what to learn with `--labels`, separated by commas",
    )


def _are_labels(cells: Sequence[object], flags: Sequence[bool | None]) -> bool:
    """Whether all cells are 0 or 1, or yes or no; or empty, if both values are among the others."""
    known = [flag for flag in flags if flag is not None]
    empty = sum(map(is_missing, cells))
    return len(known) + empty == len(cells) and (not empty or len(set(known)) == 2)


def _flawed(table: Table, cells: Mapping[str, Sequence[object]]) -> dict[str, str]:
    """Return a sentence on each column of which most cells, but not all, are 0 or 1, or yes or no."""
    found = {}
    for name, column in cells.items():
        flags = [flag_of(cell) for cell in column]
        bad = [] if _are_labels(column, flags) else [n for n, flag in enumerate(flags) if flag is None]
        if 0 < len(bad) <= (1 - MOSTLY) * len(column) and not _third_class(column, bad):
            cell = column[bad[0]]
            has = "is empty" if is_missing(cell) else f"has {shorten(repr(cell), 40)}"
            lines = [table.rows[place][0] for place in bad]
            found[name] = (
                f"`{shorten(name)}`: {len(column) - len(bad)} of {len(column)} cells are 0 or 1, or "
                f"yes or no; {table.unit} {lines[0]} {has}{also(table.unit, lines[1:])}"
            )
    return found


def _third_class(column: Sequence[object], others: Sequence[int]) -> bool:
    """Whether a name such as `maybe` is at several of these places, and yes or no at others."""
    counts = Counter(str(column[place]).strip() for place in others if not is_missing(column[place]))
    return max(counts.values(), default=0) > 1 and any(str(cell).strip().lower() in YES_NO for cell in column)


def _nearly(table: Table, cells: Mapping[str, Sequence[object]], *, tags: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence on each column that would be of classes or numbers but for some of its cells, and on
    each that marks parts of the texts.
    """
    for name, column in cells.items():
        held = [cell for cell in column if not is_missing(cell)]
        lines = [line for (line, _), cell in zip(table.rows, column, strict=True) if is_missing(cell)]
        points = [str(cell).replace(",", ".") for cell in held]
        if why := why_not(name, column, tags=tags):
            yield f"`{shorten(name)}` {why}"
        elif lines and (classes_in(held) or are_numbers(held)):
            rest = also(table.unit, lines[1:])
            yield f"`{shorten(name)}` is empty at {table.unit} {lines[0]}{rest}; leave these out of the table"
        elif points and are_numbers(points) and not are_numbers(held):
            yield f"`{shorten(name)}` has numbers with a comma, such as {held[0]}; write {points[0]}"
