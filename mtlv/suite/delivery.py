"""Tracking of a suite through a journal on disk, so that training never waits for the tracking store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtlv.errors import TrackingError
from mtlv.events import Callback, NoteGiven, WarningGiven, warner
from mtlv.formatting import many
from mtlv.registries import TRACKERS
from mtlv.tracking import Tracker
from mtlv.tracking.journal import CALLS, FOLDER, Journal
from mtlv.tracking.journal_tracker import JournalTracker
from mtlv.tracking.mirrors import mirrored
from mtlv.tracking.upload_process import UploadProcess, UploadState
from mtlv.tracking.uploader import UploadInterval

if TYPE_CHECKING:
    from mtlv.settings import Settings

HURRY_SECONDS = 5.0
"""Seconds for uploading the rest after Ctrl-C or an error."""
NOTHING_LEFT = UploadState(0)


@dataclass
class TrackerConnection:
    """A suite's connection to its tracking store."""

    tracker: Tracker
    upload: UploadState = NOTHING_LEFT  # state of the upload when the suite ended


@contextmanager
def deliver(settings: Settings, callback: Callback, uploads: UploadProcess) -> Iterator[TrackerConnection]:
    """Upload what is tracked in the block, after the rest of earlier processes; warn if something is left.

    Raises:
        TrackingError: the store rejects records, or the journal cannot be written.
        ConfigError: a tracker of another package cannot be loaded.
    """
    mirrors = dict(TRACKERS)  # loads them: a broken package is an error before anything is written
    root = settings.store.folder / FOLDER
    journal = Journal(root, uploads.uri, uploads.experiment)
    try:
        earlier = uploads.begin(root, journal.folder, UploadInterval(settings.tracking.send_seconds))
    except BaseException:
        journal.close(delivered=True)  # it is empty
        raise
    if earlier:
        text = f"{many(earlier, 'record')} of earlier runs are uploaded to the tracking store first"
        callback(NoteGiven(text))
    connection = TrackerConnection(mirrored(JournalTracker(journal), mirrors, warner(callback)))
    longest: float | None = HURRY_SECONDS
    try:
        yield connection
        longest = None
    finally:
        connection.upload = _end(journal, uploads, settings, callback, longest)


def _end(
    journal: Journal, uploads: UploadProcess, settings: Settings, callback: Callback, longest: float | None
) -> UploadState:
    upload = UploadState(journal.written)
    try:
        upload = uploads.finish(settings.tracking.flush_seconds, longest)
    except TrackingError as error:
        upload = UploadState(journal.written, str(error))
    finally:
        is_there = (journal.folder / CALLS).exists()
        journal.close(delivered=is_there and not upload.left)
        if not is_there:
            text = (
                f"the tracking journal `{journal.folder}` was deleted; MLflow lacks what was not uploaded yet"
            )
            callback(WarningGiven(text))
    if upload.left:
        store = settings.store.folder
        why = f": {upload.problem}" if upload.problem else ""
        text = (
            f"not in the tracking store yet: {many(upload.left, 'record')}, kept in `{store / FOLDER}`; "
            f"`mtlv sync --store {store}` uploads them{why}"
        )
        callback(WarningGiven(text))
    return upload
