"""Conversion of `transfer` to members: does learning one task before or together with another help?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from mtlv.settings.draft import Change, Draft, Origin, Variant
from mtlv.settings.problems import sentence
from mtlv.settings.suite_schema import TransferSettings

FIRST, THEN = "first", "then"
"""Names of the two stages."""
LABEL_PATHS = (("tasks",), ("data", "labels"), ("data", "columns", "labels"))
"""Keys that list labels, the narrowest first."""


def from_transfer(
    transfer: TransferSettings, draft: Draft, origin: Origin
) -> tuple[list[Variant], list[str]]:
    """Return the members of a transfer matrix with its baselines, or of all pairs, and problems."""
    names = _all(draft)
    problems = list(_problems(transfer, draft, names, origin.place(())))
    if problems:
        return [Variant(())], problems
    if transfer.pairs is not None:
        pairs = list(combinations(names, 2)) if transfer.pairs == "all" else transfer.pairs
        alone = list(dict.fromkeys(name for pair in pairs for name in pair))
        members = [*_alone(alone), *((" with ".join(pair), {"tasks": list(pair)}) for pair in pairs)]
    else:
        chosen = (transfer.sources, transfer.targets)
        sources, targets = (names if one in (None, "all") else list(dict.fromkeys(one)) for one in chosen)
        members = _alone(targets)
        for target in targets:
            for source in (name for name in sources if name != target):
                first = {"name": FIRST, "tasks": [source], **(transfer.first or {})}
                stages = [first, {"name": THEN, "tasks": [target]}]
                members.append((f"{target} after {source}", {"tasks": [target], "stages": stages}))
    seeds = {} if transfer.seeds is None else {"seed": transfer.seeds}
    place = origin.place(())
    return [
        Variant(tuple(Change(key, value, origin) for key, value in (changes | seeds).items()), name, place)
        for name, changes in members
    ], []


def _alone(names: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    return [(f"{name} alone", {"tasks": [name]}) for name in names]


def _all(draft: Draft) -> list[str]:
    """Return the names that `all` stands for: the data sets, or without them the labels in the config."""
    sources = draft.get(("data", "sources"))
    if isinstance(sources, list):
        entries = [entry for entry in sources if isinstance(entry, dict) and "name" in entry]
        return [str(entry.get("alias") or entry["name"]) for entry in entries]
    label_lists = (draft.get(path) for path in LABEL_PATHS)
    return next(([str(name) for name in names] for names in label_lists if isinstance(names, list)), [])


def _problems(transfer: TransferSettings, draft: Draft, known: Sequence[str], place: str) -> Iterator[str]:
    if not transfer.model_fields_set:
        yield sentence(place, "transfer", got={}, allowed="a mapping with sources and targets, or with pairs")
    if draft.get(("stages",)) is not None:
        yield sentence(place, "transfer", then="given together with `stages`; keep one of them")
    if transfer.pairs is not None:
        for key in ("sources", "targets", "first"):
            if getattr(transfer, key) is not None:
                yield sentence(
                    place, f"transfer.{key}", then="given together with `transfer.pairs`; keep one"
                )
    chosen = (
        (transfer.sources or "all", transfer.targets or "all") if transfer.pairs is None else transfer.pairs
    )
    if "all" in (chosen, *chosen) and len(known) < 2:
        then = (
            "`all` means the data sets of `data.sources`, or the labels in `tasks` or `data.columns.labels`, "
            "and these are fewer than two; list names of tasks"
        )
        yield sentence(place, "transfer", then=then)
