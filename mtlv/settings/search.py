"""`search` to members: every combination of some keys' values, of which the best on validation is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mtlv.settings.problems import sentence

KEYS = ("over", "trials", "sampler", "seed")
SAMPLERS = ("grid", "random", "tpe")
LIMIT = 2**31


@dataclass(frozen=True)
class SearchSettings:
    """How members are tried.

    Args:
        over: the values of each key, by the key as it is written.
        trials: how many combinations are tried at most; None is all.
        sampler: who chooses the next, one of `SAMPLERS`.
        seed: of the sampler.
    """

    over: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    trials: int | None = None
    sampler: str = "grid"
    seed: int = 0


def search_of(given: Any) -> SearchSettings | None:
    """What a config's `search` asks for; None where it is not there, or is wrong."""
    if not isinstance(given, dict) or list(search_problems(given, "")):
        return None
    return SearchSettings(**given)


def search_problems(given: Any, place: str) -> Iterator[str]:
    """What is wrong with `search`, but for the keys and values of `over`."""
    if not isinstance(given, dict) or "over" not in given:
        allowed = f"a mapping with `over` (keys to lists of values), and {', '.join(KEYS[1:])}"
        yield sentence(place, "search", got=given, allowed=allowed)
        return
    for key in given:
        if key not in KEYS:
            yield sentence(place, f"search.{key}", then=f"unknown key; allowed here: {', '.join(KEYS)}")
    trials, seed = given.get("trials"), given.get("seed", 0)
    if trials is not None and not _whole(trials, 1):
        yield sentence(place, "search.trials", got=trials, allowed="a whole number of 1 or more, or null")
    if not _whole(seed, 0):
        yield sentence(place, "search.seed", got=seed, allowed="a whole number of 0 or more")
    sampler = given.get("sampler", "grid")
    if sampler not in SAMPLERS:
        yield sentence(place, "search.sampler", got=sampler, allowed=f"one of {', '.join(SAMPLERS)}")


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < LIMIT
