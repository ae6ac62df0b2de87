"""Number of processes that train at once: fixed, or adapted by measuring the speed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from statistics import fmean
from threading import Condition

from mtlv.events import EpochEnded, UnitStarted
from mtlv.execution.messages import Message
from mtlv.units.job import Job

MARGIN = 1.5  # factor on the device memory of one process, for longer documents and larger models
STRANGE = 3  # maximum number of times a process leaves because nothing can be compared


@dataclass(eq=False)
class Slot:
    """A process that trains together with others."""

    # whether it has finished an epoch since it started or rested; the first one includes the start of CUDA
    warm: bool = False
    alone: bool = False  # whether no other process ran since its current unit started
    leaving: bool = False  # whether it is ending; until then its memory is not free
    kind: Hashable = None  # kind of its current unit
    documents: float = 0.0  # documents of an epoch of that unit
    since: int = 0  # round in which its current epoch started
    # documents and seconds of measured epochs, by kind of unit
    seen: dict[Hashable, tuple[float, float]] = field(default_factory=dict)


def kind_of(job: Job) -> Hashable:
    """Return a key that is equal for units whose documents take equally long."""
    own, unit = job.settings, job.unit
    training = own.training
    step = training.batch_size, training.accumulation, training.head_loss, training.gradient_checkpointing
    parts = own.encoder, own.data, own.heads, unit.stage, len(unit.model.heads), unit.train["sources"]
    how = unit.train["precision"], training.cuda_graphs, own.execution.devices_per_unit
    return repr((parts, step, training.objective.name, training.device, how))


class Concurrency:
    """A fixed number of processes."""

    def __init__(self, most: int) -> None:
        self.most = most

    def described(self, words: str) -> str:
        """Describe the processes for users."""
        return words

    def enter(self) -> Slot | None:
        """Return the slot of one more process, as soon as it is useful; None if there will be none."""
        return Slot()

    def leaves(self, member: Slot) -> bool:
        """Whether a process between two units should end."""
        return False

    def left(self, member: Slot) -> None:
        """Handle the end of a process that is not replaced."""

    def rests(self, member: Slot) -> None:
        """Handle a process that has nothing to train, or that ended and is replaced."""

    def hear(self, member: Slot, job: Job, message: Message) -> str | None:
        """Handle a message of a training process; return a note for the user, if any."""
        return None

    def gives_way(self, member: Slot) -> bool:
        """Whether to train a unit that ran out of device memory again, with fewer processes."""
        return False

    def close(self) -> None:
        """Admit no more processes."""


class AdaptiveConcurrency(Concurrency):
    """Starts with one process; another is added as long as the last one increased the total speed.

    A round starts when all processes have finished their first epoch, and again whenever one is added,
    removed, rests or is lost; only epochs that started in the round are measured. Documents per second are
    compared among units of one kind, because estimates across kinds are too rough. If the current units
    have no kind in common with the measurement with one process fewer, one process leaves, and returns when
    that is measured. Once found, the number is fixed.

    Args:
        most: maximum number of processes.
        limit: reason for the maximum, for users.
        free: returns the free bytes of the device.
    """

    gain = 1.05  # minimum speedup of one more process; clock speeds alone differ by a few percent
    seconds = 5.0  # minimum seconds of training measured per process; an epoch of a small corpus is too short
    kind_of = staticmethod(kind_of)

    def __init__(self, most: int, *, limit: str, free: Callable[[], float]) -> None:
        super().__init__(most)
        self._limit, self._free = limit, free
        self._changed = Condition()
        self._inside: list[Slot] = []
        self._allowed, self._over = 1, False
        self._round = self._strange = 0
        self._speeds: dict[int, dict[Hashable, float]] = {}  # documents/s of one of n processes, by kind
        self._together = {1: 1.0}  # speed of n processes relative to one
        self._before, self._taken = free(), 0.0  # free before, and taken by one process

    def described(self, words: str) -> str:
        return f"one process at first, then by up to {words}, as long as one more increases the total speed"

    def enter(self) -> Slot | None:
        with self._changed:
            self._changed.wait_for(lambda: self._over or len(self._inside) < self._allowed)
            if self._over:
                return None
            for each in self._inside:
                each.alone = False
            self._inside.append(member := Slot())
            self._begin_round()
            return member

    def leaves(self, member: Slot) -> bool:
        with self._changed:
            staying = sum(not each.leaving for each in self._inside)
            member.leaving = member.leaving or staying > self._allowed
            return member.leaving

    def left(self, member: Slot) -> None:
        with self._changed:
            self._inside.remove(member)
            self._begin_round()
            self._changed.notify_all()

    def rests(self, member: Slot) -> None:
        with self._changed:
            member.warm = False
            self._begin_round()

    def hear(self, member: Slot, job: Job, message: Message) -> str | None:
        with self._changed:
            if isinstance(message, UnitStarted):
                member.kind, member.documents = self.kind_of(job), message.documents / message.epochs
                member.since, member.alone = self._round, len(self._inside) == 1
            elif isinstance(message, EpochEnded) and not self._over:
                self._count(member, message.documents_per_second)
                return self._judge()
            return None

    def gives_way(self, member: Slot) -> bool:
        with self._changed:
            if member.alone:
                return False
            self._end(max(1, min(self._allowed, len(self._inside)) - 1))
            return True

    def close(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()

    # ---- With the lock held --------------------------------------------------------------------------------

    def _begin_round(self) -> None:
        self._round += 1
        for member in self._inside:
            member.seen.clear()

    def _count(self, member: Slot, per_second: float) -> None:
        """Handle the end of an epoch of a process, after which its next one starts."""
        if not member.warm:
            member.warm = True
            self._begin_round()
        elif member.since == self._round and per_second > 0:
            documents, seconds = member.seen.get(member.kind, (0.0, 0.0))
            spent = member.documents / per_second
            member.seen[member.kind] = documents + member.documents, seconds + spent
        member.since = self._round
        self._taken = max(self._taken, (self._before - self._free()) / len(self._inside))

    def _judge(self) -> str | None:
        """Once all processes are measured, admit another one, or return the reason why not."""
        count = len(self._inside)
        if count != self._allowed or not all(map(self._is_measured, self._inside)):
            return None
        self._speeds.setdefault(count, {}).update(self._speed())
        if count > 1:
            kept = self._kept_speed(count)
            if kept is None and self._strange == STRANGE:
                return self._settle(count, "there are too many kinds of units to compare")
            if kept is None:
                self._strange += 1
                self._allowed = count - 1
                return None
            gain = kept * count / (count - 1)
            self._together[count] = self._together[count - 1] * gain
            if gain < self.gain:
                more = f"{gain - 1:.0%}" if gain >= 1.005 else "nothing"
                return self._settle(count - 1, f"one more gave {more}")
        if count == self.most:
            return self._settle(count, self._limit)
        if self._free() < MARGIN * self._taken:
            return self._settle(count, "the device does not have enough memory for one more")
        self._allowed = count + 1
        self._changed.notify_all()
        return None

    def _is_measured(self, member: Slot) -> bool:
        return bool(member.seen) and sum(seconds for _, seconds in member.seen.values()) >= self.seconds

    def _speed(self) -> dict[Hashable, float]:
        """Return the documents per second of one process, by kind of unit."""
        totals: dict[Hashable, tuple[float, float]] = {}
        for member in self._inside:
            for kind, (documents, seconds) in member.seen.items():
                before = totals.get(kind, (0.0, 0.0))
                totals[kind] = before[0] + documents, before[1] + seconds
        return {kind: documents / seconds for kind, (documents, seconds) in totals.items()}

    def _kept_speed(self, count: int) -> float | None:
        """Return the relative speed of each process after the last one joined; None if not comparable."""
        before, now = self._speeds[count - 1], self._speeds[count]
        common = before.keys() & now.keys()
        return fmean(now[kind] / before[kind] for kind in common) if common else None

    def _settle(self, count: int, why: str) -> str:
        self._end(count)
        if count == 1:
            return f"one process trains: {why}"
        if count not in self._together:
            return f"{count} processes train: {why}"
        return f"{count} processes train {self._together[count]:.1f} times as fast as one: {why}"

    def _end(self, count: int) -> None:
        """Fix the maximum number of processes, and reject those that wait."""
        self._allowed, self._over = count, True
        self._changed.notify_all()
