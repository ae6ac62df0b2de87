"""Conversion of `search` to members: all combinations of some keys' values, to find the best.

The best combination is the one with the best score on validation.
"""

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
    """Settings of a search."""

    # the values of each key, by the key as written
    over: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    trials: int | None = None  # maximum number of combinations to try; None tries all
    sampler: str = "grid"  # the method that chooses the next one, one of `SAMPLERS`
    seed: int = 0  # seed of the sampler


def search_of(given: Any) -> SearchSettings | None:
    """Return the `search` of a config; None if there is none, or if it is wrong."""
    if not isinstance(given, dict) or list(search_problems(given, "")):
        return None
    return SearchSettings(**given)


def search_problems(given: Any, place: str) -> Iterator[str]:
    """Yield the problems of `search`, except for the keys and values of `over`."""
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
