"""Trains units as Ray tasks, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from mtlv.errors import MtlvError, TrainingError
from mtlv.events import Event, NoteGiven, UnitEnded, UnitFailed, UnitStarted, WarningGiven
from mtlv.execution.executor import Executor, ignore_epoch
from mtlv.execution.ray.cluster import RayHead, connect, request_of
from mtlv.execution.ray.nodes import NodeRequest, check_room, require_equal_nodes, size
from mtlv.execution.ray.task import EpochScored, RayTask, SharedObjects, keep, start_mailbox, train
from mtlv.execution.runner import OnEpoch, UnitRunner
from mtlv.hardware import all_cores, cores
from mtlv.store.records import UnitRecord
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job

if TYPE_CHECKING:
    from mtlv.settings.schema import ExecutionSettings

PAUSE_SECONDS = 0.5  # seconds between looks for events while a unit is waited for
MAX_RETRIES = 5  # of a unit whose process or node is lost


def ray_executor(
    runner: UnitRunner,
    cache: InputCache,
    jobs: Sequence[Job],
    execution: ExecutionSettings,
    devices: Collection[str],
) -> RayExecutor:
    """Return the executor of the units of a suite; `devices` are the types of their devices."""
    request, threads = request_of(execution, devices)
    runner.callback(NoteGiven(f"units are trained by Ray, each with {request.words}"))
    # `OMP_NUM_THREADS` says nothing of processes that use a GPU.
    here = all_cores() if "cuda" in devices else cores()
    cpus = here if execution.processes == "auto" else max(1, round(execution.processes * request.cpus))
    head = RayHead(execution.address, cpus)
    return RayExecutor(runner, cache, jobs, request=request, threads=threads, head=head)


class RayExecutor(Executor):
    """Gives every expected unit to Ray as a task, with the tasks of the units that it needs.

    Ray orders and places tasks, and repeats those whose process or node is lost; they resume from the unit's
    last checkpoint. Corpus, tokens and encoder use Ray's object store, with one copy per node. Only this
    process tracks.
    """

    is_local = False

    def __init__(
        self,
        runner: UnitRunner,
        cache: InputCache,
        jobs: Sequence[Job],
        *,
        request: NodeRequest,
        threads: int,
        head: RayHead,
        task: Any = train,
    ) -> None:
        super().__init__(runner, jobs)
        self._cache, self._request, self._threads = cache, request, threads
        self._head, self._task = head, task
        self._by_name = {job.name: job for job in jobs}
        self._common = SharedObjects()
        self._keys: dict[Any, tuple[str, ...]] = {}  # of the inputs of settings
        self._inputs_kept: dict[tuple[str, ...], Any] = {}
        self._tasks: dict[str, Any] = {}  # references to the tasks of units, by key
        self._running: set[str] = set()  # keys of units that have started and not ended
        self._failed: dict[str, TrainingError] = {}  # units given up by Ray, by key
        self._left = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(connect(self._head))
            check_room(self._request)
            self._terms = stack.enter_context(require_equal_nodes(self._runner.store.root.absolute()))
            self._runner.callback(NoteGiven(size(self._request)))
            self._mailbox = start_mailbox()
            self._left = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all units immediately; a later run resumes from their last checkpoints."""
        import ray

        try:
            for task in self._tasks.values():
                ray.cancel(task, force=True)
            ray.kill(self._mailbox)
        finally:
            self._tasks.clear()
            self._left.close()

    def expect(self, jobs: Sequence[Job]) -> None:
        super().expect(jobs)
        for job in jobs:
            self._submit(job)

    def give_up(self, jobs: Sequence[Job]) -> None:
        import ray

        super().give_up(jobs)
        for key in (job.unit.key for job in jobs):
            if self._expected[key] <= 0 and key in self._tasks:
                ray.cancel(self._tasks.pop(key))

    def run(self, job: Job, on_epoch: OnEpoch = ignore_epoch) -> UnitRecord:
        """Return the record of a unit, once it is finished.

        Raises:
            TrainingError: it failed, or too many of its processes ended.
            MtlvError: it had an error that ends the suite, such as a full disk.
        """
        key = job.unit.key
        job = self._jobs[key]
        while True:
            self._await(job, on_epoch)
            record = self._runner.take_finished(job)
            if record is not None:
                self._report_end(job, cached=True)
                return record
            self._ended.discard(key)  # it was damaged and is trained again
            self._tasks.pop(key, None)

    # ---- Tasks ---------------------------------------------------------------------------------------------

    def _submit(self, job: Job) -> Any:
        """Return the task of a unit, after those of the units that it needs; None if it is finished."""
        key = job.unit.key
        if key not in self._tasks and not self._runner.there(job):
            needs = [task for need in job.needs if (task := self._submit(self._jobs[need.unit.key]))]
            jobs = (*job.before, job)
            units = [earlier.unit for earlier in jobs]
            needed_keys = frozenset(unit.key for unit in units if unit.key in self._runner.needed_keys)
            packed, others = self._common.pack(RayTask(jobs, needed_keys, self._terms, self._threads))
            references = [self._inputs(job), *others]
            self._tasks[key] = self._remote.remote(packed, references, self._mailbox, *needs)
        return self._tasks.get(key)

    @cached_property
    def _remote(self) -> Any:
        import ray

        # On a GPU each unit has a new process, because a reused one would keep the device's memory.
        task = ray.remote(max_calls=1 if self._request.gpus else 0)(self._task)
        return task.options(max_retries=MAX_RETRIES, **self._request.options)

    def _inputs(self, job: Job) -> Any:
        """Return a reference to a unit's inputs; shared inputs are put into the object store once."""
        settings = self._common.reference(job.settings)
        if settings not in self._keys:
            self._keys[settings] = self._cache.inputs_key(job.settings)
        key = self._keys[settings]
        if key not in self._inputs_kept:
            self._inputs_kept[key] = keep(self._cache.inputs(job.settings))
        return self._inputs_kept[key]

    def _await(self, job: Job, on_epoch: OnEpoch) -> None:
        """Wait for the end of a unit.

        Raises:
            MtlvError: it failed.
        """
        import ray

        if job.unit.key in self._failed:
            raise self._failed[job.unit.key]
        task = self._submit(job)
        while task is not None and not ray.wait([task], timeout=PAUSE_SECONDS, fetch_local=False)[0]:
            self._receive(job, on_epoch)
        self._receive(job, on_epoch)
        try:
            ray.get([] if task is None else [task])
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, MtlvError | OSError):
                raise error.cause from error
            raise RuntimeError(f"in the process that trained `{job.name}`:\n{error}") from error
        except ray.exceptions.RayError as error:
            raise self._give_up_lost(job, error) from error

    def _give_up_lost(self, job: Job, error: Exception) -> TrainingError:
        self._failed[job.unit.key] = TrainingError(
            f"`{job.name}`: the processes that trained it have ended",
            got=type(error).__name__,
            then="if memory ran out, lower `training.batch_size` or raise `execution.memory_gb`",
        )
        self._runner.callback(UnitFailed(job.name))
        return self._failed[job.unit.key]

    # ---- Messages of tasks ---------------------------------------------------------------------------------

    def _receive(self, requested: Job, on_epoch: OnEpoch) -> None:
        """Pass on the messages of tasks, but epochs only of the requested unit."""
        import ray

        for message in ray.get(self._mailbox.take.remote()):
            if not isinstance(message, EpochScored):
                self._pass_on(message)
            elif message.key == requested.unit.key:
                on_epoch(message.record, message.scores)

    def _pass_on(self, event: Event) -> None:
        """Pass an event on, with the number of its unit, unless the end of its unit was reported."""
        job = self._by_name.get(getattr(event, "name", ""))
        if job is None:
            self._runner.callback(event)
            return
        key = job.unit.key
        if key in self._ended:
            return
        if isinstance(event, UnitEnded):
            self._report_end(job, cached=event.cached)
            return
        if isinstance(event, UnitStarted):
            event = replace(event, index=self._numbers[key])
            if key in self._running:
                text = f"{job.name}: the process that trained it has ended; another one continues"
                self._runner.callback(WarningGiven(text))
            self._running.add(key)
        self._runner.callback(event)

    def _report_end(self, job: Job, *, cached: bool) -> None:
        self._running.discard(job.unit.key)
        super()._report_end(job, cached=cached)
