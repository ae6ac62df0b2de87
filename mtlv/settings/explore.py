"""Conversion of `explore` to members: random partitions, and the best one by what they measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mtlv.settings.draft import Change, Draft, Origin
from mtlv.settings.problems import sentence
from mtlv.settings.variant import Variant

FORM = "a mapping with partitions, k, seed and changes"
DRAWN, PROPOSED = "drawn", "proposed"
ARCHITECTURE = "gmtl"  # only groups with a model each are measured apart from one another
MEASURED = {"method": "best", "features": "surrogate", "from": [f"{DRAWN} *"]}


def from_explore(explore: Any, draft: Draft, origin: Origin, place: str) -> tuple[list[Variant], list[str]]:
    """Return the members of an exploration, the proposed groups last, and problems."""
    problems = list(_problems(explore, draft, place))
    if problems:
        return [Variant(())], problems
    count, ks, seed = explore["partitions"], explore["k"], explore.get("seed") or 0
    ks = ks if isinstance(ks, list) else [ks]
    here = Origin(lambda _: origin.place(()), origin.folder)

    def member(name: str, grouping: Mapping[str, Any], changes: Mapping[str, Any]) -> Variant:
        values: dict[str, Any] = {"architecture": ARCHITECTURE, "grouping": grouping, **changes}
        return Variant(tuple(Change(key, value, here) for key, value in values.items()), name, place)

    drawn = [
        member(
            f"{DRAWN} {number + 1}",
            {"method": "random_even", "k": ks[number % len(ks)], "seed": seed + number},
            explore.get("changes") or {},
        )
        for number in range(count)
    ]
    return [*drawn, member(PROPOSED, MEASURED, {})], []


def _problems(explore: Any, draft: Draft, place: str) -> Iterator[str]:
    if not isinstance(explore, dict) or not explore:
        yield sentence(place, "explore", got=explore, allowed=FORM)
        return
    for key in explore:
        if key not in TAKEN:
            yield sentence(place, f"explore.{key}", then=f"unknown key; allowed here: {', '.join(TAKEN)}")
    if draft.get(("stages",)) is not None:
        yield sentence(place, "explore", then="given together with `stages`; keep one of them")
    for key, (is_right, allowed) in TAKEN.items():
        missing = key in ("partitions", "k") and explore.get(key) is None
        if missing or (explore.get(key) is not None and not is_right(explore[key])):
            yield sentence(place, f"explore.{key}", got=explore.get(key), allowed=allowed)


def _is_count(value: Any, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _are_counts(value: Any) -> bool:
    return _is_count(value) or (isinstance(value, list) and bool(value) and all(map(_is_count, value)))


TAKEN: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "partitions": (lambda value: _is_count(value, 3), "a whole number of 3 or more"),
    "k": (_are_counts, "a number of groups, or a list of them"),
    "seed": (lambda value: _is_count(value, 0), "a whole number of 0 or more"),
    "changes": (lambda value: isinstance(value, dict), "a mapping of keys to values"),
}
