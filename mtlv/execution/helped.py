"""Trains several units at once: this process and helper processes share them by the store's locks."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Thread

from mtlv.errors import NoRoomError, TrainingError
from mtlv.events import Event, UnitEnded, UnitFailed, UnitStarted, WarningGiven
from mtlv.execution.executor import ignore_epoch
from mtlv.execution.helper import Expectation, HelperMessage, HelpRequest, UnitError
from mtlv.execution.local import PAUSE_SECONDS, LocalExecutor
from mtlv.execution.runner import OnEpoch, UnitRunner
from mtlv.processes import GRACE_SECONDS, ChildProcess, Crashed, Failed
from mtlv.store.records import UnitRecord
from mtlv.units.job import Job

MAX_TRIES = 2  # attempts of a unit whose processes are lost


class Helper:
    """A helper process, as used by the main process; one thread sends to it, another one receives."""

    def __init__(
        self, request: HelpRequest, received: SimpleQueue[tuple[Helper, HelperMessage | None]]
    ) -> None:
        count = str(request.threads)
        self.child = ChildProcess("mtlv.execution.helper", OMP_NUM_THREADS=count, MKL_NUM_THREADS=count)
        self.job: Job | None = None  # the unit that it trains
        self._received = received
        self._to_send: SimpleQueue[object] = SimpleQueue()
        self.tell(request)
        self._threads = [Thread(target=work, daemon=True) for work in (self._send_all, self._receive_all)]
        for thread in self._threads:
            thread.start()

    def tell(self, message: object) -> None:
        """Send a message, without waiting."""
        self._to_send.put(message)

    def leave(self) -> None:
        """Let the process finish its current write and end, without waiting."""
        self._to_send.put(None)

    def end(self) -> None:
        """End the process, which has `GRACE_SECONDS` for it."""
        self.leave()
        with suppress(subprocess.TimeoutExpired):
            self.child.process.wait(GRACE_SECONDS)
        self.child.process.kill()
        for thread in self._threads:
            thread.join()
        self.child.end()

    def _send_all(self) -> None:
        while (message := self._to_send.get()) is not None:
            self.child.send(message)
        self.child.finish()

    def _receive_all(self) -> None:
        for message in self.child.messages():
            self._received.put((self, message))
        self._received.put((self, None))


class HelpedExecutor(LocalExecutor):
    """Trains in this process and in helpers, each of which takes the next unit that is free.

    Events of helpers are passed on in the thread that requests units. A helper that is lost is replaced, and
    only helpers train its unit again, so that the unit cannot end this process. If there is not enough memory
    for several units, this process trains the unit alone, and one process fewer trains from then on.
    """

    def __init__(self, runner: UnitRunner, jobs: Sequence[Job], *, processes: int, threads: int) -> None:
        super().__init__(replace(runner, callback=self._call), jobs, threads=threads)
        self._pass_on = runner.callback
        self._thread_count = threads
        self._by_name = {job.name: job for job in jobs}
        self.processes, self._most_helpers = processes, processes - 1
        self._has_started = False
        self._helpers: list[Helper] = []
        self._received: SimpleQueue[tuple[Helper, HelperMessage | None]] = SimpleQueue()
        self._losses: Counter[str] = Counter()  # how many processes of a unit were lost, by its key

    def __exit__(self, *error: object) -> None:
        self._dismiss_helpers()
        super().__exit__(*error)

    def expect(self, jobs: Sequence[Job]) -> None:
        super().expect(jobs)
        self._tell_helpers(Expectation([job.unit.key for job in jobs], 1))

    def give_up(self, jobs: Sequence[Job]) -> None:
        super().give_up(jobs)
        self._tell_helpers(Expectation([job.unit.key for job in jobs], -1))

    def run(self, job: Job, on_epoch: OnEpoch = ignore_epoch) -> UnitRecord:
        """Run a unit.

        Raises:
            TrainingError: it failed, or too many of its processes ended.
            MtlvError: another unit had an error that ends the suite, such as a full disk.
        """
        if not self._has_started:
            self._has_started = True
            missing = sum(not self._runner.there(known) for known in self._jobs.values())
            for _ in range(min(self._most_helpers, missing - 1)):
                self._start_helper()
        return super().run(job, on_epoch)

    def _start_helper(self) -> None:
        request = HelpRequest(
            self.store.root,
            self._thread_count,
            tuple(self._jobs.values()),
            self._expected.copy(),
            self.failed.copy(),
        )
        self._helpers.append(Helper(request, self._received))

    def _tell_helpers(self, message: Expectation | UnitError) -> None:
        for helper in self._helpers:
            helper.tell(message)

    def _dismiss_helpers(self) -> None:
        """End all helpers; they finish their current writes."""
        for helper in self._helpers:
            helper.leave()
        for helper in self._helpers:
            helper.end()
        self._helpers.clear()

    # ---- Units of this process -----------------------------------------------------------------------------

    def _attempt(self, job: Job, on_epoch: OnEpoch) -> UnitRecord | None:
        self._receive_waiting()
        if self._is_left_to_helpers(job):
            return None
        try:
            return super()._attempt(job, on_epoch)
        except NoRoomError:
            if not self._helpers:
                raise
        # Only now, because the exception's traceback kept the tensors of the unit.
        self._warn_of_memory(job)
        self._dismiss_helpers()
        self._has_started = False  # fewer start with the next unit
        return super()._attempt(job, on_epoch)

    def _is_left_to_helpers(self, job: Job) -> bool:
        """Whether a unit is for helpers only: one has it, or another helper was lost with it."""
        key = job.unit.key
        will_try = bool(self._helpers) and self._losses[key] > 0 and self._expected[key] > 0
        return will_try or any(helper.job is job for helper in self._helpers)

    def _warn_of_memory(self, job: Job) -> None:
        self._most_helpers -= 1
        text = (
            "there is not enough memory for it and others; it is trained alone, and then with fewer processes"
        )
        self._pass_on(WarningGiven(f"{job.name}: {text}"))

    def _report_end(self, job: Job, *, cached: bool) -> None:
        while cached and any(helper.job is job for helper in self._helpers):
            self._wait()  # for the helper's own message that it has just finished it
        super()._report_end(job, cached=cached)

    def _note_other(self, job: Job) -> None:
        holder = self.store.holder(job.unit.key)
        holders = [f"process {helper.child.process.pid} " for helper in self._helpers]
        if not self._losses[job.unit.key] and not holder.startswith(tuple(holders)):
            super()._note_other(job)

    def _call(self, event: Event) -> None:
        self._receive_waiting()
        self._pass_on(event)

    # ---- Messages of helpers -------------------------------------------------------------------------------

    def _wait(self) -> None:
        self._receive_waiting(PAUSE_SECONDS)

    def _receive_waiting(self, seconds: float = 0.0) -> None:
        """Handle all waiting messages; if there are none, wait up to `seconds` for one."""
        with suppress(Empty):
            while True:
                helper, message = self._received.get(timeout=seconds)
                seconds = 0.0
                if helper in self._helpers:
                    self._receive(helper, message)

    def _receive(self, helper: Helper, message: HelperMessage | None) -> None:
        match message:
            case None:
                self._lose(helper)
            case UnitError(key, error):
                helper.job = None
                self._fail_in_helper(self._jobs[key], error)
            case Failed(error):
                raise error  # a full disk or a missing device does not concern only its unit
            case Crashed(traceback):
                raise RuntimeError(f"in a process that trains units:\n{traceback}")
            case _:
                self._pass_on_event(helper, message)

    def _pass_on_event(self, helper: Helper, event: Event) -> None:
        """Pass an event on, unless it is about a unit whose end was reported."""
        job = self._by_name.get(getattr(event, "name", ""))
        if job is not None:
            if isinstance(event, UnitStarted | UnitEnded):
                helper.job = job if isinstance(event, UnitStarted) else None
            if job.unit.key in self._ended:
                return
            if isinstance(event, UnitEnded):
                self._ended.add(job.unit.key)
        self._pass_on(event)

    def _fail_in_helper(self, job: Job, error: TrainingError) -> None:
        key = job.unit.key
        self._tell_helpers(UnitError(key, error))
        if isinstance(error, NoRoomError):  # the helper ends, and this process trains the unit
            self._losses.pop(key, None)
            self._warn_of_memory(job)
        elif key not in self.failed:
            self.failed[key] = error
            self._pass_on(UnitFailed(job.name))

    def _lose(self, helper: Helper) -> None:
        """Handle the end of a helper: if it had a unit, another one takes its place."""
        self._helpers.remove(helper)
        how, job = helper.child.how_it_ended(), helper.job
        helper.end()
        if job is None:
            return
        self._losses[job.unit.key] += 1
        if self._losses[job.unit.key] < MAX_TRIES:
            text = f"{job.name}: the process that trained it has ended ({how}); another one continues"
            self._pass_on(WarningGiven(text))
        else:
            error = TrainingError(
                f"`{job.name}`: {MAX_TRIES} processes that trained it have ended",
                got=how,
                then="if memory ran out (SIGKILL), lower `execution.processes` or `training.batch_size`",
            )
            self._fail_in_helper(job, error)
        self._start_helper()
