"""The command `mtlv status`: the running suites of a store, or the last one, unit by unit."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from filecmp import cmp
from pathlib import Path

from mtlv.formatting import duration, many
from mtlv.processes import alive
from mtlv.store.checkpoints import ENDING
from mtlv.store.local import Store
from mtlv.store.progress import FOLDER, State, SuiteState, UnitState, read_states
from mtlv.tracking.sync import waiting

MAX_SHOWN_UNITS = 60  # units; for larger suites, only members and running units are listed
ORDER: tuple[State, ...] = ("done", "running", "waiting", "failed", "stopped")


def status_lines(folder: Path, config: Path | None) -> tuple[list[str], str | None]:
    """Return lines about the running suites of the store in a folder, or else about the last; and how that
    ended: empty while one is running, None if none has run yet.

    `config` restricts them to suites of this file.
    """
    damaged: list[str] = []
    states = known = read_states(folder / FOLDER, damaged.append)
    if config is not None:
        same = [state for state in known if state.config == str(config.absolute())]
        # A folder that was moved or copied: its store names the config by its old place.
        states = same or [state for state in known if _was_there(Path(state.config), config)]
    if not states:
        of = f" of `{config}`" if config is not None else ""
        # A job reads a copy of the config, in its own folder.
        then = (
            f"`mtlv status store.uri={folder}` shows others" if known else "start one with `mtlv run CONFIG`"
        )
        if damaged:
            return [*damaged, *_describe_units(folder)], damaged[-1]
        return [f"no suite{of} has run with the store `{folder}` yet; {then}"], None
    now = [state for state in states if _process(state)[0]]
    lines = damaged
    for state in now or states[:1]:
        lines += [*([""] if lines else []), *_suite(state)]
    return [*lines, *_describe_undelivered(folder)], "" if now else _heading(states[0])


def _describe_units(folder: Path) -> Iterator[str]:
    """Yield lines about the units of a store that has no progress file of a suite."""
    store = Store(folder)
    finished = sorted(path.name for path in store.units.iterdir() if not path.name.startswith("."))
    damaged = [key for key in finished if store.missing(key) or store.damage(key)]
    begun = {path.parent for path in store.unfinished.glob(f"*/*{ENDING}")}
    yield (
        f"in the store: {many(len(finished) - len(damaged), 'finished unit')}, {len(damaged)} damaged, "
        f"{len(begun)} with a checkpoint; `mtlv run CONFIG` continues, `mtlv status CONFIG --next` shows "
        "what is left"
    )


def _describe_undelivered(store: Path) -> list[str]:
    lines: list[str] = []
    count = waiting(store, lines.append)
    text = f"{many(count, 'record')} not in the tracking store yet: `mtlv sync --store {store}` uploads them"
    return [*lines, text] if count else lines


def _was_there(old: Path, config: Path) -> bool:
    """Whether `config` may be the file at `old`, after it was moved or copied."""
    if old.name != config.name:
        return False
    return not old.is_file() or (config.is_file() and cmp(old, config, shallow=False))


def _process(state: SuiteState) -> tuple[bool, str]:
    """Return whether the suite may be running, and a description of its process."""
    ago, which = f"{duration(time.time() - state.seen)} ago", f"process {state.pid}"
    if state.state != "running":
        reason = f": {state.problem}" if state.problem else ""
        return False, f"{state.state} after {duration(state.seen - state.began)}, {ago}{reason}"
    if state.host != socket.gethostname():
        return True, f"on another machine, `{state.host}` ({which}), last update {ago}"
    if alive(state.pid, state.born):
        return True, f"running here ({which}) for {duration(time.time() - state.began)}"
    # Nothing could close its runs in MLflow.
    then = f"; `mtlv run {Path(state.config).name}` goes on, and closes runs that MLflow shows as running"
    return False, f"stopped: its {which} has ended, last update {ago}{then}"


def _heading(state: SuiteState) -> str:
    return f"{state.experiment} ({state.config}): {_process(state)[1]}"


def _suite(state: SuiteState) -> Iterator[str]:
    running = _process(state)[0]
    yield _heading(state)
    units = [
        unit if running or unit.state != "running" else replace(unit, state="stopped") for unit in state.units
    ]
    cached = sum(unit.cached for unit in units)
    from_store = f"; {cached} of them taken from the store" if cached else ""
    yield f"{many(len(units), 'unit')}: {_counts(units)}{from_store}"
    for node in sorted({unit.node for unit in units if unit.node}):
        yield f"  node {node}: {_counts([unit for unit in units if unit.node == node], some=True)}"
    if len(units) <= MAX_SHOWN_UNITS:
        yield from (_unit(unit) for unit in units)
        return
    for member in dict.fromkeys(unit.member for unit in units):
        yield f"  {member}: {_counts([unit for unit in units if unit.member == member])}"
    yield from (_unit(unit) for unit in units if unit.state not in ("done", "waiting"))


def _unit(unit: UnitState) -> str:
    return f"  {unit.state:<9}{unit.name}{_details(unit)}"


def _details(unit: UnitState) -> str:
    if unit.state == "waiting":
        return ""
    if unit.cached:
        return ": taken from the store"
    since, until = unit.since or 0.0, unit.until or 0.0
    at = f" on {unit.node}" if unit.node else ""
    if unit.state == "done":
        return f": {duration(until - since)}{at}"
    speed = f", {unit.documents_per_second:.0f} documents/s" if unit.epoch else ""
    return f": {unit.epoch} of {unit.epochs} epochs{speed}, since {_clock(since)}{at}"


def _counts(units: Sequence[UnitState], *, some: bool = False) -> str:
    """Return the number of units in each state; with `some`, only of states that occur."""
    counts = Counter(unit.state for unit in units)
    always = () if some else [state for state in ORDER if state != "stopped"]
    return ", ".join(f"{counts[state]} {state}" for state in ORDER if counts[state] or state in always)


def _clock(seconds: float) -> str:
    moment, now = datetime.fromtimestamp(seconds), datetime.now()
    return moment.strftime("%H:%M:%S" if moment.date() == now.date() else "%Y-%m-%d %H:%M")
