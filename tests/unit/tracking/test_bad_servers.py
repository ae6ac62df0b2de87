"""Servers that answer without end, slowly, or with more than they send: they are named, as other faults."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

from mtlv import answers
from mtlv.errors import RefusedError, TrackingError
from mtlv.tracking.mlflow_access import check_access
from mtlv.tracking.mlflow_reader import MlflowReader
from mtlv.tracking.reader import StoredRun

OK = b'{"experiments": [{"experiment_id": "1", "name": "one"}]}'
Answer = Callable[[BaseHTTPRequestHandler, Event], None]


@contextmanager
def server(answer: Answer) -> Iterator[str]:
    """The address of a server on this machine that answers each request by `answer`."""
    ended = Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            with suppress(OSError):
                answer(self, ended)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.daemon_threads = True
    Thread(target=served.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{served.server_port}"
    finally:
        ended.set()
        served.shutdown()
        served.server_close()


def head(handler: BaseHTTPRequestHandler, **headers: object) -> None:
    handler.send_response(200)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), str(value))
    handler.end_headers()


def good(handler: BaseHTTPRequestHandler, ended: Event) -> None:
    head(handler, Content_Length=len(OK))
    handler.wfile.write(OK)


def endless(handler: BaseHTTPRequestHandler, ended: Event) -> None:
    head(handler, Transfer_Encoding="chunked")
    while not ended.is_set():
        handler.wfile.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def endless_without_length(handler: BaseHTTPRequestHandler, ended: Event) -> None:
    head(handler, Connection="close")
    while not ended.is_set():
        handler.wfile.write(b" " * 65536)


def bomb(handler: BaseHTTPRequestHandler, ended: Event) -> None:
    head(handler, Content_Encoding="gzip", Content_Length=len(BOMB))
    handler.wfile.write(BOMB)


def drip(content: bytes, **headers: object) -> Answer:
    def answer(handler: BaseHTTPRequestHandler, ended: Event) -> None:
        head(handler, **headers)
        for byte in content:
            if ended.wait(0.1):
                return
            handler.wfile.write(bytes([byte]))

    return answer


def drip_of_headers(handler: BaseHTTPRequestHandler, ended: Event) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    while not ended.wait(0.1):
        handler.wfile.write(b"x")


BOMB = gzip.compress(b" " * 50_000_000)
ZIPPED = gzip.compress(OK * 100)
SLOW: dict[str, Answer] = {
    "headers": drip_of_headers,
    "length": drip(b" " * 1000, Content_Length=1000),
    "until closed": drip(OK + b" " * 1000, Connection="close"),
    "chunks": drip(b"1\r\n \r\n" * 1000, Transfer_Encoding="chunked"),
    "zipped": drip(ZIPPED + b" " * 1000, Content_Encoding="gzip", Content_Length=len(ZIPPED) + 1000),
}
LARGE: dict[str, Answer] = {
    "endless": endless,
    "endless without length": endless_without_length,
    "bomb": bomb,
}


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_ANSWER_BYTES", 1_000_000)
    monkeypatch.setattr(answers, "ANSWER_SECONDS", 1.5)
    monkeypatch.setattr(answers, "READ_TIMEOUTS", 0)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "5")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("name", [*SLOW, *LARGE])
def test_bad_answers_are_outages_in_bounded_time(name: str) -> None:
    with server({**SLOW, **LARGE}[name]) as uri:
        begun = time.monotonic()
        with pytest.raises(TrackingError) as caught:
            check_access(uri)
        assert time.monotonic() - begun < 10
    assert not isinstance(caught.value, RefusedError), "training goes on"
    assert uri in str(caught.value)
    if name in LARGE:
        assert "too large" in str(caught.value)


@pytest.mark.usefixtures("limits")
def test_usual_answers_pass_also_on_a_connection_that_was_idle_for_long() -> None:
    with server(good) as uri:
        for _ in range(2):
            assert MlflowReader(uri).experiments() == {"one": "1"}
            time.sleep(2.0)


@pytest.mark.usefixtures("limits")
def test_a_slow_answer_with_progress_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three seconds for a limit of 1.5, at more than the rate."""
    monkeypatch.setattr(answers, "MIN_BYTES_PER_SECOND", 5)
    pieces = [OK[i : i + 4] for i in range(0, len(OK), 4)]

    def answer(handler: BaseHTTPRequestHandler, ended: Event) -> None:
        head(handler, Transfer_Encoding="chunked")
        for piece in pieces:
            ended.wait(0.2)
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        handler.wfile.write(b"0\r\n\r\n")

    with server(answer) as uri:
        assert MlflowReader(uri).experiments() == {"one": "1"}


@pytest.mark.usefixtures("limits")
def test_an_endless_file_is_not_written_to_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtlv.tracking.mlflow_reader.MAX_OTHER_BYTES", 3_000_000)

    def answer(handler: BaseHTTPRequestHandler, ended: Event) -> None:
        if "path=" in handler.path:
            content = b'{"files": [{"path": "a.txt", "is_dir": false, "file_size": 9}]}'
            head(handler, Content_Length=len(content))
            handler.wfile.write(content)
        else:
            endless(handler, ended)

    with server(answer) as uri:
        place = f"{uri}/api/2.0/mlflow-artifacts/artifacts/1/r/artifacts"
        run = StoredRun("r", "1", "run", "FINISHED", 0, place)
        with pytest.raises(TrackingError, match="too large"):
            MlflowReader(uri).files([(run, "a.txt")])
