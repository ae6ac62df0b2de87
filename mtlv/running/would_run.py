"""What `mtlv run` would do with a suite now, unit by unit, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.locks import held, holder
from mtlv.running.checkpoints import ENDING
from mtlv.running.executor import each_once
from mtlv.running.resolve import resolve_all
from mtlv.running.store import Store
from mtlv.running.workbench import Workbench

if TYPE_CHECKING:
    from mtlv.settings import Suite

DONE = "in the store and not trained again"
NEW = "no unit of these settings, data and encoder is in the store: it is trained"
SHOWN = 40  # units that are not done


def would_run_lines(suite: Suite) -> list[str]:
    """One line of counts, and a line for each unit that is not done.

    Raises:
        MtlvError: whatever is wrong with data, encoder or groups.
    """
    folder = Path(suite.members[0].settings.store.uri)
    if not (folder / "units").is_dir():
        return [f"`mtlv run {suite.path}` would train every unit: there is no store in `{folder}` yet"]
    store = Store(folder)
    resolved = resolve_all(Workbench(store), suite.members)
    jobs = each_once(job for member in resolved for job in member.jobs)
    found = {job.name: _why(store, job.unit.key) for job in jobs}
    left = [(name, why) for name, why in found.items() if why != DONE]
    done = f"{len(found) - len(left)} of {len(found)} units are {DONE}"
    lines = [f"`mtlv run {suite.path}` now: {done}"]
    return [*lines, *_lines(left)]


def _lines(left: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield from (f"  {name}: {why}" for name, why in left[:SHOWN])
    for why, count in Counter(why for _, why in left[SHOWN:]).items():
        yield f"  {count} more: {why}"


def _why(store: Store, key: str) -> str:
    if store.has(key):
        return DONE
    lock = store.lock(key)
    if lock.exists():
        with held(lock) as mine:
            if not mine:
                return f"{holder(lock)} works on it"
    steps = sorted(int(path.stem) for path in store.checkpoints(key).folder.glob(f"*{ENDING}"))
    return f"it goes on after step {steps[-1]}" if steps else NEW
