"""Hierarchies of labels, such as that of ICD or MeSH, from tables of labels and their parents."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from mtlv.data.tables.cells import plain_value
from mtlv.data.tables.rows import read_table
from mtlv.errors import DataError
from mtlv.formatting import list_first


def read_levels(path: Path, names: Sequence[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return, for each of `names`, the label and its ancestors at each level of a hierarchy, from the top.

    `path` is a table with the columns `label` and `parent` (may be empty), also of other labels. A label with
    several parents (MeSH) has a row for each, and ancestors at a level have the order of these rows. A label
    without a parent is at level 1, others one below their lowest parent.

    Raises:
        DataError: the table lacks a column or one of `names`, or a label is its own ancestor.
    """
    table = read_table(path)
    table.need(("label", "parent"), "`data.parents`")
    parents: dict[str, list[str]] = {}
    for _, row in table.rows:
        label, parent = (plain_value(row.get(key)) for key in ("label", "parent"))
        parents.setdefault(label, []).extend([parent] if parent else [])
    try:
        order = list(TopologicalSorter(parents).static_order())
    except CycleError as error:
        text = f"`data.parents`: a label in `{path.name}` is its own ancestor"
        raise DataError(text, got=" > ".join(error.args[1]), then="remove one of these rows") from error
    above: dict[str, dict[str, int]] = {}  # level of each ancestor, and of the label
    for label in order:
        known = parents.get(label, ())
        level = 1 + max((above[parent][parent] for parent in known), default=0)
        above[label] = {name: at for parent in known for name, at in above[parent].items()} | {label: level}
    if missing := [name for name in names if name not in above]:
        raise DataError(
            f"`data.parents`: `{path.name}` has no row of {list_first([f'`{name}`' for name in missing])}",
            then="name it as in the corpus, or add it; the parent of a label at the top is an empty cell",
        )
    return {
        name: tuple(tuple(n for n, at in above[name].items() if at == level) for level in range(1, depth + 1))
        for name, depth in ((name, above[name][name]) for name in names)
    }
