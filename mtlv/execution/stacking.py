"""Trains units in stacks: each by its own loop, while the encoders of their steps are computed as one.

A unit in a stack is a generator that yields when an optimizer step is due. Units that end, early or by an
error, leave the stack, and the others go on.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from mtlv.errors import NoRoomError, TrainingError
from mtlv.events import NoteGiven
from mtlv.execution.executor import ignore_epoch
from mtlv.execution.local import LocalExecutor
from mtlv.execution.needs import UnitMissing
from mtlv.execution.runner import OnEpoch, UnitRunner
from mtlv.registries import BALANCERS, OBJECTIVES
from mtlv.store.records import UnitRecord
from mtlv.units.job import Job

if TYPE_CHECKING:
    from mtlv.training.loop import DueStep
    from mtlv.training.together import TogetherSteps

ROOM = 0.6  # share of the free memory for weights; the rest is for the values of a step
MOST = 32  # units of a stack, by default


def why_alone(job: Job) -> str:
    """Return what keeps a unit from being in a stack; empty if nothing does."""
    from mtlv.training.objective import looks_ahead

    training = job.settings.training
    balancer, head_loss = BALANCERS[training.objective.name], OBJECTIVES[training.head_loss]
    reasons = {
        "`predictions`": not job.settings.trains,
        "masked words": any(
            one.text_only or one.columns.kind == "mlm" for one in job.settings.data.each_source
        ),
        "`training.accumulation`": training.accumulation > 1,
        "`training.gradient_checkpointing`": training.gradient_checkpointing,
        "`training.draw: rounds`": training.draw == "rounds" and job.rows is not None,
        "`training.objective`": looks_ahead(head_loss, balancer),
        "`architecture.private_layers`": any(head.private for head in job.unit.model.heads),
    }
    return next((reason for reason, keeps in reasons.items() if keeps), "")


class SharedClock:
    """Seconds of work, shared equally among the units that are in a stack."""

    def __init__(self, units: int) -> None:
        self.units = units
        self._seconds, self._last = 0.0, time.perf_counter()

    def __call__(self) -> float:
        now = time.perf_counter()
        self._seconds, self._last = self._seconds + (now - self._last) / self.units, now
        return self._seconds


@dataclass(eq=False)
class _Member:
    """A unit of a stack: its training, which goes on when its step was taken, and its random numbers."""

    job: Job
    steps: Generator[DueStep, None, UnitRecord | None]
    due: DueStep | None = None
    random: dict[str, Any] = field(default_factory=dict)


class UnitStack:
    """Units that are trained together.

    Args:
        runner: trains units.
        units: the units, each with its number in the suite and what is called after its epochs.
    """

    def __init__(self, runner: UnitRunner, units: Sequence[tuple[Job, int, OnEpoch]]) -> None:
        self._runner, self._clock = runner, SharedClock(len(units))
        self._members = [
            _Member(job, runner.train_by_steps(job, number, on_epoch, self._clock, stack=len(units)))
            for job, number, on_epoch in units
        ]
        self._together: TogetherSteps | None = None
        self._can_stack: bool | None = None  # None until it was tried

    def run(self) -> Iterator[tuple[Job, UnitRecord | TrainingError | None]]:
        """Train the units; yield each one that ends, with its record or error.

        Without either, the unit is left for later: another process has it, what it needs was damaged, or
        there was no memory for it beside the others.
        """
        try:
            while self._members:
                for member in list(self._members):
                    yield from self._continue(member)
                if len(self._members) > 1 and self._can_stack is not False:
                    self._take()
        finally:
            for member in self._members:
                member.steps.close()

    def _continue(self, member: _Member) -> Iterator[tuple[Job, UnitRecord | TrainingError | None]]:
        """Continue a unit until its next step is due; yield it if it ends instead."""
        outcome: UnitRecord | TrainingError | None = None
        try:
            with self._draws_of(member):
                member.due = next(member.steps)
            return
        except StopIteration as end:
            outcome = end.value
        except TrainingError as error:
            outcome = None if isinstance(error, NoRoomError) and len(self._members) > 1 else error
        except UnitMissing:
            pass
        self._members.remove(member)
        self._release()
        self._clock()
        self._clock.units = max(1, len(self._members))
        yield member.job, outcome

    def _take(self) -> None:
        """Take the steps that are due together; if that is not possible, each unit takes its own."""
        import torch

        from mtlv.training.together import TogetherSteps

        due = [member.due for member in self._members if member.due is not None]
        steps = tuple(one.step for one in due)
        if self._can_stack is None:
            self._can_stack = TogetherSteps.suit(steps[0])
            if not self._can_stack:
                self._tell("this encoder cannot be computed for several models at once")
                return
        try:
            self._together = self._together or TogetherSteps(steps)
            with self._draws_of(self._members[0]):
                self._together.take(due)
        except torch.cuda.OutOfMemoryError:
            self._can_stack = False
            self._release()
            for step in steps:
                step.trained.optimizer.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()
            self._tell("the device's memory is full")

    def _release(self) -> None:
        if self._together is not None:
            self._together.release()
            self._together = None

    def _tell(self, reason: str) -> None:
        text = f"{len(self._members)} models are trained by turns, each alone: {reason}"
        self._runner.callback(NoteGiven(text))

    @contextmanager
    def _draws_of(self, member: _Member) -> Iterator[None]:
        """Draw random numbers of a unit, as if it were trained alone; those of a stack are of its first."""
        from mtlv.training.optim import resolve_device
        from mtlv.training.state import put_back_random, random_state

        device = resolve_device(member.job.settings.training.device)
        outside = random_state(device)
        put_back_random(member.random or outside, device)
        try:
            yield
        finally:
            member.random = random_state(device)
            put_back_random(outside, device)


class StackingExecutor(LocalExecutor):
    """Trains in this process, the requested unit together with expected ones that are like it.

    Args:
        runner: trains units.
        jobs: the units.
        threads: as for `LocalExecutor`.
        size: most units of a stack; None for as many as the memory of a GPU suggests.
    """

    def __init__(
        self, runner: UnitRunner, jobs: Sequence[Job], *, threads: int | None, size: int | None
    ) -> None:
        super().__init__(runner, jobs, threads=threads)
        self._size = size
        self._reasons: set[str] = set()  # why units are trained alone

    def _attempt(self, job: Job, on_epoch: OnEpoch) -> UnitRecord | None:
        jobs = self._stack_of(job)
        if len(jobs) == 1:
            return super()._attempt(job, on_epoch)
        self.callback(NoteGiven(f"{job.name}: trained in a stack of {len(jobs)} models"))
        numbers = [self._numbers[one.unit.key] for one in jobs]
        calls = [on_epoch, *[ignore_epoch] * (len(jobs) - 1)]
        record: UnitRecord | None = None
        for one, outcome in UnitStack(self._runner, list(zip(jobs, numbers, calls, strict=True))).run():
            if isinstance(outcome, TrainingError):
                self._fail(one, outcome)
            elif outcome is not None:
                record = outcome if one is job else record
                self._report_end(one, cached=False)
        if job.unit.key in self.failed:
            raise self.failed[job.unit.key]
        return record or super()._attempt(job, on_epoch)

    def _stack_of(self, job: Job) -> list[Job]:
        """Return a unit and those that can be trained with it; none that another process has."""
        if self.store.busy(job.unit.key):
            return [job]
        if reason := why_alone(job):
            if reason not in self._reasons:
                self._reasons.add(reason)
                self.callback(NoteGiven(f"{job.name}: trained alone, because of {reason}"))
            return [job]
        common = alike(job)
        others = (
            other
            for key, other in self._unfinished.items()
            if key != job.unit.key and self._expected[key] > 0 and key not in self.failed
            if alike(other) == common
            and not why_alone(other)
            and self._runner.ready(other)
            and not self.store.busy(key)
        )
        return [job, *islice(others, self._most(job) - 1)]

    def _most(self, job: Job) -> int:
        if self._size is not None:
            return self._size
        import torch

        from mtlv.training.together import bytes_of_model

        free, _ = torch.cuda.mem_get_info()
        encoder, module = job.settings.encoder, self._runner.inputs(job.settings).encoder.module
        model = bytes_of_model(module, encoder.frozen_layers, has_adapters=encoder.lora is not None)
        return max(1, min(MOST, int(ROOM * free / model)))


def alike(job: Job) -> tuple[object, ...]:
    """Return what units of a stack have in common: encoder, documents, batches, device and precision."""
    settings, training = job.settings, job.settings.training
    sections = settings.encoder.model_dump_json(), settings.data.model_dump_json()
    return (*sections, training.batch_size, training.device, job.precision)
