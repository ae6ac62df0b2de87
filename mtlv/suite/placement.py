"""Where the runs of a suite go: its config decides, then the user's own MLflow, then the defaults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mtlv.errors import RefusedError, TrackingError, mask_credentials
from mtlv.tracking.address import check_kind, kept_address
from mtlv.tracking.mlflow_reader import MlflowReader
from mtlv.tracking.mlflow_user import (
    UserChoice,
    chosen_experiment,
    chosen_experiment_id,
    chosen_run,
    chosen_uri,
    store_uri,
)

if TYPE_CHECKING:
    from mtlv.settings import Suite

RUNNING_STATUS = ("RUNNING", "SCHEDULED")


@dataclass(frozen=True)
class Placement:
    """Where the runs of a suite go.

    Args:
        suite: the suite, with the address of the store, the name of the experiment, and the parent run.
        line: the same in a sentence.
        is_chosen: whether the user's own MLflow decided any of it.
    """

    suite: Suite
    line: str
    is_chosen: bool


def place_runs(suite: Suite) -> Placement:
    """Return where the runs of a suite go.

    Without `tracking.uri`, it is the user's store; without `experiment`, the experiment of the user's run or
    else the user's experiment. If both are those of the user's run, that becomes their parent.

    Raises:
        TrackingError: the user's store is of an unknown kind, or cannot be read for the name of an id; a run
            or an experiment is missing or deleted; the run has ended.
    """
    return _place(suite, writes=True)


def find_runs(suite: Suite) -> Suite:
    """Return a suite with the place of its runs, as `place_runs` does; the user's run may have ended.

    Raises:
        TrackingError: as for `place_runs`.
    """
    return _place(suite, writes=False).suite


def _place(suite: Suite, *, writes: bool) -> Placement:
    first = suite.members[0].settings
    chosen = None if first.tracking.uri else chosen_uri()
    if chosen is not None:
        try:
            check_kind(chosen.value)
        except TrackingError as error:
            raise RefusedError(str(error).replace("`tracking.uri`", chosen.by)) from error
    uri = store_uri(first.tracking.uri)
    users = kept_address(store_uri(None)).rstrip("/")  # of the ids that the user chose
    stores = MlflowNames(uri, is_users=kept_address(uri).rstrip("/") == users)
    experiment, by, note, parent = first.experiment, "", "", None
    run = chosen_run()
    if run is not None:
        reason = stores.needs_other_store()
        if not reason:
            name, of_run = stores.run(run, writes=writes)
            if experiment in (None, of_run):
                experiment, parent = of_run, run.value
                note = f", as children of the run `{name}` ({run.by})"
            else:
                reason = f"is in the experiment `{of_run}`"
        if reason:
            note = f", not as children of {run.by}, which {reason}"
    if experiment is None:
        experiment, by = _chosen_name(stores) or (suite.experiment, "")
    why = (f" ({by})" if by else "", f" ({chosen.by})" if chosen else "")
    line = f"Runs go to the experiment `{experiment}`{why[0]} in `{mask_credentials(uri)}`{why[1]}{note}"
    members = tuple(
        replace(
            member,
            settings=member.settings.model_copy(
                update={
                    "experiment": experiment,
                    "tracking": member.settings.tracking.model_copy(update={"uri": uri}),
                }
            ),
        )
        for member in suite.members
    )
    placed = replace(suite, experiment=experiment, members=members, parent=parent)
    return Placement(placed, line, bool(chosen or by or note))


def _chosen_name(stores: MlflowNames) -> tuple[str, str] | None:
    """Return the name of the user's experiment and the setting that defines it; None if there is none."""
    name, number = chosen_experiment(), chosen_experiment_id()
    if number is None or stores.needs_other_store():
        return None if name is None else (name.value, name.by)
    name_of_id = stores.experiment(number)
    if name is not None and name.value != name_of_id:
        raise RefusedError(
            f"{name.by} and {number.by} name different experiments",
            got=f"`{name.value}`, and `{name_of_id}` with the id {number.value}",
            then="unset one of them, or set `experiment`",
        )
    return name_of_id, number.by


class MlflowNames:
    """Names of the experiments and runs of a store, by the ids that the user chose.

    Args:
        uri: address of the store.
        is_users: whether it is the store of these ids.
    """

    def __init__(self, uri: str, *, is_users: bool) -> None:
        self._uri, self._is_users = uri, is_users
        self._opened: MlflowReader | None = None

    def needs_other_store(self) -> str:
        """Return why the ids are not of this store; empty if they are."""
        return "" if self._is_users else "is in another store than `tracking.uri`"

    def experiment(self, number: UserChoice) -> str:
        """Return the name of an experiment.

        Raises:
            TrackingError: it is missing or deleted, or the store cannot be read.
        """
        names = {identity: name for name, identity in self._reader(number).experiments().items()}
        if number.value not in names:
            raise RefusedError(
                f"{number.by} is the id of no experiment in `{mask_credentials(self._uri)}`",
                got=number.value,
                allowed=", ".join(f"{identity} (`{name}`)" for identity, name in names.items()),
                then="correct or unset it, or set `experiment`",
            )
        return names[number.value]

    def run(self, run: UserChoice, *, writes: bool) -> tuple[str, str]:
        """Return the name of a run and that of its experiment.

        Raises:
            TrackingError: it is missing or deleted, it has ended although the suite `writes`, or the store
                cannot be read.
        """
        stored = self._reader(run).run(run.value)
        then = "correct or unset it, or set another `experiment` or `tracking.uri`"
        if stored is None:
            where = f"`{mask_credentials(self._uri)}`"
            raise RefusedError(f"{run.by} is no run in {where}, or a deleted one", got=run.value, then=then)
        if writes and stored.status not in RUNNING_STATUS:
            got = f"`{stored.name}`, {stored.status}"
            raise RefusedError(f"{run.by} names a run that has ended", got=got, then=then)
        return stored.name, self.experiment(UserChoice(stored.experiment, run.by))

    def _reader(self, choice: UserChoice) -> MlflowReader:
        if self._opened is None:
            try:
                self._opened = MlflowReader(self._uri)
            except TrackingError as error:
                raise RefusedError(
                    f"{choice.by} ({choice.value}) cannot be looked up: {error}",
                    then="unset it, or set `experiment` and `tracking.uri`",
                ) from error
        return self._opened
