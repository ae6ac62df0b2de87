"""Selection of runs: by config, by id, by name, or by experiment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from mtlv.errors import TrackingError, nearest
from mtlv.settings.describe import Scalar
from mtlv.settings.identity import settings_key
from mtlv.settings.names import distinguish
from mtlv.tracking.reader import (
    COMPARISON,
    FOLD,
    KIND,
    MEMBER,
    UID,
    experiment_id,
    find_by_id_prefix,
    find_by_prefix,
)

if TYPE_CHECKING:
    from mtlv.settings import Member, Suite
    from mtlv.tracking.mlflow_reader import MlflowReader
    from mtlv.tracking.reader import StoredRun

SETTINGS = "mtlv.settings"  # tag
LONGEST_ID = 32  # hexadecimal digits of MLflow's run ids
PLACES = ("tracking.", "store.", "execution.")  # settings that say nothing of what a run trained


@dataclass(frozen=True)
class RunQuery:
    """Runs that a user asks to compare."""

    suites: tuple[Suite, ...] = ()  # suites whose members are compared
    # run ids, prefixes of them (6 digits or more), run names, or their beginnings
    names: tuple[str, ...] = ()
    experiment: str | None = None  # restricts the runs; without suites and names, all its members
    last: int | None = None  # only this many of the newest of those
    # `mtlv.uid` of the only member of each suite, whose settings alone do not tell its data
    uids: tuple[str, ...] = ()


@dataclass
class SelectedRuns:
    """Selected runs of members in the requested order, without duplicates; warnings; and the first run's
    experiment."""

    runs: list[StoredRun] = field(default_factory=list)
    experiment: str = ""
    warnings: list[str] = field(default_factory=list)
    # by id of a run that tries values, the numbers of each suite and of the run there for which it does
    tuned: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)  # ids of runs that are shown in any case

    def add(self, runs: Iterable[StoredRun]) -> None:
        known = {run.id for run in self.runs}
        self.runs += [run for run in runs if run.id not in known]


def choose(reader: MlflowReader, query: RunQuery) -> SelectedRuns:
    """Find the members' runs for a query.

    Raises:
        TrackingError: an experiment, a run or a suite is not in the store, a name matches several runs, or
            the query contradicts itself.
    """
    if query.last is not None and (query.suites or query.names):
        raise TrackingError(
            "`--last` selects the newest runs of an experiment, but runs were named as well",
            then="give only one of the two",
        )
    chosen = SelectedRuns()
    experiments = dict(reader.experiments())
    for number, (suite, uid) in enumerate(zip_longest(query.suites, query.uids)):
        _add_suite(chosen, reader, suite, number, experiments, uid)
    if query.names:
        within = experiments
        if query.experiment is not None:
            within = {query.experiment: experiment_id(query.experiment, experiments)}
        members: list[StoredRun] = []
        for name in query.names:
            run = _named(reader, name, within, members)
            chosen.add([run])
            chosen.asked.add(run.id)
    if not query.suites and not query.names:
        chosen.add(_all_of(reader, query, experiments))
    names = {number: name for name, number in experiments.items()}
    chosen.experiment = names.get(chosen.runs[0].experiment, "mtlv")  # unless it was deleted meanwhile
    return chosen


def _add_suite(
    chosen: SelectedRuns,
    reader: MlflowReader,
    suite: Suite,
    number: int,
    experiments: dict[str, str],
    uid: str | None,
) -> None:
    if suite.experiment not in experiments:
        raise TrackingError(
            f"{suite.path}: its experiment `{suite.experiment}` is not in the store",
            then=f"run it first: `{suite.command('run')}`",
        )
    place = [experiments[suite.experiment]]
    selected: list[StoredRun] = []
    missing: list[Member] = []
    for member in suite.members:
        by = {UID: uid} if uid else {SETTINGS: settings_key(member.settings)}
        runs = reader.runs(place, {KIND: MEMBER} | by, most=1)
        selected += runs
        missing += [] if runs else [member]
        for run in runs:
            chosen.asked |= {run.id} if None in member.tuned else set()
            tuned = [(number, name) for name in member.tuned if name is not None]
            chosen.tuned.setdefault(run.id, []).extend(tuned)
    if not selected:
        raise TrackingError(
            f"{suite.path}: none of its {len(missing)} members is in experiment `{suite.experiment}` "
            "with these settings",
            then=f"run it first: `{suite.command('run')}`; or, if it ran with other `key=value`, repeat them "
            f"after `mtlv compare {suite.path}`; or give `--experiment {suite.experiment}` "
            "instead of the config",
        )
    for member in missing:
        instead = "" if None in member.tuned else ", and may be better on validation than its alternatives"
        chosen.warnings.append(f"`{member.name}` of {suite.path} has not been run and is not shown{instead}")
    chosen.add(selected)


def _named(reader: MlflowReader, name: str, within: Mapping[str, str], members: list[StoredRun]) -> StoredRun:
    """Return the run with this id, id prefix, or name; `members` is filled when it is first needed.

    Args:
        reader: reads the tracking store.
        name: what was asked for.
        within: experiment -> id, where to look for a name.
        members: the runs there, newest first.
    """
    run = reader.run(name) if re.fullmatch(rf"[0-9a-f]{{{LONGEST_ID}}}", name) else None
    if run is None:
        if not members:
            members += reader.runs([*within.values()], {KIND: MEMBER})
        run = _one_of(name, members, within)
    return _member(reader, run)


def _one_of(name: str, members: Sequence[StoredRun], experiments: Mapping[str, str]) -> StoredRun:
    same = [run for run in members if run.name == name]
    places = {run.experiment for run in same}
    if len(places) > 1:
        raise TrackingError(
            f"runs of several experiments have the name `{name}`",
            allowed=", ".join(
                f"`--experiment {experiment}`" for experiment, id in experiments.items() if id in places
            ),
            then="name one of them",
        )
    if same:
        return same[0]  # the newest
    run = find_by_id_prefix(name, members)
    if run is not None:
        return run
    known = dict.fromkeys(run.name for run in members)
    like = find_by_prefix(name, known)
    if like is not None:
        return _one_of(like, members, experiments)
    raise TrackingError(
        f"there is no run `{name}` in the store",
        allowed="a config file, a run's id, or a run's name such as "
        + (", ".join(f"`{run}`" for run in list(known)[:3]) or "(the store has none)"),
        then=nearest(name, known) or "`mtlv compare --experiment NAME` compares all runs of an experiment",
    )


def _member(reader: MlflowReader, run: StoredRun) -> StoredRun:
    """Return the member's run for a run: itself, or its parent."""
    if run.kind == MEMBER:
        return run
    parent = reader.run(run.parent) if run.kind == FOLD and run.parent else None
    if parent is None:
        what = "a comparison" if run.kind == COMPARISON else "not a run of mtlv"
        raise TrackingError(f"run `{run.name}` ({run.id}) is {what}", then="name the runs to compare")
    return parent


def _all_of(reader: MlflowReader, query: RunQuery, experiments: dict[str, str]) -> list[StoredRun]:
    """Return all members of an experiment, oldest first."""
    if query.experiment is not None:
        place = [experiment_id(query.experiment, experiments)]
    else:
        place = [*experiments.values()]
        used = [name for name, number in experiments.items() if reader.runs([number], {KIND: MEMBER}, most=1)]
        if len(used) > 1 and query.last is None:
            raise TrackingError(
                "the store has several experiments, but none was named",
                allowed=", ".join(f"`--experiment {name}`" for name in used),
                then="name one, a config file, or runs; or compare the newest runs: `--last 4`",
            )
    runs = reader.runs(place, {KIND: MEMBER}, most=query.last)
    if not runs:
        raise TrackingError("there are no runs to compare in the store", then="start one: `mtlv run CONFIG`")
    return runs[::-1]


def unique_names(members: Sequence[StoredRun]) -> list[str]:
    """Return names of runs, equal ones with the settings that differ, or numbered if none does."""
    names = distinguish([run.name for run in members], [_settings(run) for run in members])
    counts = [names[:number].count(name) + 1 for number, name in enumerate(names)]
    return [f"{name} ({count})" if count > 1 else name for name, count in zip(names, counts, strict=True)]


def _settings(run: StoredRun) -> dict[str, Scalar]:
    """Return the settings of a run by dotted key, but for places; whole numbers and flags as such."""
    flags: dict[str, Scalar] = {"True": True, "False": False}
    kept = {key: text for key, text in run.params.items() if not key.startswith(PLACES)}
    return {key: int(text) if text.isdecimal() else flags.get(text, text) for key, text in kept.items()}
