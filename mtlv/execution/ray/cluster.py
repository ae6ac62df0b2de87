"""A cluster of Ray: what is asked of it, how it is joined or started, and left."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

from mtlv.errors import ClusterError, TrackingError
from mtlv.execution.ray.nodes import PATIENCE, NodeRequest, last_line
from mtlv.store.location import StoreLocation

if TYPE_CHECKING:
    from mtlv.settings.schema import ExecutionSettings

PACKAGE = "_ray_pkg_"  # what Ray calls the copy of a working folder that came with a job
# Ray calls home to count its users, and without the internet warns of each try to find its own address.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}


@dataclass(frozen=True)
class RayHead:
    """A cluster.

    Args:
        address: `auto`, or HOST:PORT of the head node; None: one is started on this machine.
        cpus: that a cluster which is started here may use.
    """

    address: str | None
    cpus: int


def wanted_of(execution: ExecutionSettings, devices: Collection[str]) -> tuple[NodeRequest, int]:
    """What the settings give each unit, and its threads.

    Args:
        execution: the section.
        devices: kinds of the devices that units are trained on, such as `cuda`.
    """
    ranks = execution.devices_per_unit  # they share a unit's threads; each has a GPU of its own
    given = float(ranks) if execution.cpus == "auto" else execution.cpus
    threads = max(1, int(given)) if execution.threads == "auto" else execution.threads
    cpus = float(threads) if execution.cpus == "auto" else given
    gpus = float(ranks * ("cuda" in devices)) if execution.gpus == "auto" else execution.gpus
    memory = None if execution.memory_gb is None else int(execution.memory_gb * 1e9)
    return NodeRequest(cpus, gpus, memory), threads


def need_ray() -> None:
    """Refuse to go on without the package.

    Raises:
        ClusterError: it is not installed.
    """
    if find_spec("ray") is None:
        raise ClusterError(
            "`execution.engine: ray` needs the package ray", then="install it: pip install 'mtlv[ray]'"
        )


@contextmanager
def connected(head: RayHead) -> Iterator[None]:
    """Be part of a cluster; one that was started here is ended with the block.

    Raises:
        ClusterError: nobody answers there, or another release of Ray or Python does, or it asks for a token.
    """
    need_ray()
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    import ray

    if ray.is_initialized():
        yield
        return
    address, named_by = _address(head)
    if address not in (None, "auto"):
        _need_answer(str(address), named_by)
    own: dict[str, Any] = {} if address else {"num_cpus": head.cpus, "include_dashboard": False}
    try:
        with _kept(signal.SIGTERM):
            # Without an address Ray would join whatever was started on this machine.
            ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **own)
    except (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
        raise _not_let_in(address, named_by, error) from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _kept(number: signal.Signals) -> Iterator[None]:
    """What this process does on a signal stays as it is; Ray would end on the spot, with a trace."""
    handler = signal.getsignal(number)
    yield
    if handler is not None and current_thread() is main_thread():
        signal.signal(number, handler)


def _address(head: RayHead) -> tuple[str | None, str]:
    """Of the cluster, and which setting says so. To the jobs that it starts Ray names itself."""
    named = os.environ.get("RAY_ADDRESS")
    if named and head.address in (None, "auto"):
        return named, "the variable RAY_ADDRESS"
    return head.address, "`execution.address`"


def _not_let_in(address: str | None, named_by: str, error: BaseException) -> ClusterError:
    said = last_line(error)
    if address is None:
        return ClusterError("`execution.engine: ray`: Ray cannot be started here", got=said)
    if address == "auto":
        return ClusterError(
            f"{named_by}: no cluster of Ray on this machine",
            got=said,
            then="start one (ray start --head), or leave the address out: then one is started here",
        )
    return ClusterError(
        f"{named_by}: {address} answers, but is no cluster of Ray that lets this process in",
        got=said,
        then=f"see whether `ray status --address={address}` answers here; a cluster that asks for a token "
        "wants RAY_AUTH_MODE=token and its token (ray get-auth-token) on every machine",
    )


def _need_answer(address: str, named_by: str) -> None:
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit():
        raise ClusterError(
            named_by,
            got=address,
            allowed="auto, or HOST:PORT of the head node, such as 10.0.0.1:6379",
            then="from outside a cluster hand the command in: ray job submit -- mtlv run CONFIG",
        )
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except OSError as error:
        raise ClusterError(
            f"{named_by}: nobody answers at {address}",
            got=error.strerror or error,
            then="look at `ray status` on the head node",
        ) from error


def check_lasting(store: StoreLocation, tracking: str | None) -> None:
    """Refuse a store, or runs, in the working folder of a job: Ray deletes it some time after the job.

    Args:
        store: where finished units are.
        tracking: address of MLflow's store; None: a file in the working folder.

    Raises:
        TrackingError: it lies there.
    """
    places = {
        "store.uri": (
            None if store.shared else store.folder,
            "a folder that all nodes share, by its whole path",
        ),
        "tracking.uri": (
            Path() if tracking is None else None,
            "a server, or such as sqlite:////SHARED/mlflow.db",
        ),
    }
    for setting, (folder, instead) in places.items():
        if folder is not None and any(part.startswith(PACKAGE) for part in folder.absolute().parts):
            raise TrackingError(
                f"`{setting}`: Ray deletes the working folder of a job, and all that is in it",
                got=str(folder.absolute()),
                then=f"name {instead}",
            )
