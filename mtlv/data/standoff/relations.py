"""Relations of marked entities: a document for each pair of entities that may have one.

Pairs are of types between which the training part has relations (without parts, all texts), within one
document of a text. Where relations are of concepts, which have several mentions, the pair is the two nearest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import NamedTuple

from mtlv.data.examples import Example, answers_corpus
from mtlv.data.source import Card, Corpus
from mtlv.data.standoff.losses import Losses, by_type
from mtlv.data.standoff.marks import Mark, MarkedText, Region, Relation, regions_of
from mtlv.errors import DataError
from mtlv.plan.spans import Span
from mtlv.plan.task import Task

NONE = "none"
REVERSED = " (reversed)"
MOST_PAIRS = 1_000_000

Ids = tuple[str, str]
"""Ids by which a relation names two entities, sorted."""
Types = tuple[str, str]
"""Types of the first and the second entity of a relation."""


class _Pair(NamedTuple):
    """Two mentions in the order of the text."""

    region: Region
    left: Mark
    right: Mark

    @property
    def distance(self) -> int:
        return max(self.right.start - self.left.end, 0)


def relations_corpus(
    card: Card, texts: Sequence[tuple[str, MarkedText]], losses: Losses, *, task: str, missing: str = ""
) -> Corpus:
    """Build a corpus of one task: the relation of two entities, or `none`.

    Args:
        card: card of the corpus.
        texts: part (or empty) and content of each text.
        losses: counts what is left out; its notes are those of the corpus.
        task: name of the task.
        missing: note on parts without a file.

    Raises:
        DataError: no relations, too many pairs, or too many entities that are not at their offsets.
    """
    examples = relation_examples(texts, losses)
    counts = Counter(example.answer for example in examples)
    made = Task(
        task,
        kind="multiclass",
        source=card.name,
        classes=(NONE, *sorted(counts.keys() - {NONE})),
        negative=(NONE,),
        description="How two marked entities of a text are related, if at all.",
        main_metric="f1_micro_positive",
    )
    roles = Counter(" and ".join(span.type for span in example.mentions or ()) for example in examples)
    pairs = f"{len(examples)} pairs of entities in one document ({by_type(roles)}): {by_type(counts)}"
    notes = (missing, pairs, *losses.notes())
    return answers_corpus(replace(card, other_tasks=(made,)), examples, *notes)


def relation_examples(texts: Sequence[tuple[str, MarkedText]], losses: Losses) -> list[Example]:
    """Return the pairs of entities of texts, each with the type of its relation, or `none`.

    The two mentions are in the order of their roles. If the same types are related in both orders, they are
    in the order of the text, and a directed relation from the later to the earlier one is a class of its own.

    Args:
        texts: part (or empty) and content of each text; entities have the ids that relations name.
        losses: counts what is left out.

    Raises:
        DataError: no relations between marked entities, or too many pairs.
    """
    types = _related_types([text for part, text in texts if part in ("", "train")])
    types = types or _related_types([text for _, text in texts])
    if not types:
        raise DataError(
            "no relations between marked entities are in the data",
            allowed="R1, tab, Type Arg1:T1 Arg2:T2 (BRAT), or id, type, identifier, identifier (PubTator)",
            then="leave out `data.columns.kind`, to learn the entities",
        )
    examples: list[Example] = []
    for part, text in texts:
        for example in _examples(text, part, types, losses):
            examples.append(example)
            if len(examples) > MOST_PAIRS:
                then = "use fewer texts, or divide them by blank lines"
                raise DataError("too many pairs of entities", allowed=f"up to {MOST_PAIRS:,}", then=then)
    return examples


def _related_types(texts: Iterable[MarkedText]) -> set[Types]:
    """Return the types between which there are relations."""
    pairs: set[Types] = set()
    for text in texts:
        types: dict[str, set[str]] = {}
        for mark in text.marks:
            for name in mark.names:
                types.setdefault(name, set()).add(mark.type)
        for relation in text.relations:
            pairs |= {*product(types.get(relation.first, ()), types.get(relation.second, ()))}
    return pairs


def _examples(text: MarkedText, part: str, types: set[Types], losses: Losses) -> Iterator[Example]:
    for mark in text.marks:
        losses.read[mark.type] += 1
    related: dict[Ids, Relation] = {}
    for relation in text.relations:
        earlier = related.setdefault(_ids(relation.first, relation.second), relation)
        if earlier.type != relation.type:
            losses.add("relations left out: an earlier one is of the same entities", relation.type)
    nearest = _nearest(text, types)
    known = {name for mark in text.marks for name in mark.names}
    for ids, relation in related.items():
        if not known.issuperset(ids):
            losses.add("relations left out: one of them is no marked entity", relation.type)
        elif ids not in nearest:
            losses.add(
                "relations left out: their entities are in different documents of a text", relation.type
            )
    by_pair: dict[_Pair, list[Ids]] = {}
    for ids, pair in nearest.items():
        by_pair.setdefault(pair, []).append(ids)
    for pair in sorted(by_pair):
        yield _example(text, pair, part, _relation(by_pair[pair], related, losses), types)


def _nearest(text: MarkedText, types: set[Types]) -> dict[Ids, _Pair]:
    """Return the nearest two mentions within one document, by the ids of the two entities."""
    nearest: dict[Ids, _Pair] = {}
    marks = _each_once(text.marks)
    for region in regions_of(text):
        here = [mark for mark in marks if region.start <= mark.start and mark.end <= region.end]
        for left, right in combinations(here, 2):
            if not {(left.type, right.type), (right.type, left.type)} & types:
                continue
            pair = _Pair(region, left, right)
            for first, second in product(left.names, right.names):
                ids = _ids(first, second)
                if first != second and pair.distance < nearest.get(ids, _FARTHEST).distance:
                    nearest[ids] = pair
    return nearest


def _each_once(marks: Iterable[Mark]) -> list[Mark]:
    """Return entities in the order of the text, equal ones as one with the ids of all."""
    names: dict[tuple[int, int, str], list[str]] = {}
    for start, end, type_, ids in marks:
        if start < end:
            names.setdefault((start, end, type_), []).extend(ids or (f"{start}-{end}",))
    return [Mark(*place, tuple(dict.fromkeys(names[place]))) for place in sorted(names)]


def _relation(several: Iterable[Ids], related: Mapping[Ids, Relation], losses: Losses) -> Relation | None:
    """Return the first relation of two mentions."""
    relations = [related[ids] for ids in several if ids in related]
    for relation in relations[1:]:
        if relation.type != relations[0].type:
            losses.add("relations left out: an earlier one is of the same entities", relation.type)
    return relations[0] if relations else None


def _example(
    text: MarkedText, pair: _Pair, part: str, relation: Relation | None, types: set[Types]
) -> Example:
    region, left, right = pair
    is_forward, is_backward = (left.type, right.type) in types, (right.type, left.type) in types
    answer = NONE if relation is None else relation.type
    if relation is not None and relation.is_directed and is_forward and is_backward:
        answer += "" if relation.first in left.names else REVERSED
    roles = (left, right) if is_forward else (right, left)
    places = "-".join(f"{mark.start}.{mark.end}.{mark.type}" for mark in (left, right))
    return Example(
        f"{text.name}.{region.number}.{places}",
        text.text[region.start : region.end],
        answer,
        text.name,
        part,
        mentions=tuple(Span(mark.start - region.start, mark.end - region.start, mark.type) for mark in roles),
        group=text.name,
    )


def _ids(first: str, second: str) -> Ids:
    return (first, second) if first < second else (second, first)


_FARTHEST = _Pair(Region(0, 0, 0), Mark(0, 0, ""), Mark(10**18, 10**18, ""))
