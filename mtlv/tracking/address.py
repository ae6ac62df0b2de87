"""Tracking addresses: which are taken, where their files lie, and quick proof that they can be used."""

from __future__ import annotations

import os
import socket
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from mtlv.errors import MASK as MASK
from mtlv.errors import RefusedError, TrackingError
from mtlv.errors import masked as masked

DEFAULT_URI = "sqlite:///mlflow.db"
DEFAULT_PAGE = "http://127.0.0.1:5000"
SERVERS = ("http", "https")
SERVER_PORTS = {"http": 80, "https": 443}
PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
ALLOWED = "sqlite:///FILE, http(s)://HOST:PORT, postgresql://..., mysql://..., mssql://..., databricks"
VIEW = "&viewStateShareKey="  # a ready view of MLflow's page; with an unknown one it leaves the runs
WAIT = 10  # seconds for a database server to answer
LONGEST_NAME = 255  # bytes of a file's name, on all disks of today
LOCK_WAIT = 20  # seconds for another writer of the SQLite file


def scheme(uri: str) -> str:
    """`postgresql` of `postgresql+psycopg2://...`; empty for a plain path."""
    return uri.split("://", 1)[0].split("+", 1)[0].casefold() if "://" in uri else ""


def sqlite_file(uri: str) -> Path | None:
    """The file of an SQLite address, absolute; nothing for other addresses."""
    if scheme(uri) != "sqlite":
        return None
    path = uri.split("://", 1)[1].split("?", 1)[0].removeprefix("/")
    if path in ("", ":memory:"):
        raise RefusedError(
            "`tracking.uri` is a database in memory, lost at the end", got=uri, allowed=ALLOWED
        )
    if "\0" in path or any(len(os.fsencode(part)) > LONGEST_NAME for part in Path(path).parts):
        raise RefusedError(
            "`tracking.uri` has a file name that no disk takes",
            got=uri,
            allowed=f"up to {LONGEST_NAME} bytes, no NUL",
        )
    return Path(path).absolute()


def is_remote(uri: str) -> bool:
    """Whether it is another program's, which may be away for a while."""
    return scheme(uri) in (*SERVERS, *PORTS)


def kept_address(uri: str) -> str:
    """`uri` as it may be written down: the file of an SQLite address absolute, no user and no password.

    Two addresses of one store come out equal, whoever the user is.
    """
    file = sqlite_file(uri)
    if file is None:
        return masked(uri)
    begin, _, _ = uri.partition("://")
    query = uri.partition("?")[2]
    return f"{begin}:///{file.as_posix()}{f'?{query}' if query else ''}"


def check_kind(uri: str) -> None:
    """Refuse a kind of address that MLflow 3.17 does not take; nothing is opened.

    Raises:
        TrackingError: a folder, a database in memory, an unknown scheme, a host or port that is none.
    """
    kind = scheme(uri)
    if kind == "file" or (not kind and uri != "databricks"):
        raise RefusedError(
            "`tracking.uri` is a folder, and MLflow 3.17 refuses folders as a store",
            got=masked(uri),
            allowed=ALLOWED,
            then=f"use `{DEFAULT_URI}`; `mlflow migrate-filestore` brings old runs over",
        )
    if kind not in ("", "sqlite", "databricks", *SERVERS, *PORTS):
        raise RefusedError("`tracking.uri` has a scheme that is not known", got=masked(uri), allowed=ALLOWED)
    sqlite_file(uri)
    if is_remote(uri):
        _host_and_port(uri, 0)


def check_address(uri: str) -> None:
    """Prove within seconds that `uri` can be used, as far as that can be seen without MLflow.

    Raises:
        TrackingError: a kind of address that MLflow 3.17 does not take, a file that cannot be written or is
            no database, a database server that does not answer.
    """
    check_kind(uri)
    kind = scheme(uri)
    if kind == "sqlite":
        _check_sqlite(uri)
    elif kind in PORTS:
        _check_port(uri, PORTS[kind])


def check_answers(uri: str) -> None:
    """As `check_address`; a server must also take connections, so that nothing is prepared in vain.

    Raises:
        TrackingError: as `check_address`, or no one listens at the server's address.
    """
    check_address(uri)
    if scheme(uri) in SERVERS and not _through_a_proxy(uri):
        _check_port(uri, SERVER_PORTS[scheme(uri)])


def _through_a_proxy(uri: str) -> bool:
    """Whether requests to `uri` take a way round, so that a direct connection proves nothing."""
    from urllib.request import getproxies, proxy_bypass  # slow to import

    host = urlsplit(uri).hostname or ""
    return scheme(uri) in getproxies() and not proxy_bypass(host)


def _check_sqlite(uri: str) -> None:
    path = sqlite_file(uri)
    assert path is not None
    if not path.parent.is_dir():
        raise TrackingError(
            f"the folder of the tracking store `{uri}` is not there",
            got=str(path.parent),
            then="make the folder, or set `tracking.uri`",
        )
    try:
        if not path.exists():  # connecting would make an empty file
            with tempfile.TemporaryFile(dir=path.parent):
                return
        with closing(sqlite3.connect(path, timeout=LOCK_WAIT, isolation_level=None)) as database:
            database.execute("PRAGMA schema_version").fetchone()
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
    except (sqlite3.Error, OSError) as error:
        raise TrackingError(
            f"the tracking store `{uri}` cannot be written: {error}",
            then="set `tracking.uri` to a file in a folder that can be written",
        ) from error


def _host_and_port(uri: str, default: int) -> tuple[str, int]:
    try:
        parts = urlsplit(uri)
        return parts.hostname or "localhost", parts.port or default
    except ValueError as error:
        raise RefusedError("`tracking.uri`", got=masked(uri), allowed=ALLOWED) from error


def _check_port(uri: str, port: int) -> None:
    host, port = _host_and_port(uri, port)
    try:
        socket.create_connection((host, port), timeout=WAIT).close()
    except OSError as error:
        raise unreachable(uri, error) from error


def unreachable(uri: str, error: object) -> TrackingError:
    """What to say when a server does not answer."""
    return TrackingError(
        f"the tracking server `{masked(uri)}` cannot be reached: {masked(error)}",
        then="start it, correct `tracking.uri`, or leave `tracking.uri` out to write to `mlflow.db` here",
    )


def page_url(uri: str | None, experiment_id: str, view: str = "") -> str:
    """Address of the experiment's list of runs in MLflow's page, as its ready view `view` where one is named.

    For a store without a server it is where `mtlv ui` opens it. The workflow type is named because a fresh
    browser would land on an empty page of traces.
    """
    base = DEFAULT_PAGE
    if uri and scheme(uri) in SERVERS:
        parts = urlsplit(uri)
        host = parts.netloc.rpartition("@")[2]
        base = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
    page = f"{base}/#/experiments/{experiment_id}/runs?workflowType=machine_learning"
    return f"{page}{VIEW}{view}" if view else page


def compare_url(page: str) -> str:
    """Address of the runs of `page_url` side by side as charts, the ready ones where it is a ready view."""
    begin, ready, _ = page.partition(VIEW)
    charts = f"{begin}&compareRunsMode=CHART"
    return f"{charts}{VIEW}mtlv-compare" if ready else charts
