"""How a suite's tracking reaches its store: through a journal on disk, so that training never waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.errors import RefusedError, TrackingError
from mtlv.tracking import DEFAULT_URI, Tracker
from mtlv.tracking.address import is_remote, kept_address
from mtlv.tracking.journal import FOLDER, Journal
from mtlv.tracking.journal_tracker import JournalTracker
from mtlv.tracking.mlflow_access import check_access, load_mlflow
from mtlv.tracking.outbox import Outbox, Tell, dead_journals
from mtlv.tracking.sender import Pace, Sender

if TYPE_CHECKING:
    from mtlv.running.observer import Observer
    from mtlv.settings import Settings

HURRY = 5.0
"""Seconds for what is left after Ctrl-C or an error."""


def open_tracker(uri: str, experiment: str) -> Tracker:
    """The store that journals are delivered to; the only place where MLflow is chosen."""
    from mtlv.tracking.mlflow_tracker import MlflowTracker

    return MlflowTracker(uri, experiment)


def store_answers(uri: str, tell: Tell) -> bool:
    """Whether the tracking store can be used now; `tell` hears of a server that is away.

    Raises:
        TrackingError: what waiting would not mend: a wrong address, an unknown user, a file that cannot be
            written.
    """
    try:
        check_access(uri)
    except RefusedError:
        raise
    except TrackingError as error:
        if not is_remote(uri):
            raise
        tell(f"{error} Training begins without it: what is tracked is kept and delivered when it answers")
        return False
    return True


@dataclass
class Delivery:
    """A suite's way to its store.

    Args:
        tracker: what the suite writes to.
        sender: delivers it; nothing where the suite was given a tracker.
        experiment: its name.
        left: calls that were not delivered when the suite ended.
    """

    tracker: Tracker
    sender: Sender | None = None
    experiment: str = ""
    left: int = 0

    def page(self, otherwise: str) -> str:
        """Address of the experiment's page; `otherwise` where the store could not be asked for it."""
        opened = self.sender.tracker(self.experiment) if self.sender else self.tracker
        try:
            return otherwise if self.left else str(getattr(opened, "page", otherwise))
        except TrackingError:
            return otherwise


@contextmanager
def deliver(settings: Settings, observer: Observer, *, answers: bool) -> Iterator[Delivery]:
    """Deliver what the block tracks, and before it what earlier processes left; warn of what is left.

    Args:
        settings: of the suite.
        observer: hears of outages.
        answers: whether the store does, as `store_answers` says; then it is opened before the block begins.

    Raises:
        TrackingError: the store refuses, or the journal cannot be written.
    """
    uri, experiment = settings.tracking.uri or DEFAULT_URI, settings.experiment
    root = Path(settings.store.uri) / FOLDER
    opened = {experiment: _opened(uri, experiment, observer.warn)} if answers else {}
    load_mlflow()  # here, because it would hold up training for a second
    older = _left_behind(root, uri, observer)
    journal = Journal(root, uri, experiment)

    def opener(name: str) -> Tracker:
        return opened.pop(name, None) or open_tracker(uri, name)

    sender = Sender(older, opener, observer.warn, own=journal, pace=Pace(settings.tracking.send_seconds))
    delivery = Delivery(JournalTracker(journal), sender, experiment)
    sender.start()
    try:
        yield delivery
    except BaseException:
        _end(delivery, settings, observer, HURRY)
        raise
    _end(delivery, settings, observer, None)


def _opened(uri: str, experiment: str, tell: Tell) -> Tracker | None:
    try:
        return open_tracker(uri, experiment)
    except RefusedError:
        raise
    except TrackingError as error:
        if not is_remote(uri):
            raise
        tell(f"{error} Training begins without it")
        return None


def _left_behind(root: Path, uri: str, observer: Observer) -> list[Outbox]:
    """Journals of earlier processes to the same store; one of another store is for `mtlv sync`."""
    found = dead_journals(root, observer.warn)
    here = [outbox for outbox in found if outbox.to.uri == kept_address(uri)]
    for outbox in found:
        if outbox not in here:
            outbox.close()
    count = sum(outbox.left() for outbox in here)
    if count:
        observer.note(f"{records(count)} of earlier runs are delivered to the tracking store first")
    return here


def _end(delivery: Delivery, settings: Settings, observer: Observer, longest: float | None) -> None:
    assert delivery.sender is not None
    delivery.left = delivery.sender.close(settings.tracking.flush_seconds, longest)
    if delivery.left:
        store = settings.store.uri
        why = f": {delivery.sender.problem}" if delivery.sender.problem else ""
        observer.warn(
            f"{records(delivery.left)} are not in the tracking store yet; they are kept in "
            f"`{Path(store) / FOLDER}`; `mtlv sync --store {store}` delivers them{why}"
        )


def records(count: int) -> str:
    """`1 record`, `2 records`."""
    return f"{count} record{'' if count == 1 else 's'}"
