"""MLflow's own page on the store that a config writes to."""

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

from mtlv.errors import TrackingError, shorten
from mtlv.tracking.address import (
    DEFAULT_URI,
    SERVERS,
    check_address,
    compare_url,
    masked,
    page_url,
    scheme,
    sqlite_file,
)
from mtlv.tracking.mlflow_tracker import MlflowTracker

HOST = "127.0.0.1"
PATIENCE = 90  # seconds for the server to answer; 10 on two cores


@dataclass(frozen=True)
class ServerAddress:
    """Where `serve` listens.

    Args:
        port: of this machine.
        host: its address; others than loopback are open to the network.
        open_to_all: whether a network may come in although there are no users and no passwords.

    Raises:
        TrackingError: an address that others reach, without `open_to_all`.
    """

    port: int
    host: str = HOST
    open_to_all: bool = False

    def __post_init__(self) -> None:
        if not self.open_to_all and not _is_loopback(self.host):
            raise TrackingError(
                f"`--host {shorten(self.host)}` lets everyone who reaches this machine read and change the "
                "runs, for the page of `mtlv ui` asks for no password",
                then="leave `--host` out and come through `ssh -L`, take a server with users "
                "(docs/server.md), or add `--no-auth` if that is meant",
            )

    @property
    def url(self) -> str:
        """Its address for a browser on this machine."""
        host = {"0.0.0.0": HOST, "::": "::1"}.get(self.host, self.host)  # nosec B104 # nothing is bound here
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`; a name other than `localhost` may lead anywhere."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def link(uri: str | None, experiment: str | None, door: ServerAddress) -> str:
    """Address of the experiment's runs: on the server that `uri` names, or on the one `serve` starts.

    Args:
        uri: the tracking URI; None is the default store.
        experiment: its name; None leads to the list of experiments.
        door: of the local server.

    Raises:
        TrackingError: no store is there, or it cannot be read.
    """
    uri = uri or DEFAULT_URI
    _need_store(uri)
    base = uri if has_server(uri) else door.url
    if experiment is None:
        return page_url(base, "").split("/#/")[0] + "/#/experiments?workflowType=machine_learning"

    tracker = MlflowTracker(uri, experiment)
    return page_url(base, tracker.experiment_id, tracker.view_of_runs)


def side_by_side(url: str) -> str:
    """Address of the runs of `link` as charts."""
    return compare_url(url)


def has_server(uri: str | None) -> bool:
    """Whether the store is a server, which has the page itself."""
    return scheme(uri or DEFAULT_URI) in SERVERS


def _need_store(uri: str) -> None:
    path = sqlite_file(uri)
    if path is not None and not os.path.exists(path):
        raise TrackingError(
            f"no runs are here yet: the tracking store `{masked(uri)}` is not there",
            then="start `mtlv run CONFIG` first, or call this in the folder it ran in",
        )
    check_address(uri)


@contextmanager
def serve(uri: str | None, door: ServerAddress, *, log: Path) -> Iterator[subprocess.Popen]:
    """MLflow's server on this machine, ready to answer; it ends with the block.

    One worker and no job runner: enough for a person, a sixth of the memory, and nothing runs in it but the
    page.

    Args:
        uri: the tracking URI; None is the default store.
        door: where it listens.
        log: file for what it prints.

    Raises:
        TrackingError: the port is taken, or the server does not come up.
    """
    _need_port(door)
    command = [sys.executable, "-m", "mlflow", "server", "--host", door.host, "--port", str(door.port)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    env = os.environ | {
        "MLFLOW_BACKEND_STORE_URI": uri
        or DEFAULT_URI,  # a command line, with its password, is for all to read
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
        then = f"take another port, such as `--port {door.port + 1}`, or leave `--host` out"
        raise TrackingError(
            f"port {door.port} of {shorten(door.host)} cannot be used: {error}", then=then
        ) from error


def _wait(process: subprocess.Popen, door: ServerAddress, log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{door.url}/health", timeout=2):  # nosec B310 # http, ours
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    tail = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise TrackingError(
        "MLflow's server did not come up",
        got=masked(tail[-1]) if tail else "nothing printed",
        then=f"see `{log}`",
    )


def _end(process: subprocess.Popen) -> None:
    """End the server and the worker it started."""
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
