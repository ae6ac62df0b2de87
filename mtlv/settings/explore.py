"""Conversion of `explore` to members: random partitions, and the best one by what they measured.

With `halving`, all partitions are trained for a share of the epochs first, and the better half of them for a
larger share, round by round (successive halving; Jamieson and Talwalkar, AISTATS 2016). The groups that the
first round predicts to be best join the second one. `controls` are random groups of the proposed sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from mtlv.settings.draft import Draft, Origin
from mtlv.settings.problems import sentence
from mtlv.settings.suite_schema import MIN_PARTITIONS, ExploreSettings
from mtlv.settings.variant import Variant, variant

DRAWN, ROUND, PROPOSED, CONTROL = "drawn", "round", "proposed", "random"
MAX_PARTITIONS = 1000  # partitions; a suite has no more members
ARCHITECTURE = "gmtl"  # only groups with a model each are measured apart from one another
LENGTH_KEYS = ("epochs", "budget")  # of `training`: what `halving` shares out


def _best(features: str, of: str) -> dict[str, Any]:
    return {"method": "best", "features": features, "from": [f"{of} *"]}


def from_explore(explore: ExploreSettings, draft: Draft, origin: Origin) -> tuple[list[Variant], list[str]]:
    """Return the members of an exploration, and problems. The proposed groups and their controls are last."""
    problems = list(_problems(explore, draft, origin.place(())))
    if problems:
        return [Variant(())], problems
    ks, seed = explore.ks, explore.seed or 0
    count = explore.partitions or _affordable(explore)

    def member(
        name: str, grouping: Mapping[str, Any], length: Mapping[str, int], changes: Mapping[str, Any]
    ) -> Variant:
        return variant(name, origin, {"architecture": ARCHITECTURE, "grouping": grouping, **changes}, length)

    first, *later = _lengths(explore, draft)
    members = [
        member(
            f"{DRAWN} {number + 1}",
            {"method": "random_even", "k": ks[number % len(ks)], "seed": seed + number},
            first,
            explore.changes or {},
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
    for number in range(explore.controls or 0):
        control = proposed | {"method": "random", "seed": seed + number}
        members.append(member(f"{CONTROL} {number + 1}", control, {}, {}))
    return members, []


def _rounds(count: int) -> Iterator[tuple[int, int]]:
    """Yield the partitions of each later round: those predicted by the first round, and the best so far."""
    predicted = 1  # from the first round only
    while True:
        count = -(-count // 2)
        yield predicted, count
        predicted = 0


def _affordable(explore: ExploreSettings) -> int:
    """Return how many partitions `budget` allows; this may be fewer than `MIN_PARTITIONS`."""
    count = MIN_PARTITIONS - 1
    while count < MAX_PARTITIONS and _cost(explore, count + 1) <= (explore.budget or 0):
        count += 1
    return count


def _cost(explore: ExploreSettings, count: int) -> float:
    """Return the maximum cost of measuring the partitions, in models; shorter trainings count in part.

    On one data set, training a model takes about as long for some tasks as for all of them.
    """
    ks, (first, *later) = explore.ks, explore.halving or (1,)
    drawn = first * sum(ks[number % len(ks)] for number in range(count))
    rounds = zip(later, _rounds(count), strict=False)
    return drawn + sum(share * max(ks) * sum(partitions) for share, partitions in rounds)


def _lengths(explore: ExploreSettings, draft: Draft) -> list[dict[str, int]]:
    """Return the changes to the training length for each round; one empty mapping without halving."""
    key = "epochs" if draft.get(("training", "budget")) is None else "budget"
    length = draft.get(("training", key))
    if explore.halving is None or type(length) is not int or length < 1:  # a wrong length is named elsewhere
        return [{}]
    return [{f"training.{key}": max(1, round(share * length))} for share in explore.halving]


def _problems(explore: ExploreSettings, draft: Draft, place: str) -> Iterator[str]:
    if draft.get(("stages",)) is not None:
        yield sentence(place, "explore", then="given together with `stages`; keep one of them")
    changes = explore.changes or {}
    for key in ("architecture", "architecture.name"):
        value = changes.get(key, ARCHITECTURE)
        name = value.get("name", ARCHITECTURE) if isinstance(value, dict) else value
        if name != ARCHITECTURE:
            then = "leave it out: only groups with a model each are measured apart from one another"
            yield sentence(place, f"explore.changes.{key}", got=name, allowed=ARCHITECTURE, then=then)
    if explore.partitions is None and explore.budget is None:
        allowed = f"a whole number of {MIN_PARTITIONS} or more, or `explore.budget`"
        yield sentence(place, "explore.partitions", got=None, allowed=allowed)
    elif explore.partitions is not None and explore.budget is not None:
        then = "given together with `explore.partitions`; keep one of them"
        yield sentence(place, "explore.budget", then=then)
    elif explore.partitions is None and _affordable(explore) < MIN_PARTITIONS:
        allowed = f"{_cost(explore, MIN_PARTITIONS):g} or more, for {MIN_PARTITIONS} partitions"
        yield sentence(place, "explore.budget", got=draft.get(("explore", "budget")), allowed=allowed)
    if explore.halving is not None:
        yield from _problems_of_halving(explore, draft, place)


def _problems_of_halving(explore: ExploreSettings, draft: Draft, place: str) -> Iterator[str]:
    changes = explore.changes or {}
    of_training = changes.get("training")
    for key in LENGTH_KEYS:
        if f"training.{key}" in changes or (isinstance(of_training, dict) and key in of_training):
            then = f"given together with `explore.changes` of `training.{key}`; keep one of them"
            yield sentence(place, "explore.halving", then=then)
    lengths = [value for round_lengths in _lengths(explore, draft) for value in round_lengths.values()]
    if any(one == other for one, other in pairwise(lengths)):
        yield sentence(
            place,
            "explore.halving",
            got=", ".join(map(str, lengths)),
            allowed="another number of epochs in each round",
            then="raise `training.epochs`, or leave a share out",
        )
    k = draft.get(("grouping", "k"))
    if type(k) is int and set(explore.ks) != {k}:
        then = f"only partitions of {k} groups would go on (`grouping.k: {k}`); set it to `auto`"
        yield sentence(place, "explore.halving", then=then)
