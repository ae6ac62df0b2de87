"""MLflow's own page on the store that a config writes to."""

from __future__ import annotations

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
from pathlib import Path

from mtlv.errors import TrackingError
from mtlv.tracking.address import (
    DEFAULT_URI,
    SERVERS,
    check_address,
    compare_url,
    page_url,
    scheme,
    sqlite_file,
)

HOST = "127.0.0.1"
PATIENCE = 90  # seconds for the server to answer; 10 on two cores


def link(uri: str | None, experiment: str | None, *, port: int) -> str:
    """Address of the experiment's runs: on the server that `uri` names, or on the one `serve` starts.

    Args:
        uri: the tracking URI; None is the default store.
        experiment: its name; None leads to the list of experiments.
        port: of the local server.

    Raises:
        TrackingError: no store is there, or it cannot be read.
    """
    uri = uri or DEFAULT_URI
    _need_store(uri)
    base = uri if has_server(uri) else f"http://{HOST}:{port}"
    if experiment is None:
        return page_url(base, "").split("/#/")[0] + "/#/experiments?workflowType=machine_learning"
    from mtlv.tracking.mlflow_tracker import MlflowTracker

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
    if path is not None and not path.exists():
        raise TrackingError(
            f"no runs are here yet: the tracking store `{uri}` is not there",
            then="start `mtlv run CONFIG` first, or call this in the folder it ran in",
        )
    check_address(uri)


@contextmanager
def serve(uri: str | None, *, port: int, log: Path) -> Iterator[subprocess.Popen]:
    """MLflow's server on this machine alone, ready to answer; it ends with the block.

    One worker and no job runner: enough for a person, a sixth of the memory, and nothing runs in it but the
    page.

    Args:
        uri: the tracking URI; None is the default store.
        port: where it listens.
        log: file for what it prints.

    Raises:
        TrackingError: the port is taken, or the server does not come up.
    """
    _need_port(port)
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", uri or DEFAULT_URI]
    command += ["--host", HOST, "--port", str(port), "--workers", "1"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    env = os.environ | {
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "PATH": path,
    }
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, env=env, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        _wait(process, port, log)
        yield process
    finally:
        _end(process)


def _need_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise TrackingError(
                f"port {port} cannot be used: {error}", then=f"take another one, such as `--port {port + 1}`"
            ) from error


def _wait(process: subprocess.Popen, port: int, log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{port}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    tail = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise TrackingError(
        "MLflow's server did not come up", got=tail[-1] if tail else "nothing printed", then=f"see `{log}`"
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
