"""The documents of a run's corpus: their texts and subgroups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from mtlv.data.tables.cells import number_of
from mtlv.data.tables.labels import by_number
from mtlv.errors import shorten

if TYPE_CHECKING:
    from mtlv.data.source import Corpus
    from mtlv.plan import Scores

MOST_VALUES = 10  # of a column; with more, numbers are cut at their quartiles, and rare texts are joined


def texts_of(corpus: Corpus) -> dict[str, str]:
    """Return the texts by document id; for pairs, both texts on separate lines."""
    return {
        id_: "\n".join(texts)
        for ids, member in _members(corpus)
        for id_, *texts in zip(ids, *filter(None, (member.texts, member.seconds)), strict=True)
    }


def has_targets(corpus: Corpus, scores: Scores) -> bool:
    """Whether documents have the targets of their scores: rows without ids may have been sorted anew."""
    place = {id_: row for row, id_ in enumerate(corpus.ids)}
    rows = [place[id_] for id_ in scores.ids]
    return all(
        np.array_equal(corpus.targets[name][rows][task.mask], task.targets[task.mask])
        for name, task in scores.tasks.items()
    )


def subgroups_of(corpus: Corpus) -> dict[str, dict[str, frozenset[str]]]:
    """Return the document ids of each group, by column and name, in order; the last may be `missing`."""
    columns: dict[str, dict[str, str]] = {}
    for ids, member in _members(corpus):
        for column, cells in member.subgroups.items():
            columns.setdefault(column, {}).update(zip(ids, cells, strict=True))
    groups: dict[str, dict[str, frozenset[str]]] = {}
    for column, values in columns.items():
        names_of = {**_name_groups(Counter(filter(None, values.values()))), "": "missing"}
        members: dict[str, list[str]] = {name: [] for name in names_of.values()}
        for id_, value in values.items():
            members[names_of[value]].append(id_)
        groups[column] = {name: frozenset(ids) for name, ids in members.items() if ids}
    return groups


def _members(corpus: Corpus) -> Iterator[tuple[list[str], Corpus]]:
    """Yield ids and corpus of each source with targets; others may be too large, and are not tested."""
    for member in corpus.members or (corpus,):
        if member.targeted:
            yield [f"{member.name}/{id_}" if corpus.members else id_ for id_ in member.ids], member


def _name_groups(counts: Counter[str]) -> dict[str, str]:
    """Return the group of each value: the value, a range of numbers, or for rare texts `other`; in order."""
    if len(counts) > MOST_VALUES:
        with suppress(ValueError):
            return _quarters({value: number_of(value) for value in counts}, counts)
    frequent = sorted(dict(counts.most_common(MOST_VALUES)), key=by_number)
    return {value: shorten(value) for value in frequent} | {v: "other" for v in counts if v not in frequent}


def _quarters(numbers: dict[str, float], counts: Counter[str]) -> dict[str, str]:
    """Return the range of each number between two quartiles of the documents: `18 to 34`."""
    values = sorted(numbers, key=numbers.__getitem__)
    of_documents = [numbers[value] for value in values for _ in range(counts[value])]
    edges = np.unique(np.quantile(of_documents, (0.25, 0.5, 0.75)))
    names: dict[str, str] = {}
    for _, members in groupby(values, key=lambda value: int(np.searchsorted(edges, numbers[value]))):
        same = list(members)
        name = f"{numbers[same[0]]:.12g} to {numbers[same[-1]]:.12g}"
        names |= dict.fromkeys(same, name)
    return names
