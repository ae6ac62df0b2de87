"""How many processes train at once: so many from the beginning, or found by measuring while they work."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from statistics import fmean
from threading import Condition

from mtlv.events import EpochEnded, UnitStarted
from mtlv.execution.messages import Message
from mtlv.units.job import Job

GAIN = 1.05  # what one more must at least make of the work of all: clocks alone differ by some percent
SECONDS = 5.0  # of training that each is measured for, at least: of small corpora an epoch says little
MARGIN = 1.5  # times what one has taken of the device: it may meet longer documents and larger models
STRANGE = 3  # times that one leaves because nothing can be compared: each costs the start of a process


@dataclass(eq=False)
class Slot:
    """A process that trains beside others.

    Args:
        warm: it has ended an epoch since it began or rested; the first has the start of CUDA in it.
        alone: nobody else was there since its present unit began.
        leaving: it is to end; until it has, its memory is not free.
        kind: of the unit that it trains.
        documents: of an epoch of that unit.
        since: the round in which its present epoch began.
        seen: documents and seconds of epochs that count, by kind of unit.
    """

    warm: bool = False
    alone: bool = False
    leaving: bool = False
    kind: Hashable = None
    documents: float = 0.0
    since: int = 0
    seen: dict[Hashable, tuple[float, float]] = field(default_factory=dict)


def kind_of(job: Job) -> Hashable:
    """The same for units whose documents take equally long, whatever that is."""
    own, unit = job.settings, job.unit
    training = own.training
    step = training.batch_size, training.accumulation, training.head_loss, training.gradient_checkpointing
    parts = own.encoder, own.data, own.heads, unit.stage, len(unit.model.heads), job.rows
    how = unit.train["precision"], unit.train.get("compile"), own.execution.devices_per_unit
    return repr((parts, step, training.device, how))


class Concurrency:
    """So many processes from the beginning to the end.

    Args:
        most: how many.
    """

    def __init__(self, most: int) -> None:
        self.most = most

    def described(self, words: str) -> str:
        """Who trains, for a person.

        Args:
            words: for `most` processes.
        """
        return words

    def enter(self) -> Slot | None:
        """One more process, as soon as it is wanted; None: it will not be."""
        return Slot()

    def leaves(self, member: Slot) -> bool:  # noqa: ARG002
        """Whether a process that is between two units is to end."""
        return False

    def left(self, member: Slot) -> None:
        """A process has ended, and none takes its place."""

    def rests(self, member: Slot) -> None:
        """A process has nothing to train, or is gone and another takes its place."""

    def hear(self, member: Slot, job: Job, message: Message) -> str | None:  # noqa: ARG002
        """A message of the process that trains a unit; returns a note for the user, if there is one."""
        return None

    def gives_way(self, member: Slot) -> bool:  # noqa: ARG002
        """Whether a unit that found no room on the device is trained again, beside fewer."""
        return False

    def close(self) -> None:
        """Nobody is let in any more."""


class AdaptiveConcurrency(Concurrency):
    """One process at first; another joins as long as the last one made all together train more.

    A round begins when all that are inside have ended their first epoch, and anew whenever one comes, goes,
    rests or is lost; only epochs that began in it count. Documents per second are compared among units of
    one kind: estimates of what others cost tell minutes from hours, not some percent. Where
    the present units are of no kind that one process fewer was measured by, one leaves, and comes back when
    that was done. Once the number is found it stays.

    Args:
        most: how many at most.
        limit: for a person, why there are no more.
        free: bytes that are free on the device now.
        kinds: what kind of unit a job is; see `kind_of`.
        gain: what one more must make of the work of all, at least.
        seconds: of training that each process is measured for, at least.
    """

    def __init__(
        self,
        most: int,
        *,
        limit: str,
        free: Callable[[], float],
        kinds: Callable[[Job], Hashable] = kind_of,
        gain: float = GAIN,
        seconds: float = SECONDS,
    ) -> None:
        super().__init__(most)
        self._limit, self._free, self._kinds = limit, free, kinds
        self._gain, self._seconds = gain, seconds
        self._changed = Condition()
        self._inside: list[Slot] = []
        self._allowed, self._over = 1, False
        self._round = self._strange = 0
        self._speeds: dict[int, dict[Hashable, float]] = {}  # documents/s of one of n processes, by kind
        self._together = {1: 1.0}  # the work of n processes, of one alone
        self._before, self._taken = free(), 0.0  # of the device, by one process

    def described(self, words: str) -> str:
        return f"one process at first, then by up to {words}, as long as one more makes all together faster"

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
                member.kind, member.documents = self._kinds(job), message.documents / message.epochs
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
        """An epoch of a process has ended, and its next one begins."""
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
        """Let another in, or say why not, once all were measured."""
        count = len(self._inside)
        if count != self._allowed or not all(map(self._is_measured, self._inside)):
            return None
        self._speeds.setdefault(count, {}).update(self._speed())
        if count > 1:
            kept = self._kept_speed(count)
            if kept is None and self._strange == STRANGE:
                return self._settle(count, "units are of too many kinds to be compared")
            if kept is None:
                self._strange += 1
                self._allowed = count - 1
                return None
            gain = kept * count / (count - 1)
            self._together[count] = self._together[count - 1] * gain
            if gain < self._gain:
                more = f"{gain - 1:.0%}" if gain >= 1.005 else "nothing"
                return self._settle(count - 1, f"one more brought {more}")
        if count == self.most:
            return self._settle(count, self._limit)
        if self._free() < MARGIN * self._taken:
            return self._settle(count, "the device has no memory for one more, with some to spare")
        self._allowed = count + 1
        self._changed.notify_all()
        return None

    def _is_measured(self, member: Slot) -> bool:
        return bool(member.seen) and sum(seconds for _, seconds in member.seen.values()) >= self._seconds

    def _speed(self) -> dict[Hashable, float]:
        """Documents per second of one process, by kind of unit."""
        totals: dict[Hashable, tuple[float, float]] = {}
        for member in self._inside:
            for kind, (documents, seconds) in member.seen.items():
                before = totals.get(kind, (0.0, 0.0))
                totals[kind] = before[0] + documents, before[1] + seconds
        return {kind: documents / seconds for kind, (documents, seconds) in totals.items()}

    def _kept_speed(self, count: int) -> float | None:
        """What each kept of its speed when the last one joined; None: nothing can be compared."""
        before, now = self._speeds[count - 1], self._speeds[count]
        common = before.keys() & now.keys()
        return fmean(now[kind] / before[kind] for kind in common) if common else None

    def _settle(self, count: int, why: str) -> str:
        self._end(count)
        if count == 1:
            return f"one process trains by itself: {why}"
        if count not in self._together:
            return f"{count} processes train: {why}"
        return f"{count} processes train {self._together[count]:.1f} times as much as one: {why}"

    def _end(self, count: int) -> None:
        """No more than so many from now on; who waits to be let in is sent away."""
        self._allowed, self._over = count, True
        self._changed.notify_all()
