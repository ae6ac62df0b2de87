"""A whole suite: resolve everything, then train, score and track it, member by member."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.compare.table import COLUMNS, Row, shown
from mtlv.errors import MtlvError
from mtlv.running.check import check_suite
from mtlv.running.child_files import write_child
from mtlv.running.executor import Executor, LocalExecutor
from mtlv.running.observer import Observer
from mtlv.running.outcome import Outcome, outcome
from mtlv.running.record import (
    Names,
    outcome_metrics,
    params,
    tags,
    unit_metrics,
)
from mtlv.running.resolve import Child, Resolved, resolve
from mtlv.running.store import Store
from mtlv.running.summary import (
    MemberResult,
    comparison_spec,
    member_rows,
    write_comparison,
    write_parent,
)
from mtlv.running.workbench import Workbench
from mtlv.tracking import DEFAULT_URI, RunSpec, Tracker
from mtlv.tracking.address import check_answers
from mtlv.tracking.tracker import Status

if TYPE_CHECKING:
    from mtlv.settings import Settings, Suite


@dataclass(frozen=True)
class SuiteResult:
    """What a suite came to.

    Args:
        members: results in the suite's order.
        header: titles of the table's columns.
        rows: the table, as text.
        where: lines that say where to look.
    """

    members: tuple[MemberResult, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    where: tuple[str, ...]


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


def open_tracker(settings: Settings) -> Tracker:
    """The tracker of a member; the only place where MLflow is chosen."""
    from mtlv.tracking.mlflow_tracker import MlflowTracker

    return MlflowTracker(settings.tracking.uri, settings.experiment)


def run_suite(suite: Suite, observer: Observer, tracker: Tracker | None = None) -> SuiteResult:
    """Run every member of a suite; finished units are taken from the store.

    Everything that can be wrong with data, encoders, groups and stores is found before a run is opened.

    Args:
        suite: checked settings.
        observer: hears of progress.
        tracker: where to write; None opens the MLflow store of the settings.

    Raises:
        MtlvError: what a user can put right.
        KeyboardInterrupt: passed on after the open runs were marked KILLED.
    """
    check_suite(suite)
    settings = suite.members[0].settings
    if tracker is None:
        check_answers(settings.tracking.uri or DEFAULT_URI)
    store = Store(Path(settings.store.uri))
    bench = Workbench(store)
    resolved = _resolve_all(bench, suite)
    _tell_notes(resolved, bench, observer)
    tracker = tracker or open_tracker(settings)
    session = Session(tracker, LocalExecutor(bench, store, observer), observer)
    jobs = [job for member in resolved for job in member.jobs]
    observer.suite_started(len(jobs), sum(job.documents for job in jobs))
    results = tuple(_run_member(session, bench, member) for member in resolved)
    rows = member_rows(results)
    if len(results) > 1:
        with session.run(comparison_spec(results)) as run:
            write_comparison(tracker, run, results)
    return SuiteResult(results, *_as_text(rows), (_where_to_look(suite, tracker),))


def _where_to_look(suite: Suite, tracker: Tracker) -> str:
    from mtlv.tracking.address import SERVERS, scheme

    uri = suite.members[0].settings.tracking.uri
    if uri is not None and scheme(uri) in SERVERS:
        return f"The runs are at {getattr(tracker, 'page', uri)}"
    return f"Look at the runs: mtlv ui {suite.path}"


def _resolve_all(bench: Workbench, suite: Suite) -> list[Resolved]:
    """Every member, or the problems of all of them."""
    found, errors = [], []
    for member in suite.members:
        try:
            found.append(resolve(bench, member))
        except MtlvError as error:
            errors.append(error)
    if errors:
        raise MtlvError.all_of(errors)
    return found


def _tell_notes(resolved: list[Resolved], bench: Workbench, observer: Observer) -> None:
    notes: dict[str, None] = {}
    for member in resolved:
        settings = member.member.settings
        corpus = bench.corpus(settings.data)
        if corpus.generated:
            text = f"the corpus `{corpus.name}` is generated: its figures say nothing about real reports"
            notes[text] = None
        notes |= dict.fromkeys(corpus.notes)
        notes |= dict.fromkeys(note for child in member.children for note in child.fold.notes)
        groups = member.children[0].groups
        if groups is not None:
            notes[f"{member.name}: {groups.grouping.k} groups; {groups.reason}"] = None
            notes |= dict.fromkeys(f"{member.name}: {note}" for note in groups.grouping.notes)
        encoder = bench.encoder(settings.encoder.name, settings.encoder.revision, settings.data)
        notes |= dict.fromkeys(encoder.notes)
    for note in notes:
        observer.note(note)


def _run_member(session: Session, bench: Workbench, resolved: Resolved) -> MemberResult:
    settings = resolved.member.settings
    shown = tags(resolved, resolved.children[0])
    spec = RunSpec(resolved.uid, resolved.name, "suite member", None, params(settings), shown)
    with session.run(spec) as run:
        outcomes = tuple(_run_child(session, resolved, child, run) for child in resolved.children)
        result = MemberResult(resolved, outcomes, bench.corpus(settings.data).generated)
        write_parent(session.tracker, run, result)
    return result


def _run_child(session: Session, resolved: Resolved, child: Child, parent: str) -> Outcome:
    settings = resolved.member.settings
    spec = RunSpec(
        uid=f"{resolved.uid}-{child.fold.index}-{child.seed}",
        name=f"{resolved.name} · fold {child.fold.index} · seed {child.seed}",
        kind="fold",
        parent=parent,
        params=params(settings) | {"fold": child.fold.index, "seed": child.seed},
        tags=tags(resolved, child),
    )
    names = Names(child.plan, resolved.tasks)
    with session.run(spec) as run:
        records = []
        for job in child.jobs:
            session.done += 1
            records.append(session.executor.run(job, session.done))
            session.tracker.metrics(run, unit_metrics(records[-1], names))
        found = outcome(child.plan, records, names=resolved.tasks, settings=settings.evaluation)
        for warning in found.thresholds.warnings:
            session.observer.warn(f"{spec.name}: {warning}")
        session.tracker.metrics(run, outcome_metrics(found, names))
        write_child(session.tracker, run, child, found, names, spec.name)
    return found


def _as_text(rows: tuple[Row, ...]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    header = ("run", *(column.title for column in COLUMNS))
    lines = tuple((row.name, *(shown(row.cells[column.key], column) for column in COLUMNS)) for row in rows)
    return header, lines
