"""Reading runs from a store as plain records; the counterpart of the write-only tracker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mtlv.errors import TrackingError, nearest
from mtlv.formatting import many
from mtlv.seeding import content_key
from mtlv.tracking.tracker import RunSpec

MEMBER, FOLD, COMPARISON = "suite member", "fold", "comparison"
"""Kinds of runs, as in the tag `KIND`."""
KIND, UID = "mtlv.kind", "mtlv.uid"
"""Tags with the kind of a run, and with the key of its settings and data."""
SHORTEST_ID = 6
"""Digits of a run's id that a user has to give."""
PARENT = "mlflow.parentRunId"
"""Tag with the id of the parent run."""


def find_by_prefix(text: str, names: Iterable[str]) -> str | None:
    """Return the name that starts with `text`, ignoring case; None if there is none.

    A name that equals `text` is preferred.

    Raises:
        TrackingError: several names match.

    Example:
        >>> find_by_prefix("gmtl", ["MTL", "GMTL, 4 groups by name"])
        'GMTL, 4 groups by name'
    """
    prefix = text.casefold()
    begin = [name for name in dict.fromkeys(names) if name.casefold().startswith(prefix)]
    same = [name for name in begin if name.casefold() == prefix]
    matches = same if len(same) == 1 else begin
    if len(matches) > 1:
        raise TrackingError(
            f"several runs have names that begin with `{text}`",
            allowed=", ".join(f"`{name}`" for name in matches[:5]),
            then="give more of the name",
        )
    return matches[0] if matches else None


def find_by_id_prefix(text: str, runs: Iterable[StoredRun]) -> StoredRun | None:
    """Return the run whose id starts with `text`, of `SHORTEST_ID` digits or more; None if there is none.

    Raises:
        TrackingError: several runs match.
    """
    begin = [run for run in runs if run.id.startswith(text)] if len(text) >= SHORTEST_ID else []
    if len(begin) > 1:
        raise TrackingError(f"`{text}` is the prefix of {len(begin)} run ids", then="give more digits")
    return begin[0] if begin else None


def comparison_run(members: Sequence[str], tags: Mapping[str, str] | None = None) -> RunSpec:
    """Return the run that compares the members with these uids: the same for a suite and its page."""
    uid = content_key(["comparison", list(members)])
    return RunSpec(uid, f"comparison of {many(len(members), 'run')}", COMPARISON, tags=tags or {})


def experiment_id(name: str, experiments: Mapping[str, str]) -> str:
    """Return the id of the experiment `name`, given the result of `MlflowReader.experiments`.

    Raises:
        TrackingError: it does not exist.
    """
    if name not in experiments:
        raise TrackingError(
            f"there is no experiment `{name}` in the store",
            allowed=", ".join(f"`{known}`" for known in experiments) or "none: the store is empty",
            then=nearest(name, experiments),
        )
    return experiments[name]


@dataclass(frozen=True)
class StoredRun:
    """A run of a store."""

    id: str
    experiment: str  # its id
    name: str
    status: str  # `RUNNING`, `FINISHED`, `FAILED`, `KILLED` or `SCHEDULED`
    started_ms: int
    artifacts: str  # location of its artifacts
    params: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)  # last value of each metric

    @property
    def kind(self) -> str:
        return self.tags.get(KIND, "")

    @property
    def parent(self) -> str | None:
        return self.tags.get(PARENT)
