"""A real MLflow server behind a proxy that fails on demand, and what a store holds in the end."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HOST = "127.0.0.1"
HOP = ("connection", "transfer-encoding", "content-length", "keep-alive")


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return found.getsockname()[1]


class Server:
    """`mlflow server` on SQLite, which can be killed, stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(self.port)]
        command += ["--workers", "1", "--backend-store-uri", f"sqlite:///{self.folder / 'mlflow.db'}"]
        command += ["--artifacts-destination", str(self.folder / "artifacts")]
        quiet = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env=os.environ | quiet,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + 240
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(f"http://{HOST}:{self.port}/health", timeout=2).close()
                return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError((self.folder / "server.log").read_text()[-2000:])

    def signal(self, number: int) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait()


class Proxy:
    """Hands requests on to a port, or does with them what `mode` says.

    Modes: `ok`; `500` and `429`, answered here; `lost`, done but not answered; `hang`, neither; `slow`, half
    a second late. `close` and `open` take it away and bring it back at the same address.
    """

    def __init__(self, upstream: int) -> None:
        self.upstream, self.port, self.mode, self.requests = upstream, free_port(), "ok", 0
        self._server: ThreadingHTTPServer | None = None

    @property
    def uri(self) -> str:
        return f"http://{HOST}:{self.port}"

    def open(self) -> None:
        if self._server is None:
            handler = type("Bound", (Handler,), {"proxy": self})
            self._server = ThreadingHTTPServer((HOST, self.port), handler)
            self._server.daemon_threads = True
            threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        proxy, mode = self.proxy, self.proxy.mode
        proxy.requests += 1
        self.close_connection = True
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if mode == "hang":
            while proxy.mode == "hang":
                time.sleep(0.1)
            return
        if mode in ("500", "429"):
            self._answer(int(mode), [], b'{"error_code": "INTERNAL_ERROR", "message": "a fault on purpose"}')
            return
        if mode == "slow":
            time.sleep(0.5)
        upstream = http.client.HTTPConnection(HOST, proxy.upstream, timeout=120)
        try:
            upstream.request(self.command, self.path, body, dict(self.headers))
            answer = upstream.getresponse()
            content = answer.read()
        except OSError:
            return
        finally:
            upstream.close()
        if mode != "lost":
            self._answer(answer.status, answer.getheaders(), content)

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_any

    def log_message(self, *_: object) -> None:
        pass


class Held:
    """What the server's own database and folder hold of one experiment."""

    def __init__(self, folder: Path, experiment: str) -> None:
        with sqlite3.connect(folder / "mlflow.db") as database:
            self.runs = database.execute(
                "SELECT tags.value, runs.run_uuid, runs.status, runs.lifecycle_stage, runs.artifact_uri "
                "FROM runs JOIN experiments USING (experiment_id) "
                "JOIN tags ON tags.run_uuid = runs.run_uuid AND tags.key = 'mtlv.uid' "
                "WHERE experiments.name = ?",
                (experiment,),
            ).fetchall()
            self.points = [
                (uid, key, step, value)
                for uid, run, *_ in self.runs
                for key, step, value in database.execute(
                    "SELECT key, step, value FROM metrics WHERE run_uuid = ?", (run,)
                )
            ]
        self.active = [(uid, status) for uid, _, status, stage, _ in self.runs if stage == "active"]
        self.files = {
            (uid, path.relative_to(place).as_posix()): path.read_bytes()
            for uid, _, _, stage, uri in self.runs
            if stage == "active"
            for place in [folder / "artifacts" / uri.removeprefix("mlflow-artifacts:/")]
            for path in place.rglob("*")
            if path.is_file()
        }
