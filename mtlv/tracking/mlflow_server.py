"""MLflow's UI for the store of a config."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mtlv.errors import TrackingError, mask_credentials, shorten
from mtlv.tracking.address import SERVER_SCHEMES, check_address, page_url, scheme, sqlite_file
from mtlv.tracking.mlflow_moved import follow_move
from mtlv.tracking.mlflow_tracker import MlflowTracker
from mtlv.tracking.mlflow_user import store_uri

HOST = "127.0.0.1"
START_SECONDS = 90  # seconds for the server to start; it takes 10 on two cores


@dataclass(frozen=True)
class ServerAddress:
    """Address on which `serve` listens.

    Raises:
        TrackingError: an address that is reachable by others, without `open_to_all`.
    """

    port: int  # port on this machine
    host: str = HOST  # host address; addresses other than loopback are open to the network
    open_to_all: bool = False  # whether to allow access from the network without users and passwords

    def __post_init__(self) -> None:
        if not self.open_to_all and not _is_loopback(self.host):
            raise TrackingError(
                f"`--host {shorten(self.host)}` allows everyone with access to this machine to read and "
                "change the runs, because the server of `mtlv ui` requires no password",
                then="leave out `--host` and use `ssh -L`, use a server with users "
                "(docs/server.md), or add `--no-auth` if this is intended",
            )

    @property
    def url(self) -> str:
        """Address for a browser on this machine."""
        host = {"0.0.0.0": HOST, "::": "::1"}.get(self.host, self.host)  # nosec B104 # nothing is bound here
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def _is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`; names other than `localhost` may resolve to anything."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def link(uri: str | None, experiment: str | None, door: ServerAddress) -> str:
    """Return the address of the experiment's runs, or of the list of experiments (None).

    The server is that of `uri`, or the one that `serve` has started at `door`.

    Raises:
        TrackingError: the store does not exist or cannot be read.
    """
    uri = store_uri(uri)
    _need_store(uri)
    base = uri if has_server(uri) else door.url
    if experiment is None:
        return page_url(base, "").split("/#/")[0] + "/#/experiments?workflowType=machine_learning"

    tracker = MlflowTracker(uri, experiment)
    return page_url(base, tracker.experiment_id, tracker.view_of_runs)


def has_server(uri: str | None) -> bool:
    """Whether the store is a server with its own UI."""
    return scheme(store_uri(uri)) in SERVER_SCHEMES


def _need_store(uri: str) -> None:
    path = sqlite_file(uri)
    if path is not None and not os.path.exists(path):
        raise TrackingError(
            f"there are no runs yet: the tracking store `{mask_credentials(uri)}` does not exist",
            then="run `mtlv run CONFIG` first, or use its working folder",
        )
    check_address(uri)
    follow_move(uri)


@contextmanager
def serve(uri: str | None, door: ServerAddress, *, log: Path) -> Iterator[subprocess.Popen]:
    """Run MLflow's server on this machine until the block ends; it is ready when the block starts.

    It has one worker and no job runner, which is enough for one user, takes a sixth of the memory, and runs
    nothing but the UI.

    Raises:
        TrackingError: the port is in use, or the server does not start.
    """
    _need_port(door)
    command = [sys.executable, "-m", "mlflow", "server", "--host", door.host, "--port", str(door.port)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    env = os.environ | {
        # Not on the command line, where everyone could read a password.
        "MLFLOW_BACKEND_STORE_URI": store_uri(uri),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "PATH": path,
    }
    with log.open("wb") as stream:
        process = subprocess.Popen(  # nosec B603 # this Python; host and port are checked
            [*command, "--workers", "1"],
            env=env,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(process, door, log)
        yield process
    finally:
        _end(process)


def _need_port(door: ServerAddress) -> None:
    try:
        family, kind, _, _, place = socket.getaddrinfo(door.host, door.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except (OSError, OverflowError, UnicodeError) as error:
        then = f"use another port, such as `--port {door.port + 1}`, or leave out `--host`"
        raise TrackingError(
            f"port {door.port} of {shorten(door.host)} cannot be used: {error}", then=then
        ) from error


def _wait(process: subprocess.Popen, door: ServerAddress, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{door.url}/health", timeout=2):  # nosec B310 # http, ours
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    tail = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise TrackingError(
        "MLflow's server did not start",
        got=mask_credentials(tail[-1]) if tail else "no output",
        then=f"see `{log}`",
    )


def _end(process: subprocess.Popen) -> None:
    """Stop the server and its worker."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGTERM)
        else:
            process.terminate()
        process.wait(timeout=10)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        process.kill()
