"""What the columns of an unknown table are: its texts, labels, ids, parts and groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path

from mtlv.data.tables.cells import text_or_joined
from mtlv.data.tables.column_kinds import FEWEST, are_numbers, can_be_named
from mtlv.data.tables.parts import look_at, table_files
from mtlv.data.tables.places import group_note, is_record, places_of
from mtlv.data.tables.proposals import Learned, Proposals, Units, choose_learned, without
from mtlv.data.tables.rows import Table
from mtlv.data.tables.tag_columns import SPANS, are_lists, mentions_column, tag_columns, why_not
from mtlv.data.tables.text_columns import (
    WORDS,
    is_derived,
    is_tree,
    lengths_of,
    pair_of,
    size_of,
    text_column,
)
from mtlv.errors import DataError, shorten
from mtlv.formatting import list_first
from mtlv.plan.tagging import OUTSIDE

ALLOWED = (
    "columns of 0 and 1 (or yes and no), of label lists, of classes or of numbers, each with two values "
    "or more"
)
PLACES = {
    "text": "texts",
    "text_pair": "second texts",
    "id": "ids",
    "part": "parts",
    "group": "groups",
    "mentions": "marked entities",
}
"""Keys of `data.columns` for all kinds of tasks."""


@dataclass(frozen=True)
class TableGuess:
    """What a table holds."""

    path: Path
    documents: int  # number of its rows
    columns: Mapping[str, object]  # `data.columns`, of the settings, with those of the first that is learned
    learned: tuple[Learned, ...]  # columns of each kind
    # words of the texts: median, 95th percentile and mean
    words: tuple[float, float, float]
    sample: tuple[str, ...]  # texts, for their length in tokens
    unused: tuple[str, ...] = ()  # columns that are not read
    others: tuple[str, ...] = ()  # those of them that could be learned
    flawed: tuple[str, ...] = ()  # sentences on those of them that nearly could
    texts: tuple[str, ...] = ()  # those of them that have texts, too
    pairs: tuple[str, ...] = ()  # the texts with the first of those
    marked: tuple[str, ...] = ()  # those of them that have entities in characters
    notes: tuple[str, ...] = ()  # how the table was read, what was decided, and may be decided in another way
    english: bool = True  # whether the texts look like English

    @property
    def text(self) -> str:
        """The column of the texts, or of their words."""
        return str(self.columns.get("words") or self.columns["text"])

    @property
    def tagged(self) -> bool:
        """Whether tags of words are learned."""
        return any(one.columns["kind"] == "tagging" for one in self.learned)

    @cached_property
    def rare(self) -> Mapping[str, int]:
        """Documents of labels that too few documents have, or lack."""
        return {name: count for one in self.learned for name, count in one.rare.items()}

    @cached_property
    def empty(self) -> Mapping[str, int]:
        """Columns with empty cells that are not known: how many."""
        return {name: count for one in self.learned for name, count in one.empty.items()}

    @cached_property
    def uncertain(self) -> Mapping[str, int]:
        """Columns with -1 or `uncertain`: how many."""
        return {name: count for one in self.learned for name, count in one.uncertain.items()}

    @property
    def labels(self) -> tuple[str, ...]:
        """The tasks; one for each column of classes, numbers or tags."""
        return tuple(task for one in self.learned for task in one.tasks)


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
        labels: columns to learn; none for all labels, lists and classes with names, else the only column of
            tags, or those of numbers.

    Raises:
        DataError: the file cannot be read, a column is not there, or none can be the text or the labels.
    """
    table, named = look_at(path, names=names, header=header)
    table.need([text] if text else [], "--text")
    table.need(labels, "--labels")
    cells = {name: [row.get(name) for _, row in table.rows] for name in table.columns if name}
    tags = tag_columns({text: cells[text], **cells} if text else cells)
    lengths = lengths_of({name: column for name, column in cells.items() if name not in tags})
    columns = _texts(table, cells, lengths, text=text, tags=tags)
    texts = tuple(map(str, columns.values()))
    places = places_of({name: c for name, c in cells.items() if name not in labels or name in texts}, texts)
    columns |= {key: name for key, name in places.items() if key != "part" or not path.is_dir()}
    if taken := [name for name in labels if name in columns.values()]:
        key = next(key for key, name in columns.items() if name == taken[0])
        raise DataError(f"`--labels`: `{taken[0]}` is the column of the {PLACES[key]}", then="leave it out")
    left = {name: cells[name] for name in labels or cells if name not in columns.values()}
    units = _units(cells, columns, texts, _parts(table, path))
    proposals = Proposals(table, left, tags, units, are_named=bool(labels))
    learned, possible = _select_learned(proposals)
    if named:
        columns["names"] = list(named)
    described = _describe(table, cells, columns, proposals, learned, possible, tags=tags, lengths=lengths)
    return replace(described, path=path)  # a folder has several tables


def _texts(
    table: Table,
    cells: Mapping[str, Sequence[object]],
    lengths: Mapping[str, float],
    *,
    text: str | None,
    tags: Mapping[str, str],
) -> dict[str, object]:
    """Return the column of the texts, and that of the second texts if two names are those of a pair.

    Raises:
        DataError: there is none.
    """
    if text:
        return {"text": text}
    derived = {name for name in lengths if is_derived(name, cells[name])}
    column = text_column(table, lengths, tags=tags, derived=derived)
    pair = pair_of(column, {name: cells[name] for name in lengths if name not in derived})
    return {"text": column} if pair is None else {"text": pair[0], "text_pair": pair[1]}


def _units(
    cells: Mapping[str, Sequence[object]],
    columns: Mapping[str, object],
    texts: Sequence[str],
    parts: Sequence[str] | None,
) -> Units:
    """Return which rows are split together."""
    joined = [
        None if row[0] is None or not str(row[0]).strip() else "\n".join(map(str, row))
        for row in zip(*(cells[name] for name in texts), strict=True)
    ]
    group, part = (cells[str(columns[key])] if key in columns else None for key in ("group", "part"))
    return Units(joined, group, part if parts is None else parts)


def _parts(table: Table, path: Path) -> list[str] | None:
    """Return the part of each row of a folder, whose files were joined; None for a single file."""
    names = list(table_files(path))
    if len(names) < 2:
        return None
    lines = [line for line, _ in table.rows]
    starts = [now <= before for before, now in pairwise(lines)]  # the next file
    return [names[place] for place in accumulate(starts, initial=0)]


def _select_learned(proposals: Proposals) -> tuple[list[Learned], list[Learned]]:
    """Return what is learned, and all that can be.

    Raises:
        DataError: nothing can be learned, or a column that the user named cannot.
    """
    possible = proposals.possible()
    usable = [one for one in possible if one.counts or one.columns["kind"] != "binary"]
    selected = usable if proposals.are_named else choose_learned(usable, proposals.cells)
    wrong = [name for name in proposals.cells if not any(name in one.read for one in usable)]
    if selected and not (proposals.are_named and wrong):
        return _without_repeated_tasks(selected), possible
    rare = {name: count for one in possible for name, count in one.rare.items()}
    if rare and not selected and not proposals.are_named:
        raise DataError(
            f"no label of `{proposals.table.path.name}` can be learned",
            got=", ".join(f"{name}: {count} documents" for name, count in list(rare.items())[:20]),
            allowed=f"{FEWEST} different texts or more with a label, and without it",
            then=_reasons(proposals, proposals.cells),
        )
    raise _refusal(proposals, usable, wrong)


def _refusal(proposals: Proposals, usable: Sequence[Learned], wrong: Sequence[str]) -> DataError:
    """Return the error of a table whose named columns cannot be learned, or that has none to learn."""
    file = f"`{proposals.table.path.name}`"
    names = [name for one in usable for name in one.read]
    if proposals.are_named:
        rest = f"the others can be learned: `--labels {quote_for_shell(names)}`" if names else ""
        then = "; ".join(filter(None, [_reasons(proposals, wrong), rest]))
        if set(wrong) <= set(proposals.flaws):
            return DataError(f"a label of {file} is not always 0 or 1, or yes or no", then=then)
        return DataError(
            f"{file} has columns that cannot be learned", got=", ".join(wrong), allowed=ALLOWED, then=then
        )
    names = list(
        dict.fromkeys([*names, *filter(lambda x: can_be_named(proposals.cells[x]), proposals.cells)])
    )
    names = [name for name in names if _is_other(name, proposals.cells[name], proposals)]
    kinds = ["no column", "a column of whole numbers", "several columns"]
    if len(names) == 1 and not are_numbers(proposals.cells[names[0]], can_be_whole=True):
        kinds[1] = "only a column about its rows"
    named = (
        f"name what to learn with `--labels`, such as `--labels {quote_for_shell(names[:1])}`"
        if names
        else ""
    )
    reasons = _reasons(proposals, proposals.flaws if names else proposals.cells)
    return DataError(
        f"{file} has {kinds[min(len(names), 2)]} that could be learned",
        got=", ".join(names or proposals.cells),
        allowed=ALLOWED,
        then="; ".join(filter(None, [reasons, named])),
    )


def quote_for_shell(names: Sequence[str]) -> str:
    """Return names as an argument of `--labels`, for a shell."""
    text = ",".join(f'"{name}"' if "," in name else name for name in names)
    return text if all(sign.isalnum() or sign in "_,-." for sign in text) else f"'{text}'"


def _reasons(proposals: Proposals, names: Iterable[str]) -> str:
    """Return why these columns cannot be learned, each with its next step."""
    return "; ".join(proposals.reasons[name] for name in names if name in proposals.reasons)


def _without_repeated_tasks(learned: Sequence[Learned]) -> list[Learned]:
    """Return what is learned without labels of lists whose name another task has."""
    lists = [one for one in learned if "label_list" in one.columns]
    taken = {task for one in learned if one not in lists for task in one.tasks}
    distinct = []
    for one in learned:
        if one in lists:
            one = without(one, taken)
            taken |= set(one.tasks)
        distinct.append(one)
    return [one for one in distinct if one.tasks]


def _describe(
    table: Table,
    cells: Mapping[str, Sequence[object]],
    columns: dict[str, object],
    proposals: Proposals,
    learned: Sequence[Learned],
    possible: Sequence[Learned],
    *,
    tags: Mapping[str, str],
    lengths: Mapping[str, float],
) -> TableGuess:
    """Return the guess: columns, sizes of texts, unused columns and notes."""
    learned = [_with_words(one, cells, tags) for one in learned]
    if any(one.columns["kind"] == "tagging" for one in learned):
        columns.pop("text_pair", None)
    if len(learned) == 1 and "words" in learned[0].columns:
        del columns["text"]
    if all(one.columns["kind"] != "tagging" for one in learned) and (
        mentions := mentions_column(cells, str(columns["text"]))
    ):
        columns["mentions"] = mentions
    notes = [*table.notes, *proposals.notes]
    if "group" in columns:
        notes.append(group_note(str(columns["group"]), cells[str(columns["group"])]))
    notes += [_numbers_note(one) for one in learned if one.classes]
    settings = columns | dict(learned[0].columns)
    shown = [*map(text_or_joined, cells[str(settings.get("words") or settings["text"])])]
    pairs = cells[str(columns["text_pair"])] if "text_pair" in columns else [""] * len(shown)
    joined = [f"{one} {two}".strip() for one, two in zip(shown, pairs, strict=True)]
    size, english = size_of(joined)
    read = {*map(str, columns.values()), *(name for one in learned for name in one.read)}
    read |= {str(one.columns["words"]) for one in learned if "words" in one.columns}
    unused = tuple(name for name in cells if name not in read)
    texts = tuple(x for x in unused if lengths.get(x, 0) >= WORDS and not is_derived(x, cells[x]))
    further = [f"{one} {two}" for one, two in zip(joined, cells[texts[0]], strict=True)] if texts else []
    marked = tuple(name for name in unused if why_not(name, cells[name], tags=tags) == SPANS)
    could = {name for one in possible for name in one.read if one.counts or one.columns["kind"] != "binary"}
    return TableGuess(
        table.path,
        len(table.rows),
        settings,
        tuple(learned),
        size,
        tuple(joined),
        unused,
        tuple(
            x for x in unused if _is_other(x, cells[x], proposals) and (x in could or can_be_named(cells[x]))
        ),
        tuple(reason for name, reason in proposals.flaws.items() if name in unused),
        texts,
        tuple(further),
        marked,
        tuple(notes),
        english,
    )


def _is_other(name: str, column: Sequence[object], proposals: Proposals) -> bool:
    """Whether a column that is not read is worth naming, as one that could be learned."""
    return not (
        name in proposals.reasons or name in proposals.copies or is_tree(column) or is_record(name, column)
    )


def _numbers_note(one: Learned) -> str:
    """Return the note on a column of tags that are numbers."""
    names = [f"{number} is {name}" for number, name in enumerate(one.classes)]
    read = f", read as if {list_first(names, 10)}" if OUTSIDE in one.classes else ""
    return f"`{shorten(one.name)}` has numbers as tags{read}; put their names into `classes`, in order"


def _with_words(one: Learned, cells: Mapping[str, Sequence[object]], tags: Mapping[str, str]) -> Learned:
    """Return columns of tags with that of their words."""
    words = tags.get(str(one.columns.get("tags")), "")
    if not words:
        return one
    key = "words" if are_lists(cells[words]) else "text"
    return Learned({**one.columns, key: words}, one.counts)
