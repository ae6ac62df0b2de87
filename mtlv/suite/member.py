"""One member of a suite: its run, with a fold run below it for each fold and seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mtlv.evaluation.learned import constant_scores
from mtlv.events import Callback, WarningGiven, warner
from mtlv.execution.executor import Executor
from mtlv.planning.resolve import FoldRun, ResolvedMember
from mtlv.reporting.datasets import corpus_part, fold_parts
from mtlv.reporting.descriptions import describe_plan
from mtlv.reporting.fold_run import write_fold_run
from mtlv.reporting.live import MEAN_CURVES, LiveMember, LiveRun
from mtlv.reporting.member_result import FoldResult, MemberResult
from mtlv.reporting.member_run import write_member
from mtlv.reporting.metrics import MetricNames, own_params, params, tags
from mtlv.store.local import Store
from mtlv.store.records import UnitRecord
from mtlv.suite.keep_models import ModelKeeper
from mtlv.suite.reference import reference
from mtlv.tracking import RunSpec, Tracker
from mtlv.tracking.reader import PARENT
from mtlv.tracking.tracker import Status

if TYPE_CHECKING:
    from mtlv.data.folds import Fold
    from mtlv.data.source import Corpus
    from mtlv.units.input_cache import InputCache
    from mtlv.units.inputs import UnitInputs


@dataclass
class SuiteContext:
    """Objects needed to run a suite."""

    tracker: Tracker
    cache: InputCache  # corpora and encoders
    store: Store
    executor: Executor
    callback: Callback
    parent: str | None = None  # id of the user's run whose children the runs become

    def __post_init__(self) -> None:
        self.models = ModelKeeper(self.tracker, self.cache, self.store, self.callback, self.executor)

    def open(self, spec: RunSpec) -> str:
        """Open a run and return its id, for a caller that closes it."""
        if spec.parent is None and self.parent is not None:  # its id, which no journal maps
            spec = replace(spec, tags={**spec.tags, PARENT: self.parent})
        return self.tracker.open_run(spec)

    @contextmanager
    def run(self, spec: RunSpec) -> Iterator[str]:
        """Open a run and always close it: FINISHED, FAILED, or KILLED on Ctrl-C."""
        run = self.open(spec)
        status: Status = "FAILED"
        try:
            yield run
            status = "FINISHED"
        except (KeyboardInterrupt, SystemExit):
            status = "KILLED"
            raise
        finally:
            self.tracker.close(run, status)


def member_spec(resolved: ResolvedMember, corpus: Corpus, colour: str, *, waiting: bool = False) -> RunSpec:
    """Return the spec of a member's own run; `waiting` for one that starts later."""
    fold_run = resolved.children[0]
    return RunSpec(
        resolved.uid,
        resolved.name,
        "suite member",
        params=params(resolved.settings) | own_params(fold_run),
        tags=tags(resolved, fold_run) | {"mtlv.state": "waiting" if waiting else "training"},
        description=describe_plan(resolved, generated=corpus.generated),
        colour=colour,
        waiting=waiting,
    )


def run_member(context: SuiteContext, resolved: ResolvedMember, spec: RunSpec) -> MemberResult:
    """Train, evaluate and track a member in the run of `spec`; finished units are loaded from the store."""
    settings = resolved.settings
    corpus = context.cache.corpus(settings.data)
    with context.run(spec) as run:
        context.tracker.data(run, [corpus_part(settings.data, corpus, resolved)])
        curves = (*MEAN_CURVES, *(f"val.tasks.{task.main_metric}/" for task in resolved.tasks))
        live = LiveMember(context.tracker, run, len(resolved.children), curves)
        children = tuple(
            _run_fold(context, resolved, fold_run, corpus, live) for fold_run in resolved.children
        )
        live.finish()
        words = context.cache.word_pieces(settings)
        result = MemberResult(resolved, children, corpus.generated, words)
        write_member(context.tracker, run, result)
        context.models.log_member(run, result)
    return result


def _restrict_to_fold(record: UnitRecord, inputs: UnitInputs, fold: Fold) -> UnitRecord:
    """Restrict a record to the documents of a fold; it may come from a suite with other sources."""
    curve = (record.validation.with_outputs(outputs) for outputs in record.curve)
    return replace(
        record,
        validation=inputs.align_scores(record.validation, fold.validation),
        test=inputs.align_scores(record.test, fold.test),
        curve=tuple(inputs.align_scores(scores, fold.validation).outputs for scores in curve),
    )


def _run_fold(
    context: SuiteContext, resolved: ResolvedMember, fold_run: FoldRun, corpus: Corpus, member: LiveMember
) -> FoldResult:
    settings = resolved.settings
    seed = f" · seed {fold_run.seed}" if len(settings.seeds) > 1 else ""
    spec = RunSpec(
        uid=f"{resolved.uid}-{fold_run.fold.index}-{fold_run.seed}",
        name=f"fold {fold_run.fold.index}{seed} · {resolved.name}",  # these first: nested names are cut off
        kind="fold",
        parent=member.run,
        params=params(settings) | own_params(fold_run) | {"fold": fold_run.fold.index, "seed": fold_run.seed},
        tags=tags(resolved, fold_run) | {"mtlv.state": "training"},
    )
    names = MetricNames(fold_run.plan, resolved.tasks)
    with context.run(spec) as run:
        context.tracker.data(run, fold_parts(settings.data, corpus, fold_run.fold))
        live = LiveRun(
            context.tracker,
            run,
            member,
            names,
            resolved.tasks,
            len(fold_run.jobs),
            settings.evaluation,
            warner(context.callback),
        )
        # A unit of an earlier stage has no run of its own.
        earlier = [context.executor.run(job) for job in fold_run.earlier]
        inputs = context.cache.inputs(settings)
        trained = []
        for job in fold_run.jobs:
            trained.append(context.executor.run(job, live.epoch))
            live.log_finished(_restrict_to_fold(trained[-1], inputs, fold_run.fold))
        words = context.cache.fertility(settings)
        for job, record in zip((*fold_run.earlier, *fold_run.jobs), (*earlier, *trained), strict=True):
            live.texts(job.unit.stage, record, tasks=inputs.tasks, words=words)
        outcome = live.finish(earlier)
        for warning in outcome.thresholds.warnings:
            context.callback(WarningGiven(f"{spec.name}: {warning}"))
        training = inputs.targets_of(resolved.task_names, fold_run.fold.train)
        constants = constant_scores(outcome.test, resolved.tasks, training)
        words_scores = reference(context.cache, resolved, fold_run)
        result = FoldResult(
            resolved.name, spec.name, fold_run, names, outcome, live.points, constants, words_scores
        )
        write_fold_run(context.tracker, run, result)
        context.models.log_fold_run(run, resolved, fold_run, outcome)
    return result
