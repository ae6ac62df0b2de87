"""One member of a suite: its run, and below it a run for each fold and seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mtlv.running.child_files import write_child
from mtlv.running.describe_run import describe_plan
from mtlv.running.executor import Executor
from mtlv.running.live import LiveChild
from mtlv.running.member_result import MemberResult
from mtlv.running.observer import Observer
from mtlv.running.outcome import Outcome
from mtlv.running.record import Names, own_params, params, tags
from mtlv.running.resolve import Child, Resolved
from mtlv.running.summary import write_parent
from mtlv.tracking import RunSpec, Tracker
from mtlv.tracking.tracker import Status


@dataclass
class Session:
    """What running a suite needs at hand.

    Args:
        tracker: where runs are written to.
        executor: who runs units.
        observer: who watches.
        done: units that have ended.
    """

    tracker: Tracker
    executor: Executor
    observer: Observer
    done: int = 0

    @contextmanager
    def run(self, spec: RunSpec) -> Iterator[str]:
        """An open run, closed whatever happens: FINISHED, FAILED, or KILLED on Ctrl-C."""
        run = self.tracker.open_run(spec)
        status: Status = "FAILED"
        try:
            yield run
            status = "FINISHED"
        except (KeyboardInterrupt, SystemExit):
            status = "KILLED"
            raise
        finally:
            self.tracker.close(run, status)


def run_member(session: Session, resolved: Resolved, *, generated: bool) -> MemberResult:
    """Train, score and track a member; finished units are taken from the store.

    Args:
        session: what is at hand.
        resolved: the member with its plans.
        generated: whether its documents are made up.
    """
    child = resolved.children[0]
    spec = RunSpec(
        resolved.uid,
        resolved.name,
        "suite member",
        params=params(resolved.member.settings) | own_params(child),
        tags=tags(resolved, child),
        description=describe_plan(resolved, generated=generated),
    )
    with session.run(spec) as run:
        outcomes = tuple(_run_child(session, resolved, child, run) for child in resolved.children)
        result = MemberResult(resolved, outcomes, generated)
        write_parent(session.tracker, run, result)
    return result


def _run_child(session: Session, resolved: Resolved, child: Child, parent: str) -> Outcome:
    settings = resolved.member.settings
    spec = RunSpec(
        uid=f"{resolved.uid}-{child.fold.index}-{child.seed}",
        name=f"{resolved.name} · fold {child.fold.index} · seed {child.seed}",
        kind="fold",
        parent=parent,
        params=params(settings) | own_params(child) | {"fold": child.fold.index, "seed": child.seed},
        tags=tags(resolved, child),
    )
    names = Names(child.plan, resolved.tasks)
    with session.run(spec) as run:
        live = LiveChild(
            session.tracker,
            run,
            names,
            resolved.tasks,
            len(child.jobs),
            settings.evaluation,
            session.observer.warn,
        )
        for job in child.jobs:
            session.done += 1
            live.ended(session.executor.run(job, session.done, live.epoch))
        found = live.finish()
        for warning in found.thresholds.warnings:
            session.observer.warn(f"{spec.name}: {warning}")
        write_child(session.tracker, run, child, found, names, spec.name)
    return found
