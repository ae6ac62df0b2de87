"""Ray cluster: resources of units, and how to join, start and leave a cluster."""

from __future__ import annotations

import os
import re
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
from mtlv.execution.ray.nodes import PATIENCE_SECONDS, NodeRequest, last_line

if TYPE_CHECKING:
    from mtlv.settings.schema import ExecutionSettings

RELATIVE_ADDRESS = re.compile("sqlite:///[^/]")  # address of a file in the working folder
JOB_FOLDER_PREFIX = "_ray_pkg_"  # Ray's name for the copy of a job's working folder
# Disable Ray's usage statistics, which cause warnings without internet access.
QUIET_VARIABLES = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}


@dataclass(frozen=True)
class RayHead:
    """Address of a cluster."""

    address: str | None  # `auto`, or HOST:PORT of the head node; None starts one on this machine
    cpus: int  # CPUs of a cluster started here


def request_of(execution: ExecutionSettings, devices: Collection[str]) -> tuple[NodeRequest, int]:
    """Return the resources of each unit, and its threads."""
    cpus = 1.0 if execution.cpus == "auto" else execution.cpus
    threads = max(1, int(cpus)) if execution.threads == "auto" else execution.threads
    cpus = float(threads) if execution.cpus == "auto" else cpus
    gpus = float("cuda" in devices) if execution.gpus == "auto" else execution.gpus
    memory = None if execution.memory_gb is None else int(execution.memory_gb * 1e9)
    return NodeRequest(cpus, gpus, memory), threads


def need_ray() -> None:
    """Check that the package is installed.

    Raises:
        ClusterError: it is not installed.
    """
    if find_spec("ray") is None:
        raise ClusterError(
            "`execution.engine: ray` needs the package ray", then="install it: pip install 'mtlv[ray]'"
        )


@contextmanager
def connect(head: RayHead) -> Iterator[None]:
    """Connect to a cluster; a cluster started here is stopped at the end of the block.

    Raises:
        ClusterError: the cluster does not respond, has another release of Ray or Python, or requires a token.
    """
    need_ray()
    for name, value in QUIET_VARIABLES.items():
        os.environ.setdefault(name, value)
    import ray

    if ray.is_initialized():
        yield
        return
    address, named_by = _address(head)
    if address not in (None, "auto"):
        _need_answer(str(address), named_by)
    resources: dict[str, Any] = {} if address else {"num_cpus": head.cpus, "include_dashboard": False}
    try:
        with _keep_handler(signal.SIGTERM):
            # Without an address, Ray would join any cluster on this machine.
            ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **resources)
    except (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
        raise _not_let_in(address, named_by, error) from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _keep_handler(number: signal.Signals) -> Iterator[None]:
    """Restore the signal handler of this process after the block; Ray's exits at once, with a traceback."""
    handler = signal.getsignal(number)
    yield
    if handler is not None and current_thread() is main_thread():
        signal.signal(number, handler)


def _address(head: RayHead) -> tuple[str | None, str]:
    """Return the cluster's address and the setting that defines it. Ray sets a variable for its own jobs."""
    named = os.environ.get("RAY_ADDRESS")
    if named and head.address in (None, "auto"):
        return named, "the variable RAY_ADDRESS"
    return head.address, "`execution.address`"


def _not_let_in(address: str | None, named_by: str, error: BaseException) -> ClusterError:
    message = last_line(error)
    if address is None:
        return ClusterError("`execution.engine: ray`: Ray cannot be started here", got=message)
    if address == "auto":
        return ClusterError(
            f"{named_by}: there is no Ray cluster on this machine",
            got=message,
            then="start one (ray start --head), or leave out the address to start one here",
        )
    return ClusterError(
        f"{named_by}: {address} responds, but this process cannot join a Ray cluster there",
        got=message,
        then=f"check that `ray status --address={address}` works here; a cluster that requires a token "
        "needs RAY_AUTH_MODE=token and its token (ray get-auth-token) on every machine",
    )


def _need_answer(address: str, named_by: str) -> None:
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit():
        raise ClusterError(
            named_by,
            got=address,
            allowed="auto, or HOST:PORT of the head node, such as 10.0.0.1:6379",
            then="from outside a cluster, submit the command: ray job submit -- mtlv run CONFIG",
        )
    try:
        socket.create_connection((host, int(port)), PATIENCE_SECONDS).close()
    except OSError as error:
        raise ClusterError(
            f"{named_by}: no response from {address}",
            got=error.strerror or error,
            then="check `ray status` on the head node",
        ) from error


def check_lasting(store: Path, tracking: str | None) -> None:
    """Reject a store or tracking file in the working folder of a job, which Ray deletes after the job.

    Raises:
        TrackingError: it is in that folder.
    """
    places = {
        "store.uri": (store, "the absolute path of a folder that all nodes share"),
        "tracking.uri": (
            Path() if tracking is None or RELATIVE_ADDRESS.match(tracking) else None,
            "a server, or for example sqlite:////SHARED/mlflow.db",
        ),
    }
    for setting, (folder, instead) in places.items():
        if folder is not None and any(part.startswith(JOB_FOLDER_PREFIX) for part in folder.absolute().parts):
            raise TrackingError(
                f"`{setting}`: Ray deletes the working folder of a job with all its content",
                got=str(folder.absolute()),
                then=f"give {instead}",
            )
