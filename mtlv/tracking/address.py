"""Tracking addresses: supported kinds, their files, and quick checks that they can be used."""

from __future__ import annotations

import os
import socket
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from mtlv.errors import RefusedError, TrackingError, mask_credentials

DEFAULT_URI = "sqlite:///mlflow.db"
DEFAULT_PAGE = "http://127.0.0.1:5000"
SERVER_SCHEMES = ("http", "https")
SERVER_PORTS = {"http": 80, "https": 443}
PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
ALLOWED = "sqlite:///FILE, http(s)://HOST:PORT, postgresql://..., mysql://..., mssql://..., databricks"
VIEW_PARAMETER = (
    "&viewStateShareKey="  # a prepared view in MLflow's UI; an unknown one leaves the list of runs
)
SQLITE_SUFFIXES = (".db", ".sqlite", ".sqlite3")  # usual suffixes of SQLite's files
DATABASE_TIMEOUT_SECONDS = 10  # seconds to wait for a database server
MAX_NAME_BYTES = 255  # bytes of a file name, on all common file systems
LOCK_TIMEOUT_SECONDS = 20  # seconds to wait for another writer of the SQLite file


def scheme(uri: str) -> str:
    """Return the scheme, e.g. `postgresql` of `postgresql+psycopg2://...`; empty for a plain path."""
    return uri.split("://", 1)[0].split("+", 1)[0].casefold() if "://" in uri else ""


def sqlite_file(uri: str) -> Path | None:
    """Return the absolute path of an SQLite address; None for other addresses."""
    if scheme(uri) != "sqlite":
        return None
    path = uri.split("://", 1)[1].split("?", 1)[0].removeprefix("/")
    if path in ("", ":memory:"):
        raise RefusedError(
            "`tracking.uri` is an in-memory database, which would be lost at the end",
            got=uri,
            allowed=ALLOWED,
        )
    if "\0" in path or any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in Path(path).parts):
        raise RefusedError(
            "`tracking.uri` has an invalid file name",
            got=uri,
            allowed=f"up to {MAX_NAME_BYTES} bytes, no NUL",
        )
    return Path(path).absolute()


def is_remote(uri: str) -> bool:
    """Whether the store is a server, which may be temporarily unreachable."""
    return scheme(uri) in (*SERVER_SCHEMES, *PORTS)


def kept_address(uri: str) -> str:
    """Return `uri` in a form for storage: SQLite paths are absolute, without user and password.

    Two addresses of the same store give the same result, for any user.
    """
    file = sqlite_file(uri)
    if file is None:
        return mask_credentials(uri)
    begin, _, _ = uri.partition("://")
    query = uri.partition("?")[2]
    return f"{begin}:///{file.as_posix()}{f'?{query}' if query else ''}"


def allows_files() -> bool:
    """Whether the user lets MLflow keep runs in the files of a folder."""
    return os.environ.get("MLFLOW_ALLOW_FILE_STORE", "").casefold() in ("true", "1")


def check_kind(uri: str) -> None:
    """Raise an error for a kind of address that MLflow 3.17 does not support; nothing is opened.

    Raises:
        TrackingError: a folder, an in-memory database, an unknown scheme, an invalid host or port.
    """
    kind = scheme(uri)
    if not kind and Path(uri).suffix in SQLITE_SUFFIXES:
        raise RefusedError(
            "`tracking.uri` is a path", got=uri, allowed=ALLOWED, then=f"write `sqlite:///{uri}`"
        )
    if (kind == "file" and not allows_files()) or (not kind and uri != "databricks"):
        raise RefusedError(
            "`tracking.uri` is a folder, which MLflow 3.17 does not support as a store",
            got=mask_credentials(uri),
            allowed=ALLOWED,
            then=f"use `{DEFAULT_URI}`; `mlflow migrate-filestore` converts old runs; or set "
            "MLFLOW_ALLOW_FILE_STORE=true and give an address such as `file:///FOLDER`",
        )
    if kind not in ("", "file", "sqlite", "databricks", *SERVER_SCHEMES, *PORTS):
        raise RefusedError("`tracking.uri` has an unknown scheme", got=mask_credentials(uri), allowed=ALLOWED)
    sqlite_file(uri)
    if is_remote(uri):
        _host_and_port(uri, 0)


def check_address(uri: str) -> None:
    """Check within seconds that `uri` can be used, as far as possible without MLflow.

    Raises:
        TrackingError: an address that MLflow 3.17 does not support, a file that cannot be written or is not
            a database, a database server that does not respond.
    """
    check_kind(uri)
    kind = scheme(uri)
    if kind == "sqlite":
        _check_sqlite(uri)
    elif kind in PORTS:
        _check_port(uri, PORTS[kind])


def check_answers(uri: str) -> None:
    """Run `check_address`, and check that a server accepts connections, before anything is prepared.

    Raises:
        TrackingError: as for `check_address`, or the server does not accept connections.
    """
    check_address(uri)
    if scheme(uri) in SERVER_SCHEMES and not _through_a_proxy(uri):
        _check_port(uri, SERVER_PORTS[scheme(uri)])


def _through_a_proxy(uri: str) -> bool:
    """Whether requests to `uri` use a proxy, so that a direct connection proves nothing."""
    from urllib.request import getproxies, proxy_bypass  # slow to import

    host = urlsplit(uri).hostname or ""
    return scheme(uri) in getproxies() and not proxy_bypass(host)


def _check_sqlite(uri: str) -> None:
    path = sqlite_file(uri)
    assert path is not None
    if not path.parent.is_dir():
        raise TrackingError(
            f"the folder of the tracking store `{uri}` does not exist",
            got=str(path.parent),
            then="create the folder, or set `tracking.uri`",
        )
    try:
        if not path.exists():  # connecting would create an empty file
            with tempfile.TemporaryFile(dir=path.parent):
                return
        with closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT_SECONDS, isolation_level=None)) as database:
            database.execute("PRAGMA schema_version").fetchone()
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
    except (sqlite3.Error, OSError) as error:
        raise TrackingError(
            f"the tracking store `{uri}` cannot be written: {error}",
            then="set `tracking.uri` to a file in a writable folder",
        ) from error


def _host_and_port(uri: str, default: int) -> tuple[str, int]:
    try:
        parts = urlsplit(uri)
        return parts.hostname or "localhost", parts.port or default
    except ValueError as error:
        raise RefusedError("`tracking.uri`", got=mask_credentials(uri), allowed=ALLOWED) from error


def _check_port(uri: str, port: int) -> None:
    host, port = _host_and_port(uri, port)
    try:
        socket.create_connection((host, port), timeout=DATABASE_TIMEOUT_SECONDS).close()
    except OSError as error:
        raise unreachable(uri, error) from error


def unreachable(uri: str, error: object) -> TrackingError:
    """Return the error for a server that does not respond."""
    return TrackingError(
        f"the tracking server `{mask_credentials(uri)}` cannot be reached: {mask_credentials(error)}",
        then="start it, correct `tracking.uri`, or leave `tracking.uri` out to write to `mlflow.db` here",
    )


def page_url(uri: str | None, experiment_id: str, view: str = "") -> str:
    """Return the address of the experiment's list of runs in MLflow's UI, optionally with the view `view`.

    For a store without a server, this is the address used by `mtlv ui`. The address has a workflow type,
    because a new browser would otherwise show an empty page of traces.
    """
    base = DEFAULT_PAGE
    if uri and scheme(uri) in SERVER_SCHEMES:
        parts = urlsplit(uri)
        host = parts.netloc.rpartition("@")[2]
        base = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
    page = f"{base}/#/experiments/{experiment_id}/runs?workflowType=machine_learning"
    return f"{page}{VIEW_PARAMETER}{view}" if view else page


def compare_url(page: str) -> str:
    """Return the address of the runs of `page_url` as charts, with prepared charts for a prepared view."""
    begin, ready, _ = page.partition(VIEW_PARAMETER)
    charts = f"{begin}&compareRunsMode=CHART"
    return f"{charts}{VIEW_PARAMETER}mtlv-compare" if ready else charts
