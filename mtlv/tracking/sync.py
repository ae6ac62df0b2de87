"""`mtlv sync`: deliver what ended runs of a store could not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mtlv.errors import TrackingError
from mtlv.formatting import many
from mtlv.tracking.address import MASK, kept_address
from mtlv.tracking.journal import FOLDER
from mtlv.tracking.journal_reader import JournalReader, Tell, dead_journals, journals
from mtlv.tracking.mlflow_access import check_access
from mtlv.tracking.upload_process import open_tracker
from mtlv.tracking.uploader import Uploader, UploadInterval


@dataclass(frozen=True)
class PendingCalls:
    """Calls of a store that no running process delivers, and of how many journals."""

    calls: int
    journals: int


def waiting(store: Path) -> PendingCalls:
    """What `mtlv sync` would deliver."""
    found = dead_journals(store / FOLDER, lambda _: None)
    counts = [reader.left() for reader in found]
    for reader in found:
        reader.close()
    return PendingCalls(sum(counts), sum(count > 0 for count in counts))


def sync_store(
    store: Path, uri: str | None, tell: Tell, *, patience: float, set_aside: bool = False
) -> list[str]:
    """Deliver all journals of `store` that no running process delivers; lines that say what was done.

    Args:
        store: its folder.
        uri: where to, instead of where the journals say.
        tell: hears of what is broken or refused.
        patience: seconds without a delivery after which it gives up.
        set_aside: whether a record that is refused is put aside, so that those behind it are delivered.

    Raises:
        TrackingError: something is left: the store cannot be reached, or refuses.
    """
    if not store.is_dir():
        raise TrackingError("there is no store", got=str(store), then="name its folder by `--store`")
    found = dead_journals(store / FOLDER, tell)
    busy = len(journals(store / FOLDER)) - len(found)
    lines = []
    if busy > 0:
        lines = [f"{busy} journal{'s are' if busy > 1 else ' is'} written or delivered by a running process"]
    places: dict[str, list[JournalReader]] = {}
    for reader in found:
        if reader.left():
            places.setdefault(kept_address(uri) if uri else reader.to.uri, []).append(reader)
        else:
            reader.close()
    if not places:
        return [*lines, f"nothing to deliver: the store `{store}` has no records left"]
    errors: list[TrackingError] = []
    for place, outboxes in places.items():
        try:
            count = _deliver(uri or place, outboxes, tell, patience=patience, set_aside=set_aside)
            lines.append(f"{many(count, 'record')} delivered to `{place}`")
        except TrackingError as error:
            errors.append(error)
    if errors:
        raise TrackingError.all_of(errors)
    return lines


def _deliver(
    uri: str, outboxes: Sequence[JournalReader], tell: Tell, *, patience: float, set_aside: bool
) -> int:
    """How many calls were delivered; all of them."""
    try:
        if MASK in uri:
            raise TrackingError(
                f"the address `{uri}` was given with a user or password, which a journal does not keep",
                then="give the whole address by `--uri`",
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
            f"{many(left, 'record')} not delivered, {uploader.delivered} delivered: "
            f"{uploader.problem or 'no answer'}",
            then="run `mtlv sync` again; a record that the store refuses is skipped with `--set-aside`",
        )
    return uploader.delivered
