"""Limits of what a server answers over HTTP: bytes after unpacking, and seconds.

A client's own timeout is for each read, so a server that sends a byte from time to time is never too slow.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

MAX_ANSWER_BYTES = (
    100_000_000  # of an answer that is read at once: 500 runs with 1000 metrics have half of it
)
MOST_BYTES_OF_FILE = ContextVar("MOST_BYTES_OF_FILE", default=50_000_000_000)
"""Of an answer that is written to a file piece by piece."""
ANSWER_SECONDS = 30.0  # for an answer without content, and before its rate counts
READ_TIMEOUTS = 3  # or as many times the timeout of one read, if the user has set a longer one
MIN_BYTES_PER_SECOND = 10_000  # bytes per second, on average
PIECE_BYTES = 65536  # bytes that are read before the rate is looked at
TICK_SECONDS = 0.2  # seconds between two looks at the sockets


@contextmanager
def files_up_to(most: int) -> Iterator[None]:
    """Limit the bytes of files that this thread downloads in the block."""
    token = MOST_BYTES_OF_FILE.set(most)
    try:
        yield
    finally:
        MOST_BYTES_OF_FILE.reset(token)


class _Watch:
    """Ends the connection of each answer that takes too long, in a thread that ends when there are none."""

    def __init__(self) -> None:
        self._lock, self._thread = threading.Lock(), False
        self._due: WeakKeyDictionary[socket.socket, float] = WeakKeyDictionary()

    def expect(self, connection: socket.socket, due: float) -> None:
        """End the connection at this time of the monotonic clock."""
        with self._lock:
            self._due[connection] = due
            if not self._thread:
                self._thread = True
                threading.Thread(target=self._look, name="mtlv-answers", daemon=True).start()

    def forget(self, connection: socket.socket) -> None:
        """Let a connection go on: it sends another request."""
        with self._lock:
            self._due.pop(connection, None)

    def _look(self) -> None:
        while True:
            time.sleep(TICK_SECONDS)
            with self._lock:
                for connection, due in list(self._due.items()):
                    if time.monotonic() > due:
                        del self._due[connection]
                        with suppress(OSError):  # closed; not the method of a TLS socket, which another reads
                            socket.socket.shutdown(connection, socket.SHUT_RDWR)
                if not self._due:
                    self._thread = False
                    return


_WATCH = _Watch()


def limit_answers(adapter: Any) -> bool:
    """Limit the answers to a class of `requests` adapters, and return whether they had no limits before."""
    if getattr(adapter, "is_limited", False):
        return False
    adapter.is_limited = True
    adapter.send = _limited_send(adapter.send)
    for name in ("init_poolmanager", "proxy_manager_for"):
        setattr(adapter, name, _with_pools(getattr(adapter, name)))
    return True


def _seconds() -> float:
    return max(ANSWER_SECONDS, READ_TIMEOUTS * float(os.environ.get("MLFLOW_HTTP_REQUEST_TIMEOUT") or 0))


def _limited_send(send: Callable[..., Any]) -> Callable[..., Any]:
    def limited(self: Any, request: Any, stream: bool = False, **rest: Any) -> Any:
        answer = send(self, request, stream=stream, **rest)
        most = MOST_BYTES_OF_FILE.get() if stream else MAX_ANSWER_BYTES
        answer.iter_content = _limited_content(answer, most)
        return answer

    return limited


def _limited_content(answer: Any, most: int) -> Callable[..., Iterator[Any]]:
    read, limit = answer.iter_content, time.monotonic() + _seconds()

    def iter_content(chunk_size: int | None = 1, decode_unicode: bool = False) -> Iterator[Any]:
        size = 0
        for chunk in read(chunk_size and min(chunk_size, PIECE_BYTES), decode_unicode):
            size += len(chunk)
            if size > most:
                raise _too(answer, f"large: more than {most:,} bytes after unpacking")
            connection = getattr(answer.raw.connection, "sock", None)
            if connection is not None:
                _WATCH.expect(connection, limit + size / MIN_BYTES_PER_SECOND)
            yield chunk
        if (
            time.monotonic() > limit + size / MIN_BYTES_PER_SECOND
        ):  # a cut answer of unknown length looks like its end
            raise _too(answer, "slow")

    return iter_content


def _too(answer: Any, what: str) -> Exception:
    import requests

    answer.close()
    return requests.exceptions.ConnectionError(f"the answer of the server is too {what}")


def _with_pools(make: Callable[..., Any]) -> Callable[..., Any]:
    """Let the manager of connections, which is made or returned, make connections that are watched."""

    def watched(self: Any, *arguments: Any, **named: Any) -> Any:
        made = make(self, *arguments, **named)
        (self.poolmanager if made is None else made).pool_classes_by_scheme = _pools()
        return made

    return watched


def _pools() -> dict[str, type]:
    from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

    return {"http": _watch(HTTPConnectionPool), "https": _watch(HTTPSConnectionPool)}


def _watch(pool: Any) -> Any:
    class Watched(pool.ConnectionCls):
        def request(self, *arguments: Any, **named: Any) -> None:
            if self.sock is not None:
                _WATCH.forget(self.sock)  # sending a large file may take longer
            super().request(*arguments, **named)

        def getresponse(self) -> Any:
            due = time.monotonic() + _seconds()
            if self.sock is not None:
                _WATCH.expect(self.sock, due)
            answer = super().getresponse()
            if time.monotonic() > due:  # cut headers look like their end
                raise OSError("the answer of the server is too slow")
            return answer

    return type(pool.__name__, (pool,), {"ConnectionCls": Watched})
