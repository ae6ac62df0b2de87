"""What was read of texts with marked entities, what was changed, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from mtlv.errors import DataError

MOST_WRONG = 0.01  # maximum share of entities whose text differs; more indicate wrong offsets
MOST_NAMED = 20  # types in a note


@dataclass
class Losses:
    """Counts of entities by type."""

    read: Counter[str] = field(default_factory=Counter)  # all entities
    kept: Counter[str] = field(default_factory=Counter)  # entities that are learned
    count: dict[str, Counter[str]] = field(default_factory=dict)  # by what happened
    others: Counter[str] = field(default_factory=Counter)  # what is no entity, by what happened
    wrong: list[DataError] = field(default_factory=list)  # entities whose text differs

    def add(self, event: str, type_: str) -> None:
        """Count an entity of this type, or a relation, to which `event` happened."""
        self.count.setdefault(event, Counter())[type_] += 1

    def notes(self) -> tuple[str, ...]:
        """Return notes for the user.

        Raises:
            DataError: too many entities are not at their offsets.
        """
        if len(self.wrong) > MOST_WRONG * self.read.total():
            raise self.wrong[0]
        notes = [f"{number} {event}" for event, number in self.others.items() if number]
        notes += [f"{types.total()} {event} ({by_type(types)})" for event, types in self.count.items()]
        gone = Counter({name: number for name, number in self.read.items() if not self.kept[name]})
        if gone and self.kept:
            notes.append(f"types of which no entity is learned: {by_type(gone)}")
        if notes and self.kept:
            notes.insert(
                0, f"{self.kept.total()} of {self.read.total()} entities are learned ({by_type(self.kept)})"
            )
        return tuple(notes)


def by_type(counts: Mapping[str, int]) -> str:
    """Return counts by type, the largest first."""
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    more = [f"{len(order) - MOST_NAMED} more types"] if len(order) > MOST_NAMED else []
    return ", ".join([f"{number} {name}" for name, number in order[:MOST_NAMED]] + more)
