"""Names of a suite's members, and removal of repeated members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mtlv.formatting import list_first, many
from mtlv.settings.identity import work_key
from mtlv.settings.names import is_read, make_names, with_number
from mtlv.settings.schema import Settings


@dataclass(frozen=True)
class Member:
    """One set of settings in a suite."""

    name: str  # readable, unique within the suite
    settings: Settings  # complete and checked
    changes: dict[str, Any]  # values that differ from the common part of the config, by dotted key
    # where each key was written, such as `config.yml:12`; without keys at their default
    places: Mapping[str, str] = field(default_factory=dict)
    made: str = ""  # the name with a mark for the number of groups; empty for a name of the config
    # numbers of the runs for which it has one of the values to try, see `mtlv.evaluation.tuning`; None is a
    # run that tries none. Several runs may have the same member.
    tuned: tuple[int | None, ...] = (None,)

    def name_with_groups(self, groups: int) -> str:
        """Return the name with the number of groups; a name from the config is returned unchanged."""
        return with_number(self.made, groups) or self.name


@dataclass(frozen=True)
class Unnamed:
    """A member before it has a name."""

    config_name: str | None  # its name in the config, if it has one there
    # settings, changes, places: as of a `Member`
    settings: Settings
    changes: Mapping[str, Any]
    places: Mapping[str, str]
    wrong: tuple[str, ...] = ()  # keys with wrong values, which have their defaults in `settings`
    tuned: int | None = None


def collapse(members: Sequence[Member]) -> tuple[list[Member], list[str]]:
    """Remove members that repeat an earlier one; also return a note about them."""
    first: dict[str, Member] = {}
    repeated: dict[str, list[str]] = {}  # names of those left out
    for member in members:
        key = work_key(member.settings)
        if key in first:
            repeated.setdefault(key, []).append(member.name)
            tuned = dict.fromkeys((*first[key].tuned, *member.tuned))
            first[key] = replace(first[key], tuned=tuple(tuned))
        first.setdefault(key, member)
    if not repeated:
        return list(first.values()), []
    names = "; ".join(_describe_left_out(first[key].name, others) for key, others in repeated.items())
    ungrouped = any(
        member.settings.grouping != first[work_key(member.settings)].settings.grouping for member in members
    )
    why = " (`grouping` does not concern stl and mtl)" if ungrouped else ""
    left_out = len(members) - len(first)
    return _drop_equal_runs(list(first.values())), [
        f"{many(left_out, 'repeated member')} left out{why}: {names}"
    ]


def _describe_left_out(kept: str, others: Sequence[str]) -> str:
    named = list(dict.fromkeys(f"`{name}`" for name in others if name != kept))
    return f"{list_first(named)}, with the settings of `{kept}`" if named else f"`{kept}`, kept once"


def _drop_equal_runs(members: Sequence[Member]) -> list[Member]:
    """Remove runs that try the same values as an earlier run from the members."""
    values: dict[int, list[int]] = {}
    for place, member in enumerate(members):
        for run in member.tuned:
            if run is not None:
                values.setdefault(run, []).append(place)
    first = {tuple(places): run for run, places in reversed(values.items())}
    kept = {None, *first.values()}
    return [replace(member, tuned=tuple(run for run in member.tuned if run in kept)) for member in members]


def name_members(members: Sequence[Unnamed]) -> list[Member]:
    """Name each member: by the config, or by the settings that differ."""
    made = make_names([member.settings for member in members], [member.changes for member in members])
    taken = {member.config_name: work_key(member.settings) for member in members if member.config_name}
    out: list[Member] = []
    for member, marked_name in zip(members, made, strict=True):
        kept = {key: value for key, value in member.changes.items() if is_read(key, member.settings)}
        key, number = work_key(member.settings), 1
        name = member.config_name or with_number(marked_name, None)
        while not member.config_name and taken.setdefault(name, key) != key:  # by a name of the config, say
            number += 1
            name = f"{with_number(marked_name, None)} ({number})"
        suffix = f" ({number})" if number > 1 else ""
        made_name = "" if member.config_name else marked_name + suffix
        out.append(Member(name, member.settings, kept, member.places, made_name, (member.tuned,)))
    return out
