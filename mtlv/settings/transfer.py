"""Conversion of `transfer` to members: does learning one task before or together with another help?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from mtlv.settings.draft import Change, Draft, Origin
from mtlv.settings.problems import sentence
from mtlv.settings.variant import Variant

FORM = "a mapping with sources and targets, or with pairs; and seeds, first"
KEYS = ("sources", "targets", "pairs", "seeds", "first")
NAMES = "all, or a list of names of tasks or data sets"
PAIRS = "all, or a list of pairs of names of tasks or data sets"
FIRST, THEN = "first", "then"
"""Names of the two stages."""


def from_transfer(transfer: Any, draft: Draft, origin: Origin, place: str) -> tuple[list[Variant], list[str]]:
    """Return the members of a transfer matrix with its baselines, or of all pairs, and problems."""
    problems = list(_problems(transfer, draft, place))
    if problems:
        return [Variant(())], problems
    names = _data_sets(draft)
    if transfer.get("pairs") is not None:
        pairs = _pairs(transfer["pairs"], names)
        alone = list(dict.fromkeys(name for pair in pairs for name in pair))
        found = [*_alone(alone), *((" with ".join(pair), {"tasks": list(pair)}) for pair in pairs)]
    else:
        sources, targets = (_names(transfer.get(key), names) for key in ("sources", "targets"))
        found = [*_alone(targets), *_transfers(sources, targets, transfer.get("first") or {})]
    seeds = {"seed": transfer["seeds"]} if transfer.get("seeds") is not None else {}
    return [_variant(name, changes | seeds, origin, place) for name, changes in found], []


def _variant(name: str, changes: Mapping[str, Any], origin: Origin, place: str) -> Variant:
    # Problems of a name are reported at `transfer`, where it was written.
    here = Origin(lambda _: origin.place(()), origin.folder)
    return Variant(tuple(Change(key, value, here) for key, value in changes.items()), name, place)


def _alone(names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((f"{name} alone", {"tasks": [name]}) for name in names)


def _transfers(
    sources: Sequence[str], targets: Sequence[str], first: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for target in targets:
        for source in (name for name in sources if name != target):
            stages = [{"name": FIRST, "tasks": [source], **first}, {"name": THEN, "tasks": [target]}]
            yield f"{target} after {source}", {"tasks": [target], "stages": stages}


def _data_sets(draft: Draft) -> list[str]:
    sources = draft.get(("data", "sources"))
    held = sources if isinstance(sources, list) else []
    return [
        str(each.get("alias") or each["name"]) for each in held if isinstance(each, dict) and "name" in each
    ]


def _names(given: Any, known: Sequence[str]) -> list[str]:
    return list(known) if given in (None, "all") else list(dict.fromkeys(given))


def _pairs(given: Any, known: Sequence[str]) -> list[tuple[str, str]]:
    return list(combinations(known, 2)) if given == "all" else [tuple(pair) for pair in given]


def _problems(transfer: Any, draft: Draft, place: str) -> Iterator[str]:
    if not isinstance(transfer, dict) or not transfer:
        yield sentence(place, "transfer", got=transfer, allowed=FORM)
        return
    for key in transfer:
        if key not in KEYS:
            yield sentence(place, f"transfer.{key}", then=f"unknown key; allowed here: {', '.join(KEYS)}")
    if draft.get(("stages",)) is not None:
        yield sentence(place, "transfer", then="given together with `stages`; keep one of them")
    yield from (
        sentence(place, f"transfer.{key}", got=transfer[key], allowed=allowed)
        for key, (is_right, allowed) in TAKEN.items()
        if transfer.get(key) is not None and not is_right(transfer[key])
    )
    of_matrix = [key for key in ("sources", "targets", "first") if transfer.get(key) is not None]
    if transfer.get("pairs") is not None:
        for key in of_matrix:
            yield sentence(place, f"transfer.{key}", then="given together with `transfer.pairs`; keep one")
    if _wants_all(transfer) and len(_data_sets(draft)) < 2:
        then = "`all` means the data sets of `data.sources`, and there are none; list names of tasks"
        yield sentence(place, "transfer", then=then)


def _wants_all(transfer: Mapping[str, Any]) -> bool:
    both = [transfer.get("sources"), transfer.get("targets")]
    pairs = transfer.get("pairs")
    return "all" in (pairs, *both) or (pairs is None and None in both)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) and name for name in value)


def _are_pairs(value: Any) -> bool:
    pairs = isinstance(value, list) and bool(value) and all(_are_names(pair) for pair in value)
    return pairs and all(len(pair) == 2 and pair[0] != pair[1] for pair in value)


TAKEN: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "sources": (lambda value: value == "all" or _are_names(value), NAMES),
    "targets": (lambda value: value == "all" or _are_names(value), NAMES),
    "pairs": (lambda value: value == "all" or _are_pairs(value), PAIRS),
    "first": (lambda value: isinstance(value, dict), "a mapping of keys to values"),
}
