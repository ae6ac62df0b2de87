"""Run a whole suite: resolve all members, then train, evaluate and track them one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtlv.errors import TrainingError, mask_credentials
from mtlv.events import Callback, NoteGiven, SuiteStarted, UnitTime, WarningGiven, noter, together, warner
from mtlv.execution.choose import executor_of
from mtlv.execution.executor import Executor
from mtlv.formatting import list_first
from mtlv.planning.check import check_suite
from mtlv.planning.groups import NO_PRIVATE
from mtlv.planning.resolve import ResolvedMember
from mtlv.planning.reuse import IfExists
from mtlv.reporting.descriptions import describe_experiment
from mtlv.reporting.learned_words import warnings
from mtlv.reporting.member_result import MemberResult, as_members
from mtlv.reporting.mlflow_views import ready_views
from mtlv.reporting.suite_run import comparison_spec, write_comparison
from mtlv.reporting.suite_table import as_text
from mtlv.store.local import Store
from mtlv.store.progress import SuiteProgress
from mtlv.suite.delivery import TrackerConnection, deliver
from mtlv.suite.estimate import expect, time_lines
from mtlv.suite.member import SuiteContext, member_spec, run_member
from mtlv.suite.rounds import SuiteRound, SuiteRounds
from mtlv.suite.search import GRID, Trial, best_line, import_optuna, search_json, search_members, trial
from mtlv.suite.tuned import keep_best_members, tried_lines
from mtlv.tracking import RunSpec, Tracker
from mtlv.tracking.address import SERVER_SCHEMES, compare_url, scheme
from mtlv.tracking.mlflow_user import store_uri, without_autologging
from mtlv.tracking.upload_process import UploadProcess
from mtlv.units.corpora import Corpora
from mtlv.units.input_cache import InputCache
from mtlv.units.job import each_once

if TYPE_CHECKING:
    from mtlv.settings import Suite
    from mtlv.settings.suite_schema import SearchSettings


@dataclass(frozen=True)
class SuiteResult:
    """The results of a suite."""

    members: tuple[MemberResult, ...]  # results in the suite's order
    header: tuple[str, ...]  # column titles of the table
    rows: tuple[tuple[str, ...], ...]  # the table, as text
    where: tuple[str, ...]  # lines that name the location of the results
    # reasons for members without a result, one per line; their runs are marked FAILED
    failed: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()  # validation score of each member of a search
    # what to know before the table is read: runs not trained to the end, tasks not learned
    warnings: tuple[str, ...] = ()


@without_autologging()
def run_suite(
    suite: Suite,
    callback: Callback,
    tracker: Tracker | None = None,
    *,
    if_exists: IfExists = "resume",
    measures_time: bool = False,
) -> SuiteResult:
    """Run every member of a suite; finished units are read from the store.

    Problems with data, encoders, groups and stores are detected before any run is created.

    Args:
        suite: checked settings.
        callback: receives the events of the suite.
        tracker: destination; None writes to a journal, which is uploaded to the MLflow store in the settings.
        if_exists: treatment of units that are already in the store.
        measures_time: whether to measure how long training takes before it starts, with a few steps.

    Raises:
        MtlvError: there is a problem that a user can solve.
        KeyboardInterrupt: raised again after the open runs were marked KILLED.
    """
    corpora = Corpora()
    check_suite(suite, corpora)
    settings = suite.members[0].settings
    if tracker is not None:
        connecting = nullcontext(TrackerConnection(tracker))
        return _run(suite, callback, connecting, if_exists, corpora, measures_time=measures_time)
    with UploadProcess(store_uri(settings.tracking.uri), suite.experiment, warner(callback)) as uploads:
        uploads.check()
        connection = deliver(settings, callback, uploads)
        return _run(suite, callback, connection, if_exists, corpora, measures_time=measures_time)


def _run(
    suite: Suite,
    callback: Callback,
    connecting: AbstractContextManager[TrackerConnection],
    if_exists: IfExists,
    corpora: Corpora,
    *,
    measures_time: bool,
) -> SuiteResult:
    if suite.search is not None and suite.search.sampler != GRID:
        import_optuna()  # fails before training if it is not installed
    store = Store(suite.members[0].settings.store.folder)
    cache = InputCache(store, warner(callback), noter(callback), corpora)
    rounds = SuiteRounds(suite, cache, if_exists)
    suite_round = rounds.next()
    if suite_round is None:
        return SuiteResult((), (), (), ("Nothing is missing: all units are in the store.",))
    described: list[ResolvedMember] = []
    results: list[MemberResult] = []
    failed: list[str] = []
    notes: set[str] = set()
    with connecting as connection:
        tracker = connection.tracker
        while suite_round is not None:
            _tell_notes(suite_round.resolved, cache, callback, notes)
            with SuiteProgress(store.root, suite_round.state(suite)) as progress:
                all_callbacks = together(progress, callback)
                one_by_one = suite.search is not None  # the next member depends on this result
                of_members = list(suite_round.of_members.values())
                with executor_of(cache, store, all_callbacks, of_members, one_by_one=one_by_one) as executor:
                    _start(suite_round, cache, all_callbacks, executor, measures_time=measures_time)
                    context = SuiteContext(tracker, cache, store, executor, all_callbacks, suite.parent)
                    if suite_round.resolved:
                        described += suite_round.resolved
                        _describe(tracker, described)
                        finished, errors = _run_members(
                            context, rounds.colours, suite_round.resolved, suite.search
                        )
                        results += finished
                        failed += errors
                    else:
                        failed += _train_first(context, suite_round, rounds)
            suite_round = rounds.next()
        compared = tuple(sorted(results, key=lambda result: rounds.place(result.resolved)))
        trials = tuple(map(trial, results)) if suite.search is not None else ()
        # With `only-missing`, not all that try values are there.
        compared, tried = keep_best_members(compared) if if_exists != "only-missing" else (compared, [])
        if len(compared) > 1:
            _describe(tracker, described, _write_comparison(context, compared, trials))
    best = [best_line(trials)] if trials else []
    where = (*best, *tried_lines(tried), *_where_to_look(suite, connection))
    warned = warnings({result.name: result.learning for result in compared})
    return SuiteResult(compared, *as_text(as_members(compared)), where, tuple(failed), trials, tuple(warned))


def _start(
    suite_round: SuiteRound, cache: InputCache, callback: Callback, executor: Executor, *, measures_time: bool
) -> None:
    """Report the start of a round, with the time that it is expected to take."""
    assert cache.store is not None
    jobs = suite_round.jobs
    stored = {job.name: job.documents for job in jobs if cache.store.has(job.unit.key)}
    left = [job for job in jobs if job.name not in stored]
    measured = expect(jobs, left, cache) if measures_time and executor.is_local else None
    epochs = {job.name: job.settings.training.epochs for job in jobs}
    times = measured or {
        job.name: UnitTime("", epochs[job.name], job.documents / epochs[job.name]) for job in jobs
    }
    documents = sum(job.documents for job in jobs)
    started = SuiteStarted(len(jobs), documents, stored, times, executor.processes, measured is not None)
    callback(started)
    for line in time_lines(started, left, suite_round.resolved) if measured else ():
        callback(NoteGiven(line))


def _train_first(context: SuiteContext, suite_round: SuiteRound, rounds: SuiteRounds) -> list[str]:
    """Train the units whose results determine the groups of members; return the errors of those that failed.

    They have no run of their own: units of an earlier stage, or of a member that failed.
    """
    failed = []
    for name, jobs in suite_round.of_members.items():
        context.executor.expect(jobs)
        try:
            for job in jobs:
                context.executor.run(job)
        except TrainingError as error:
            context.executor.give_up(jobs)
            rounds.leave_out(name)
            failed.append(str(error))
            text = (
                f"`{name}` failed, because its groups follow from units that did; the others go on. {error}"
            )
            context.callback(WarningGiven(text))
    return failed


def _run_members(
    context: SuiteContext,
    colours: Mapping[str, str],
    resolved: Sequence[ResolvedMember],
    search: SearchSettings | None,
) -> tuple[list[MemberResult], list[str]]:
    """Return the results, and the problems of members whose training failed."""
    results: list[MemberResult] = []
    failed: list[str] = []
    executor = context.executor

    def spec(member: ResolvedMember, *, waiting: bool = False) -> RunSpec:
        corpus = context.cache.corpus(member.settings.data)
        return member_spec(member, corpus, colours[member.member.name], waiting=waiting)

    def run(member: ResolvedMember) -> MemberResult | None:
        try:
            results.append(run_member(context, member, spec(member)))
        except TrainingError as error:
            executor.give_up(each_once(member.jobs))
            failed.append(str(error))
            context.callback(WarningGiven(f"`{member.name}` failed; the others go on. {error}"))
            return None
        return results[-1]

    def run_trial(number: int) -> float | None:
        executor.expect(each_once(resolved[number].jobs))  # only now: the next member depends on this result
        result = run(resolved[number])
        return None if result is None else trial(result).value

    if search is not None:
        search_members(search, [trial_member.member for trial_member in resolved], run_trial)
    else:
        for member in resolved:
            executor.expect(each_once(member.jobs))
        waiting = {
            member.uid: context.open(spec(member, waiting=True))
            for member in resolved
            if not all(context.store.has(job.unit.key) for job in member.jobs)
        }
        try:
            for member in resolved:
                waiting.pop(member.uid, None)
                run(member)
        finally:  # stopped before these have started
            for run_id in waiting.values():
                context.tracker.close(run_id, "KILLED")
    return results, failed


def _write_comparison(
    context: SuiteContext, results: Sequence[MemberResult], trials: Sequence[Trial]
) -> RunSpec:
    spec = comparison_spec(results)
    with context.run(spec) as run:
        write_comparison(context.tracker, run, results)
        if trials:
            context.tracker.text(run, search_json(trials), "search.json")
    return spec


def _describe(
    tracker: Tracker, resolved: Sequence[ResolvedMember], comparison: RunSpec | None = None
) -> None:
    """Write the description and views of the experiment: before training starts, and with the comparison."""
    views = ready_views(resolved, ended=comparison is not None)
    corpora = dict.fromkeys(member.settings.data.title for member in resolved)
    tasks = len({task for member in resolved for task in member.task_names})
    tracker.describe_all(describe_experiment(", ".join(corpora), tasks, views, comparison), views)


def _where_to_look(suite: Suite, connection: TrackerConnection) -> tuple[str, ...]:
    uri = suite.members[0].settings.tracking.uri
    if uri is not None and scheme(uri) in SERVER_SCHEMES:
        page = connection.upload.page or mask_credentials(uri)
        beside = (f"Comparison: {compare_url(page)}",) if "#" in page else ()
        later = ", once they are uploaded" if connection.upload.left else ""
        return f"The runs are at {page}{later}", *beside
    return (f"Look at the runs: mtlv ui {suite.path}",)


def _tell_notes(
    resolved: list[ResolvedMember], cache: InputCache, callback: Callback, known_notes: set[str]
) -> None:
    """Report each note once. Notes in `known_notes` are skipped, and new ones are added to it."""
    notes: dict[str, dict[str, None]] = {}  # with the members that each names
    for member in resolved:
        settings = member.settings
        corpus, encoder = cache.corpus(settings.data), cache.encoder(settings.encoder, settings.data)
        if corpus.generated:
            notes[f"the corpus `{corpus.name}` is generated: its metrics say nothing about real reports"] = {}
        notes |= {note: {} for note in corpus.notes}
        notes |= {note: {} for note in cache.inputs(settings).describe_lost(member.tasks)}
        notes |= {note: {} for fold_run in member.children for note in fold_run.fold.notes}
        groups = member.children[0].groups
        if groups is not None:
            more = [note for note in groups.grouping.notes if note not in groups.reason]
            for note in (f"{groups.grouping.k} groups; {groups.reason}", *more):
                notes.setdefault(note, {})[f"`{member.name}`"] = None
        if member.lacks_private_layers:
            notes.setdefault(NO_PRIVATE, {})[f"`{member.name}`"] = None
        notes |= {note: {} for note in encoder.notes}
    for note, named in notes.items():
        text = f"{list_first(list(named), 3)}: {note}" if named else note
        if text not in known_notes:
            callback(NoteGiven(text))
        known_notes.add(text)
