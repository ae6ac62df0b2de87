"""The command `mtlv sync`: upload records that ended runs of a store could not upload."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mtlv.errors import MASK, TrackingError
from mtlv.formatting import many
from mtlv.tracking.address import kept_address
from mtlv.tracking.journal import FOLDER
from mtlv.tracking.journal_reader import JournalReader, Tell, dead_journals, journals
from mtlv.tracking.mlflow_access import check_access
from mtlv.tracking.mlflow_user import chosen_uri
from mtlv.tracking.upload_process import open_tracker
from mtlv.tracking.uploader import Uploader, UploadInterval


def waiting(store: Path, tell: Tell) -> int:
    """Return the number of calls that `mtlv sync` would upload, because no running process uploads them.

    `tell` gets messages about damaged journals.
    """
    readers = dead_journals(store / FOLDER, tell)
    count = sum(reader.count_left() for reader in readers)
    for reader in readers:
        reader.close()
    return count


def sync_store(
    store: Path, uri: str | None, tell: Tell, *, patience: float, set_aside: bool = False
) -> list[str]:
    """Upload all journals of `store` that no running process uploads, and return lines to print.

    Args:
        store: folder of the store.
        uri: destination, instead of those of the journals.
        tell: gets messages about invalid or rejected records.
        patience: seconds without a successful upload after which it stops.
        set_aside: whether to move rejected records aside and upload those after them.

    Raises:
        TrackingError: records are left, because the store cannot be reached or rejects them.
    """
    if not store.is_dir():
        raise TrackingError("there is no store", got=str(store), then="give its folder with `--store`")
    unreadable: list[Path] = []
    readers = dead_journals(store / FOLDER, tell, unreadable)
    busy = len(journals(store / FOLDER)) - len(readers) - len(unreadable)
    lines = []
    if busy > 0:
        lines = [f"{busy} journal{'s are' if busy > 1 else ' is'} written or uploaded by a running process"]
    places: dict[str, list[JournalReader]] = {}
    for reader in readers:
        if reader.count_left() or reader.left_open:
            places.setdefault(kept_address(uri) if uri else reader.uri, []).append(reader)
        else:
            reader.close()
    unread = f"{many(len(unreadable), 'journal')} cannot be uploaded, see above"
    errors = [TrackingError(unread)] if unreadable else []
    if not places and not errors:
        return [*lines, f"nothing to upload: the store `{store}` has no records left"]
    for place, outboxes in places.items():
        try:
            count = _deliver(uri or place, outboxes, tell, patience=patience, set_aside=set_aside)
            lines.append(f"{many(count, 'record')} uploaded to `{place}`")
        except TrackingError as error:
            errors.append(error)
    if errors:
        raise TrackingError.all_of(errors)
    return lines


def _deliver(
    uri: str, outboxes: Sequence[JournalReader], tell: Tell, *, patience: float, set_aside: bool
) -> int:
    """Upload all calls and return their number."""
    users = chosen_uri() if MASK in uri else None
    if users is not None and kept_address(users.value) == uri:
        uri = users.value  # the same store, with the password that a journal does not keep
    try:
        if MASK in uri:
            raise TrackingError(
                f"the address `{uri}` had a user or password, which a journal does not store",
                then="give the whole address with `--uri`",
            )
        check_access(uri)
    except TrackingError:
        for reader in outboxes:
            reader.close()
        raise
    uploader = Uploader(
        outboxes, partial(open_tracker, uri), tell, pace=UploadInterval(interval=0.1), set_aside=set_aside
    )
    uploader.start()
    left = uploader.close(patience)
    if left:
        raise TrackingError(
            f"{many(left, 'record')} not uploaded, {uploader.delivered} uploaded: "
            f"{uploader.problem or 'no response'}",
            then="run `mtlv sync` again; `--set-aside` skips records that the store rejects",
        )
    return uploader.delivered
