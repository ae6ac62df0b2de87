"""What can be learned from the columns of an unknown table, and why others cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from mtlv.data.parts import part_of
from mtlv.data.repeats import plain
from mtlv.data.tables.cells import class_of, is_missing, number_of
from mtlv.data.tables.column_kinds import (
    FEWEST,
    MOST_CLASSES,
    are_numbers,
    are_three_classes,
    list_in,
    of_kind,
)
from mtlv.data.tables.delimited import also
from mtlv.data.tables.labels import FLAGS, flag_of
from mtlv.data.tables.places import ABOUT, is_record, words_of_name
from mtlv.data.tables.rows import Table
from mtlv.data.tables.tag_columns import (
    NO_PIECES,
    list_or_empty,
    names_of_numbers,
    why_not,
)
from mtlv.data.tables.text_columns import is_tree
from mtlv.errors import shorten
from mtlv.plan.tagging import OUTSIDE
from mtlv.plan.task import UNKNOWN
from mtlv.plan.word_tags import IGNORED, named_tags

MOSTLY = 0.9  # share of cells that are 0 or 1 from which the others look like mistakes


@dataclass(frozen=True)
class Learned:
    """Columns of one kind that are learned."""

    columns: Mapping[str, object]  # their part of `data.columns`
    counts: Mapping[str, int]  # documents of each class, or with each label; empty for a number
    # labels with fewer than `FEWEST` documents with or without them, which are left out
    rare: Mapping[str, int] = field(default_factory=dict)
    empty: Mapping[str, int] = field(default_factory=dict)  # columns with empty cells: how many
    uncertain: Mapping[str, int] = field(default_factory=dict)  # those with -1 or the like: how many

    @property
    def name(self) -> str:
        """The column; of several labels the first."""
        one = self.columns.get("target") or self.columns.get("tags") or self.columns.get("label_list")
        return str(one or self.columns["labels"])

    @property
    def tasks(self) -> tuple[str, ...]:
        """The task; of labels those that some documents have, and some do not."""
        return tuple(self.counts) if self.columns["kind"] == "binary" else (self.name,)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of tags that are numbers."""
        return tuple(self.columns.get("classes", ()))  # type: ignore[arg-type]

    @property
    def read(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (*self.counts, *self.rare) if "labels" in self.columns else (self.name,)


@dataclass(frozen=True)
class Units:
    """Documents that are split together, because their text or group is the same.

    Args:
        texts: N texts, with the second ones of pairs; None for a row without a text.
        groups: the group of each, or None.
        parts: the part of each, or None.
    """

    texts: Sequence[object]
    groups: Sequence[object] | None = None
    parts: Sequence[object] | None = None

    @cached_property
    def keys(self) -> tuple[Sequence[object], ...]:
        """What is different in different units: texts, and groups."""
        texts = [None if is_missing(text) else plain(str(text)) for text in self.texts]
        return (texts,) if self.groups is None else (texts, list(map(str, self.groups)))

    @cached_property
    def names(self) -> Sequence[str]:
        """The part of each row, if they have one."""
        return [*map(part_of, self.parts or ())]

    @cached_property
    def trained(self) -> set[int]:
        """Rows of the training part whose text is in no other part."""
        if self.parts is None:
            return set(range(len(self.texts)))
        texts = self.keys[0]
        others = {text for text, part in zip(texts, self.names, strict=True) if part != "train"}
        return {n for n, part in enumerate(self.names) if part == "train" and texts[n] not in others}

    def few(self, values: Sequence[object], *, numbers: bool = False) -> bool:
        """Whether fewer than `FEWEST` units have another value than the most frequent, or that.

        None is unknown. Each of `numbers` may be there once.
        """
        known = [n for n, value in enumerate(values) if value is not None and self.keys[0][n] is not None]
        if not known:
            return True
        top = Counter(values[n] for n in known).most_common(1)[0][0]
        sides = [[n for n in known if (values[n] == top) == same] for same in (False, True)[: 2 - numbers]]
        return any(
            len({key[n] for n in side}) < FEWEST or self.trained.isdisjoint(side)
            for side in sides
            for key in self.keys
        ) or (self.parts is not None and {self.names[n] for n in known} != set(self.names))


@dataclass
class Proposals:
    """The columns of a table that may be learned.

    Args:
        table: the table.
        cells: N cells of each of these columns.
        tags: columns of tags of words, with the column of their words.
        units: documents that are split together.
        are_named: whether the user named the columns.
    """

    table: Table
    cells: Mapping[str, Sequence[object]]
    tags: Mapping[str, str]
    units: Units
    are_named: bool

    def __post_init__(self) -> None:
        self.flags = {name: [flag_of(cell) for cell in column] for name, column in self.cells.items()}
        self.reasons: dict[str, str] = {}  # why columns cannot be learned, with the next step
        self.flaws: dict[str, str] = {}  # sentences on those that would be learned but for some cells
        self.copies: set[str] = set()  # columns that say the same as another
        self.notes: list[str] = []  # what was decided and may be decided in another way

    def possible(self) -> list[Learned]:
        """Return what can be learned: yes/no labels first, then the others in the order of the table."""
        yes_no = self._without_copies([name for name in self.cells if self._is_yes_no(name)])
        marks = [name for name in yes_no if set(self.flags[name]) == {1, None}]
        labels = [
            self._labels([name for name in yes_no if name not in marks]),
            self._labels(marks, marks=True),
        ]
        others = [self._other(name) for name in self.cells if name not in yes_no and name not in self.copies]
        return [one for one in (*labels, *others) if one is not None]

    def _without_copies(self, names: Sequence[str]) -> list[str]:
        """Return columns without those that say the same as an earlier one, unless the user named them."""
        kept: list[str] = []
        for name in names:
            same = next((x for x in kept if self.flags[x] == self.flags[name]), None)
            if same is None or self.are_named:
                kept.append(name)
            else:
                self.notes.append(f"`{shorten(name)}` says the same as `{shorten(same)}`, and is not learned")
        self.copies = set(names) - set(kept)
        return kept

    def _is_yes_no(self, name: str) -> bool:
        """Whether all cells are 0 or 1, or yes or no, or empty, and both values are among them."""
        column, flags = self.cells[name], self.flags[name]
        if any(flag is None and not is_missing(cell) for flag, cell in zip(flags, column, strict=True)):
            return False
        if are_three_classes(self.flags, name) and are_numbers(column, can_be_whole=True):
            self.notes.append(
                f"`{shorten(name)}` has -1, 0 and 1, which are learned as three classes; if -1 means "
                "uncertain, set `kind: binary`, `labels` and `uncertain: unknown` (docs/data.md)"
            )
            return False
        values = set(flags) - {None}
        if values == {UNKNOWN, 1}:  # -1 and 1 are no and yes; unknown and yes are two classes
            return are_numbers([cell for cell in column if not is_missing(cell)], can_be_whole=True)
        return {0, 1} <= values or values == {1} or (values == {0} and None not in flags)

    def _labels(self, names: Sequence[str], *, marks: bool = False) -> Learned | None:
        """Return columns of yes and no; those of `marks` have only yes, and empty cells that mean no."""
        if not names:
            return None
        of_no = 0 if marks else None  # an empty cell
        flags = {name: [of_no if x is None else x for x in self.flags[name]] for name in names}
        uncertain = {name: n for name, column in flags.items() if (n := column.count(UNKNOWN))}
        meaning = "unknown" if any(0 in flags[name] for name in uncertain) else "no"
        values = {
            name: [(None if meaning == "unknown" else 0) if x == UNKNOWN else x for x in column]
            for name, column in flags.items()
        }
        counts = {name: column.count(1) for name, column in values.items()}
        rare = {name: counts[name] for name in names if self.units.few(values[name])}
        tasks = {name: count for name, count in counts.items() if name not in rare}
        empty = {name: n for name in tasks if not marks and (n := self.flags[name].count(None))}
        settings: dict[str, object] = {"kind": "binary", "labels": list(tasks)}
        if empty or marks:
            settings["missing_labels"] = "no" if marks else "unknown"
        uncertain = {name: n for name, n in uncertain.items() if name in tasks}
        if uncertain:
            settings["uncertain"] = meaning
        if marks and tasks:
            self.notes.append(
                f"only yes and empty cells: {', '.join(map(shorten, tasks))}; an empty cell is read as no "
                "(`missing_labels: no`)"
            )
        return Learned(settings, tasks, rare, empty, uncertain)

    def _other(self, name: str) -> Learned | None:
        """Return a column of lists, tags, classes or numbers; None, with a reason if it looks like one."""
        column = self.cells[name]
        if spoiled := self._spoiled(name):
            self.reasons[name] = self.flaws[name] = f"`{shorten(name)}`: {spoiled}"
            return None
        if self.tags.get(name):
            return self._propose_tags(name)
        if reason := why_not(name, column, tags=self.tags):
            self._refuse(name, reason)
            return None
        if name in self.tags.values():
            return None
        if (label_list := list_in(column, name)) is not None:
            settings, has = label_list
            counts = {label: sum(flags) for label, flags in has.items()}
            rare = {label: count for label, count in counts.items() if self.units.few(has[label])}
            return Learned(settings, {x: n for x, n in counts.items() if x not in rare}, rare)
        # Whole numbers that never repeat are likely ids.
        if (part := of_kind(column, name, can_be_whole=self.are_named)) is None:
            self._refuse(name, self._why_no_kind(column))
            return None
        read = number_of if part[0]["kind"] == "regression" else class_of
        values = [None if is_missing(cell) else read(cell) for cell in column]
        if self.units.few(values, numbers=read is number_of):
            self._refuse(name, f"has fewer than {FEWEST} different texts with or without its main value")
            return None
        empty = sum(map(is_missing, column))
        return Learned(*part, empty={name: empty} if empty else {})

    def _propose_tags(self, name: str) -> Learned | None:
        tags = list(map(list_or_empty, self.cells[name]))
        words = list(map(list_or_empty, self.table.column(self.tags[name])))
        if uneven := [n for n, row in enumerate(tags) if len(row) != len(words[n])]:
            lines = [self.table.rows[n][0] for n in uneven]
            self._refuse(
                name,
                f"has {len(tags[uneven[0]])} tags for {len(words[uneven[0]])} words of "
                f"`{shorten(self.tags[name])}` at {self.table.unit} {lines[0]}"
                + also(self.table.unit, lines[1:]),
            )
            return None
        if IGNORED in set(chain(*tags)):
            self._refuse(name, NO_PIECES)
            return None
        classes = names_of_numbers(tags)
        named, _ = named_tags(tags, classes)
        rows = {n for n, row in enumerate(named) if {OUTSIDE} < {OUTSIDE, *row}}
        if len({self.units.keys[0][n] for n in rows}) < FEWEST or self.units.trained.isdisjoint(rows):
            self._refuse(name, f"has tags other than {OUTSIDE} in fewer than {FEWEST} texts")
            return None
        columns: dict[str, object] = {"kind": "tagging", "tags": name}
        return Learned(columns | ({"classes": list(classes)} if classes else {}), {})

    def _refuse(self, name: str, reason: str) -> None:
        """Keep why a column cannot be learned, if that is known."""
        if reason:
            self.reasons[name] = f"`{shorten(name)}` {reason}"

    def _spoiled(self, name: str) -> str:
        """Return why a column of which most cells, but not all, are 0 or 1, or yes or no, is no label."""
        column, flags = self.cells[name], self.flags[name]
        bad = [n for n, flag in enumerate(flags) if flag is None and not is_missing(column[n])]
        filled = sum(not is_missing(cell) for cell in column)
        if not 0 < len(bad) <= (1 - MOSTLY) * filled or self._has_third_class(column, bad):
            return ""
        lines = [self.table.rows[place][0] for place in bad]
        return (
            f"{filled - len(bad)} of {filled} cells are 0 or 1, or yes or no; {self.table.unit} {lines[0]} "
            f"has {shorten(repr(column[bad[0]]), 40)}{also(self.table.unit, lines[1:])}"
        )

    @staticmethod
    def _has_third_class(column: Sequence[object], others: Sequence[int]) -> bool:
        """Whether a name such as `maybe` is at several of these places, and yes or no at others."""
        counts = Counter(str(column[place]).strip() for place in others)
        words = any(str(cell).strip().lower() in FLAGS for cell in column)
        return max(counts.values(), default=0) > 1 and words

    def _why_no_kind(self, column: Sequence[object]) -> str:
        """Return why a column has neither classes nor numbers; empty if it is no likely one."""
        filled = [cell for cell in column if not is_missing(cell)]
        values = set(map(str, filled))
        if len(values) < 2:
            return f"has only the value {shorten(next(iter(values)), 40)}" if values else "is empty"
        if are_numbers(filled, can_be_whole=True):
            return ""
        most = min(MOST_CLASSES, len(filled) // FEWEST)
        return (
            f"has {len(values)} different values in {len(filled)} rows; classes are {most} at most, with "
            f"{FEWEST} rows or more each on average"
        )


def choose_learned(proposals: Sequence[Learned], cells: Mapping[str, Sequence[object]]) -> list[Learned]:
    """Return what is learned if the user names nothing, of what can be.

    Labels, lists and classes that are names; without any, columns of tags, then of fractions, then the only
    one of whole numbers. Of two columns of classes that say the same, only the first is learned.
    """
    first = [one for one in proposals if one.columns["kind"] == "binary" and one.counts]
    tagged = [one for one in proposals if one.columns["kind"] == "tagging"]
    if len(tagged) == 1 and not first:
        return tagged
    rest = [one for one in proposals if one not in first and not is_record(one.name, cells[one.name])]
    classes = [one for one in rest if one.columns["kind"] == "multiclass" and not is_tree(cells[one.name])]
    named = [one for one in classes if not are_numbers(list(one.counts), can_be_whole=True)]
    usual = [one for one in named if not ABOUT & words_of_name(one.name)]
    if first or usual:
        flags = [name for one in first if "labels" in one.columns for name in one.counts]
        return [*first, *_different(usual, flags, cells)]
    numbers = [one for one in rest if one.columns["kind"] == "regression"]
    numbers = [one for one in numbers if are_numbers([x for x in cells[one.name] if not is_missing(x)])]
    return numbers or (classes if len(classes) == 1 else [])


def _different(
    classes: Sequence[Learned], flags: Sequence[str], cells: Mapping[str, Sequence[object]]
) -> list[Learned]:
    """Return columns of classes without those that an earlier one determines, such as names of numbers."""
    kept, names = [], [*flags]
    for one in classes:
        if not any(are_the_same(cells[one.name], cells[name]) for name in names):
            kept.append(one)
            names.append(one.name)
    return kept


def are_the_same(one: Sequence[object], two: Sequence[object]) -> bool:
    """Whether each value of a column has one value of the other."""
    pairs = set(zip(map(str, one), map(str, two), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def without(one: Learned, taken: set[str]) -> Learned:
    """Return what is learned without labels whose name another task has."""
    counts = {name: count for name, count in one.counts.items() if name not in taken}
    return replace(
        one, counts=counts, rare={**one.rare, **{x: one.counts[x] for x in taken if x in one.counts}}
    )
