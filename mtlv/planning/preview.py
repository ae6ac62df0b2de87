"""Preview of `mtlv run`: what it would do with each unit now, and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mtlv.planning.resolve import Resolver
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache
from mtlv.units.job import each_once

if TYPE_CHECKING:
    from mtlv.settings import Suite

DONE = "in the store and not trained again"
NEW = "no unit of these settings, data and encoder is in the store: it is trained"
SHOWN = 40  # units that are not finished


def would_run_lines(suite: Suite) -> list[str]:
    """Return one line of counts, and a line for each unit that is not finished.

    Raises:
        MtlvError: data, encoder or groups are wrong.
    """
    folder = suite.members[0].settings.store.folder
    if not (folder / "units").is_dir():
        return [f"`{suite.command('run')}` would train every unit: there is no store in `{folder}` yet"]
    store = Store(folder)
    ready, waiting = Resolver(InputCache(store), suite.members).ready(suite.members)
    plans = (*(member.jobs for member in ready), *(error.jobs for error in waiting.values()))
    jobs = each_once(job for plan in plans for job in plan)
    reasons = {job.name: _why(store, job.unit.key) for job in jobs}
    left = [(name, why) for name, why in reasons.items() if why != DONE]
    done = f"{len(reasons) - len(left)} of {len(reasons)} units are {DONE}"
    shown = [f"  {name}: {why}" for name, why in left[:SHOWN]]
    more = [f"  {count} more: {why}" for why, count in Counter(why for _, why in left[SHOWN:]).items()]
    later = [f"  then: the groups of `{name}` follow from these units, and its models" for name in waiting]
    return [f"`{suite.command('run')}` now: {done}", *shown, *more, *later]


def _why(store: Store, key: str) -> str:
    if store.has(key):
        damage = store.damage(key)
        return f"it is trained again, because its file is damaged: {damage}" if damage else DONE
    if store.busy(key):
        return f"{store.holder(key)} is training it"
    step = store.last_step(key)
    return NEW if step is None else f"it resumes after step {step}"
