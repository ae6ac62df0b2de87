"""Trains units as Ray tasks, on this machine or on a cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Any, Self

from mtlv.events import Callback, NoteGiven, UnitPlaced
from mtlv.execution.async_executor import AsyncExecutor
from mtlv.execution.messages import Ending
from mtlv.execution.ray.cluster import RayHead, connected
from mtlv.execution.ray.nodes import NodeRequest, agreed, alive, check_room, size, slots
from mtlv.execution.ray.task import OnNode, RayTask, SharedObjects, keep, train
from mtlv.execution.scheduler import PAUSE
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job

COUNTED = 5.0  # seconds between checks of a cluster's size
AT_ONCE = 2  # units submitted per unit that can run: waiting tasks make a cluster grow
MORE = 16  # additional units, so that a small cluster always has a waiting one


class RayExecutor(AsyncExecutor):
    """Submits units as Ray tasks when the units from which they start are finished; Ray places them.

    Corpus, tokens and encoder use Ray's object store, with one copy per node. Only this process tracks.
    If a unit's worker or node is lost, the unit is submitted again and resumes from its last checkpoint.
    """

    tries = 5

    def __init__(
        self,
        cache: InputCache,
        store: Store,
        callback: Callback,
        jobs: Sequence[Job],
        *,
        wanted: NodeRequest,
        threads: int,
        head: RayHead,
        task: Any = train,
    ) -> None:
        super().__init__(cache, store, callback, jobs)
        self._cache, self.wanted, self.threads = cache, wanted, threads
        self._head, self._task = head, task
        self._common = SharedObjects()
        self._keys: dict[Any, tuple[str, ...]] = {}  # of the inputs of settings
        self._inputs_kept: dict[tuple[str, ...], Any] = {}
        self._at_work: dict[Any, Job] = {}  # by the generator of its messages
        self._nodes: dict[str, str] = {}  # of running units
        self._room, self._counted = 0, -COUNTED
        self._left = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(connected(self._head))
            check_room(self.wanted)
            self._terms = stack.enter_context(agreed(self.store.root.absolute()))
            self.callback(NoteGiven(size(self.wanted)))
            self._left = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all units immediately; a later run resumes from their last checkpoints."""
        import ray

        self._scheduler.close()
        try:
            for generator in self._at_work:
                ray.cancel(generator, force=True)
        finally:
            self._at_work.clear()
            self._left.close()

    def _listen(self) -> None:
        import ray

        self._submit()
        running = list(self._at_work)
        if not running:
            time.sleep(PAUSE)
            return
        ready, _ = ray.wait(running, num_returns=len(running), timeout=0, fetch_local=False)
        if not ready:
            ready, _ = ray.wait(running, num_returns=1, timeout=PAUSE, fetch_local=False)
        for generator in ready:
            self._hear(generator)

    # ---- Submitting units to Ray ---------------------------------------------------------------------------

    def _submit(self) -> None:
        """Submit as many units as the cluster can train, and some more to wait."""
        if time.monotonic() - self._counted >= COUNTED:
            self._room, self._counted = AT_ONCE * slots(self.wanted) + MORE, time.monotonic()
        while len(self._at_work) < self._room and (job := self._scheduler.next()) is not None:
            packed, others = self._common.pack(RayTask(self._request(job), self._terms, self.threads))
            self._at_work[self._remote.remote(packed, [self._inputs(job), *others])] = job

    @cached_property
    def _remote(self) -> Any:
        import ray

        # On a GPU each unit has a new process, because a reused one would keep the device's memory.
        kind = {"max_calls": 1} if self.wanted.gpus else {"max_calls": 0}
        task = ray.remote(**kind)(self._task)
        # Lost units are resubmitted here, because Ray would send all their messages again.
        return task.options(num_returns="streaming", max_retries=0, **self.wanted.options)

    def _inputs(self, job: Job) -> Any:
        """Return a reference to a unit's inputs; shared inputs are put into the object store once."""
        settings = self._common.reference(job.settings)
        if settings not in self._keys:
            self._keys[settings] = self._cache.inputs_key(job.settings)
        key = self._keys[settings]
        if key not in self._inputs_kept:
            self._inputs_kept[key] = keep(self._cache.inputs(job.settings))
        return self._inputs_kept[key]

    # ---- Messages of tasks ---------------------------------------------------------------------------------

    def _hear(self, generator: Any) -> None:
        """Receive the available messages of a task."""
        import ray

        job = self._at_work[generator]
        key = job.unit.key
        try:
            messages = ray.get(next(generator))
        except StopIteration:
            return self._gone(generator, "it ended without a message")
        except ray.exceptions.RayTaskError as error:
            raise RuntimeError(f"in the process that trained `{job.name}`:\n{error}") from error
        except ray.exceptions.RayError as error:
            return self._gone(generator, type(error).__name__)
        for message in messages:
            if isinstance(message, OnNode):
                self._nodes[key] = message.node
                self.callback(UnitPlaced(message.unit, message.name))
                continue
            if isinstance(message, Ending):
                del self._at_work[generator]
                self._settle(job, message)
            self._receive(key, message)
        return None

    def _gone(self, generator: Any, how: str) -> None:
        job = self._at_work.pop(generator)
        node = self._nodes.pop(job.unit.key, None)
        there = node is None or alive(node)
        self._receive(job.unit.key, self._lose(job, how if there else "its node is lost", own=there))
