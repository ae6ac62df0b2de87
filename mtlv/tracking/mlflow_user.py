"""The user's own MLflow: store, experiment and run of the environment or this process, and autologging.

MLflow is not imported here: a process that has not imported it has no state of it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtlv.tracking.address import DEFAULT_URI, scheme

URI, RUN = "MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID"
EXPERIMENT, EXPERIMENT_ID = "MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID"


@dataclass(frozen=True)
class UserChoice:
    """A value that the user chose outside of mtlv."""

    value: str
    by: str  # what chose it, for messages


def store_uri(uri: str | None) -> str:
    """Return the address of the tracking store: `uri`, the user's, or `mlflow.db` in the working folder."""
    chosen = None if uri else chosen_uri()
    return uri or (chosen.value if chosen else DEFAULT_URI)


def chosen_uri() -> UserChoice | None:
    """Return the store that MLflow itself would use; None if it is not chosen."""
    service = sys.modules.get("mlflow.tracking._tracking_service.utils")
    if service is not None and service.is_tracking_uri_set():
        is_set = getattr(service, "_tracking_uri", None) is not None
        by = "`mlflow.set_tracking_uri`" if is_set else f"`{URI}`"
        return UserChoice(_absolute(service.get_tracking_uri()), by)
    if service is not None and (chosen_run() or _active_experiment()):
        uri = service.get_tracking_uri()  # MLflow's default: the database of this folder, or old files
        return None if scheme(uri) == "sqlite" else UserChoice(_absolute(uri), "MLflow's default")
    return _of_environment(URI, _absolute)


def chosen_run() -> UserChoice | None:
    """Return the id of the run that is active in this thread, or else that of the environment."""
    fluent = _fluent()
    active = None if fluent is None else fluent.active_run()
    if active is not None:
        return UserChoice(active.info.run_id, "the active run")
    return _of_environment(RUN)


def chosen_experiment() -> UserChoice | None:
    """Return the name of the user's experiment; None if there is none, or only its id is known."""
    return None if _active_experiment() else _of_environment(EXPERIMENT)


def chosen_experiment_id() -> UserChoice | None:
    """Return the id of the user's experiment."""
    active = _active_experiment()
    return UserChoice(active, "`mlflow.set_experiment`") if active else _of_environment(EXPERIMENT_ID)


def _fluent() -> Any:
    return sys.modules.get("mlflow.tracking.fluent")


def _active_experiment() -> str | None:
    return getattr(_fluent(), "_active_experiment_id", None)


def _of_environment(name: str, change: Any = str) -> UserChoice | None:
    value = os.environ.get(name, "").strip()
    return UserChoice(change(value), f"`{name}`") if value else None


def _absolute(uri: str) -> str:
    """Return a folder as the address of its absolute path, and other addresses as they are."""
    path = uri.removeprefix("file:")
    if "://" in path or uri.startswith("databricks") or path.startswith("//"):
        return uri
    return Path(path).absolute().as_uri()


class _Silence:
    """Count nested blocks without autologging: MLflow's own block turns it on at its end, even if nested."""

    def __init__(self) -> None:
        self._lock, self._blocks, self._ending = threading.Lock(), 0, ExitStack()

    def begin(self) -> None:
        with self._lock:
            utils = sys.modules.get("mlflow.utils.autologging_utils")
            is_off = getattr(utils, "_AUTOLOGGING_GLOBALLY_DISABLED", False)  # as in a fit of the user
            if utils is not None and not self._blocks and not is_off:
                self._ending.enter_context(utils.disable_autologging())
            self._blocks += 1

    def end(self) -> None:
        with self._lock:
            self._blocks -= 1
            if not self._blocks:
                self._ending.close()


_SILENCE = _Silence()


@contextmanager
def without_autologging() -> Iterator[None]:
    """Disable the user's `mlflow.autolog` within the block, in all threads of this process.

    It would log each clustering and each bag-of-words model to the user's run, which takes minutes.
    """
    _SILENCE.begin()
    try:
        yield
    finally:
        _SILENCE.end()
