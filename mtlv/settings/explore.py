"""Conversion of `explore` to members: random partitions, and the best one by what they measured.

With `halving`, all partitions are trained for a share of the epochs first, and the better half of them for a
larger share, round by round (successive halving; Jamieson and Talwalkar, AISTATS 2016). The groups that the
first round predicts to be best join the second one. `controls` are random groups of the proposed sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from math import inf
from typing import Any

from mtlv.settings.draft import Change, Draft, Origin
from mtlv.settings.problems import sentence
from mtlv.settings.variant import Variant

FORM = "a mapping with partitions or budget, k, seed, changes, halving and controls"
DRAWN, ROUND, PROPOSED, CONTROL = "drawn", "round", "proposed", "random"
LEAST, MOST = 3, 1000  # partitions; a suite has no more members
ARCHITECTURE = "gmtl"  # only groups with a model each are measured apart from one another
LENGTHS = ("epochs", "budget")  # of `training`: what `halving` shares out


def _best(features: str, of: str) -> dict[str, Any]:
    return {"method": "best", "features": features, "from": [f"{of} *"]}


def from_explore(explore: Any, draft: Draft, origin: Origin, place: str) -> tuple[list[Variant], list[str]]:
    """Return the members of an exploration, the proposed groups and their controls last, and problems."""
    problems = list(_problems(explore, draft, place))
    problems = problems or [
        *_problems_of_budget(explore, place),
        *_problems_of_halving(explore, draft, place),
    ]
    if problems:
        return [Variant(())], problems
    ks, seed = _ks(explore), explore.get("seed") or 0
    count = explore["partitions"] if explore.get("budget") is None else _affordable(explore)
    here = Origin(lambda _: origin.place(()), origin.folder)

    def made(values: Mapping[str, Any]) -> tuple[Change, ...]:
        return tuple(Change(key, value, here) for key, value in values.items())

    def member(
        name: str, grouping: Mapping[str, Any], length: Mapping[str, int], changes: Mapping[str, Any]
    ) -> Variant:
        values: dict[str, Any] = {"architecture": ARCHITECTURE, "grouping": grouping, **changes}
        return Variant(made(values), name, place, made(length))

    first, *later = _lengths(explore, draft)
    members = [
        member(
            f"{DRAWN} {number + 1}",
            {"method": "random_even", "k": ks[number % len(ks)], "seed": seed + number},
            first,
            explore.get("changes") or {},
        )
        for number in range(count)
    ]
    of, features = DRAWN, "surrogate"
    for number, (length, (predicted, places)) in enumerate(zip(later, _rounds(count), strict=False), 2):
        name, by = f"{ROUND} {number}", _best("group_score", of)
        members += [member(f"{name} predicted", _best("surrogate", of), length, {})] * predicted
        members += [
            member(f"{name} place {best}", by | {"place": best}, length, {}) for best in range(1, places + 1)
        ]
        of, features = name, "group_score"
    proposed = _best(features, of)
    members.append(member(PROPOSED, proposed, {}, {}))
    for number in range(explore.get("controls") or 0):
        control = proposed | {"method": "random", "seed": seed + number}
        members.append(member(f"{CONTROL} {number + 1}", control, {}, {}))
    return members, []


def _ks(explore: Mapping[str, Any]) -> list[int]:
    return explore["k"] if isinstance(explore["k"], list) else [explore["k"]]


def _rounds(count: int) -> Iterator[tuple[int, int]]:
    """Yield the partitions of each later round: those that the first predicts, and the best measured ones."""
    predicted = 1  # from the first round only
    while True:
        count = -(-count // 2)
        yield predicted, count
        predicted = 0


def _affordable(explore: Mapping[str, Any]) -> int:
    """Return the number of partitions that can be measured for `budget`, which may be fewer than `LEAST`."""
    count = LEAST - 1
    while count < MOST and _cost(explore, count + 1) <= explore["budget"]:
        count += 1
    return count


def _cost(explore: Mapping[str, Any], count: int) -> float:
    """Return the models that measuring partitions takes at most, those of earlier rounds in shares of one.

    On one data set, a model of a group takes about as long as one model of all tasks.
    """
    ks, (first, *later) = _ks(explore), explore.get("halving") or [1]
    drawn = first * sum(ks[number % len(ks)] for number in range(count))
    rounds = zip(later, _rounds(count), strict=False)
    return drawn + sum(share * max(ks) * sum(partitions) for share, partitions in rounds)


def _lengths(explore: Mapping[str, Any], draft: Draft) -> list[dict[str, int]]:
    """Return the changes to the length of training in each round; none without halving."""
    key = "epochs" if draft.get(("training", "budget")) is None else "budget"
    whole = draft.get(("training", key))
    if not explore.get("halving") or not _is_count(whole):  # a length that is wrong is named elsewhere
        return [{}]
    return [{f"training.{key}": max(1, round(share * whole))} for share in explore["halving"]]


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
        missing = explore.get(key) is None and (
            key == "k" or (key == "partitions" and explore.get("budget") is None)
        )
        if missing or (explore.get(key) is not None and not is_right(explore[key])):
            yield sentence(place, f"explore.{key}", got=explore.get(key), allowed=allowed)
    changes = explore.get("changes")
    changes = changes if isinstance(changes, dict) else {}
    for key in ("architecture", "architecture.name"):
        value = changes.get(key, ARCHITECTURE)
        name = value.get("name", ARCHITECTURE) if isinstance(value, dict) else value
        if name != ARCHITECTURE:
            then = "leave it out: only groups with a model each are measured apart from one another"
            yield sentence(place, f"explore.changes.{key}", got=name, allowed=ARCHITECTURE, then=then)


def _problems_of_budget(explore: Mapping[str, Any], place: str) -> Iterator[str]:
    if explore.get("budget") is None:
        return
    if explore.get("partitions") is not None:
        then = "given together with `explore.partitions`; keep one of them"
        yield sentence(place, "explore.budget", then=then)
    elif _affordable(explore) < LEAST:
        allowed = f"{_cost(explore, LEAST):g} or more, for {LEAST} partitions"
        yield sentence(place, "explore.budget", got=explore["budget"], allowed=allowed)


def _problems_of_halving(explore: Mapping[str, Any], draft: Draft, place: str) -> Iterator[str]:
    changes = explore.get("changes") or {}
    of_training = changes.get("training")
    for key in LENGTHS if explore.get("halving") else ():
        if f"training.{key}" in changes or (isinstance(of_training, dict) and key in of_training):
            then = f"given together with `explore.changes` of `training.{key}`; keep one of them"
            yield sentence(place, "explore.halving", then=then)
    lengths = [value for each in _lengths(explore, draft) for value in each.values()]
    if any(one == other for one, other in pairwise(lengths)):
        yield sentence(
            place,
            "explore.halving",
            got=", ".join(map(str, lengths)),
            allowed="another number of epochs in each round",
            then="raise `training.epochs`, or leave a share out",
        )


def _is_count(value: Any, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _are_counts(value: Any) -> bool:
    return _is_count(value) or (isinstance(value, list) and bool(value) and all(map(_is_count, value)))


def _are_shares(value: Any) -> bool:
    numbers = isinstance(value, list) and all(type(each) in (int, float) for each in value)
    return numbers and len(value) > 1 and all(a < b for a, b in pairwise([0, *value])) and value[-1] == 1


TAKEN: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "partitions": (lambda value: _is_count(value, LEAST), f"a whole number of {LEAST} or more"),
    "budget": (lambda value: type(value) in (int, float) and 0 < value < inf, "a number of models above 0"),
    "k": (_are_counts, "a number of groups, or a list of them"),
    "seed": (lambda value: _is_count(value, 0), "a whole number of 0 or more"),
    "changes": (lambda value: isinstance(value, dict), "a mapping of keys to values"),
    "controls": (lambda value: _is_count(value, 0), "a whole number of 0 or more"),
    "halving": (_are_shares, "two or more increasing numbers above 0, the last of them 1"),
}
