"""Access to MLflow for reading and writing: client, log output, and conversion of errors."""

from __future__ import annotations

import logging
import os
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mtlv.environ import variable
from mtlv.errors import RefusedError, TrackingError, mask_credentials
from mtlv.tracking import address
from mtlv.tracking.mlflow_moved import follow_move

if TYPE_CHECKING:
    from mlflow import MlflowClient

CHATTY_LOGGERS = ("mlflow", "alembic", "urllib3.connectionpool", "sqlalchemy")
FINAL_ERROR_CODES = frozenset(("INVALID_PARAMETER_VALUE", "RESOURCE_DOES_NOT_EXIST", "NOT_IMPLEMENTED"))
"""Error codes of MLflow that are final. Not `BAD_REQUEST`, which may be a busy database."""
FOREIGN_RESPONSE = "API request to endpoint"  # in the client's message if the response is not from MLflow
USER, PASSWORD = "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"
STATUS = re.compile(r"\berror code (401|403)\b|\b(401|403) Client Error\b")
"""HTTP status in the messages of MLflow's client, for its API and for artifacts."""
VARIABLES = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # MLflow's default of 7 blocks for 4 minutes
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    # Only through the server: MLflow would otherwise access an S3 store at the server's internal address.
    "MLFLOW_ENABLE_PROXY_MULTIPART_DOWNLOAD": "false",
    "MLFLOW_ENABLE_PROXY_MULTIPART_UPLOAD": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}


def open_client(uri: str) -> MlflowClient:
    """Create MLflow's client for `uri`, with `VARIABLES` as defaults of environment variables."""
    from mlflow import MlflowClient

    for name, value in VARIABLES.items():
        os.environ.setdefault(name, value)

    if address.scheme(uri) == "sqlite":
        uri = address.kept_address(uri)  # MLflow caches stores by address, whatever the folder
    follow_move(uri)
    # The registry is not used, but MLflow opens it too: on the same store, or else it creates a file.
    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def load_mlflow() -> None:
    """Import MLflow now: a later import in a thread would block other threads for a second."""
    with quiet():
        import mlflow.tracking  # noqa: F401


def check_access(uri: str) -> None:
    """Run `address.check_answers`, and check that a server accepts the user, before anything is prepared.

    Raises:
        TrackingError: as for `address.check_answers`, or the server denies access.
    """
    address.check_answers(uri)
    if address.scheme(uri) in address.SERVER_SCHEMES:
        with translate_errors(uri):
            open_client(uri).search_experiments(max_results=1)


def _reason(error: Exception) -> str:
    """Return the innermost cause, such as `[Errno 111] Connection refused`."""
    text = str(error)
    text = text.rsplit("Caused by", 1)[-1].rsplit(": ", 1)[-1].strip(" ()'\"")
    return text + ")" * (text.count("(") - text.count(")"))


@contextmanager
def translate_errors(uri: str) -> Iterator[None]:
    """Suppress MLflow's log output, and convert its errors to a clear TrackingError."""
    with quiet():
        try:
            yield
        except TrackingError:
            raise
        except Exception as error:  # MLflow's own, SQLAlchemy's, requests' and OS errors
            raise store_error(uri, error) from error


def store_error(uri: str, error: Exception) -> TrackingError:
    """Return a clear error for an error raised by MLflow."""
    message = mask_credentials(str(error).strip().split("\n")[0]) or type(error).__name__
    if address.scheme(uri) in address.SERVER_SCHEMES and "Max retries exceeded" in message:
        return address.unreachable(uri, _reason(error))
    refused = refusal(uri, str(error))
    if refused is not None:
        return refused
    where = mask_credentials(uri)
    if "out-of-date database schema" in str(error):
        then = f"make a copy of it and run `mlflow db upgrade {where}`"
    else:
        then = "correct `tracking.uri`, or leave it out to write to `mlflow.db` here"
    final = getattr(error, "error_code", "") in FINAL_ERROR_CODES and FOREIGN_RESPONSE not in str(error)
    kind = RefusedError if final else TrackingError
    return kind(f"the tracking store `{where}` failed: {message[:300]}", then=then)


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress log lines and warnings of MLflow and its dependencies on the terminal."""
    import mlflow  # noqa: F401 - the import sets the loggers' levels, so it has to come first

    loggers = [logging.getLogger(name) for name in CHATTY_LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)  # errors they log are also raised and reported
    try:
        with _no_warnings():
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _no_warnings() -> Iterator[None]:
    """Suppress Python warnings: all, or, outside the main thread, only those of `CHATTY_LOGGERS`."""
    if threading.current_thread() is not threading.main_thread():
        for name in CHATTY_LOGGERS:
            warnings.filterwarnings("ignore", module=rf"{name.partition('.')[0]}\b")
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def once() -> AbstractContextManager[None]:
    """Let MLflow send each request only once: after a lost response, a retry would create objects twice."""
    return variable("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")  # MLflow reads it at each request


@contextmanager
def one_at_a_time(file: Path) -> Iterator[None]:
    """Let processes open the SQLite file in turn: two that create its tables together would both fail.

    A missing one is created beside and renamed: with half of its tables, it could never be opened again.
    """
    try:
        import fcntl
    except ImportError:  # Windows: open it once before starting workers
        yield
        return
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if not file.exists():
            unfinished = file.with_name(f".{file.name}.making")
            for path in (unfinished, Path(f"{unfinished}-journal")):
                path.unlink(missing_ok=True)
            open_client(f"sqlite:///{unfinished}")
            os.replace(unfinished, file)
        yield
    finally:
        os.close(folder)  # this releases the lock


def refusal(uri: str, message: str) -> RefusedError | None:
    """Return the error for the message of MLflow's client; None if it is not a denied request."""
    status = STATUS.search(message)
    if status is None and "PERMISSION_DENIED" not in message:
        return None
    server = f"the tracking server `{mask_credentials(uri)}`"
    if status is not None and "401" in status.groups():
        return _unknown_user(server, uri)
    if "Invalid Host header" in message:
        return RefusedError(
            f"{server} does not accept the host name in this address",
            then=f"ask its administrator to add `{urlsplit(uri).netloc.rpartition('@')[2]}` to its "
            "`--allowed-hosts` (`MTLV_HOSTS` of docker-compose.yml), or use a host name that it accepts",
        )
    user = _user(uri)
    return RefusedError(
        f"{server} does not allow {user or 'this user'} to do this",
        then="set another `experiment`, or ask its manager for the permission EDIT",
    )


def _unknown_user(server: str, uri: str) -> RefusedError:
    user = _user(uri)
    if user is None:
        return RefusedError(f"{server} requires a user and a password", then=f"set {USER} and {PASSWORD}")
    then = f"correct {USER} and {PASSWORD}"
    if urlsplit(uri).username:
        then = f"correct both in `tracking.uri`, which takes precedence over {USER}"
    return RefusedError(f"{server} does not accept {user} with the given password", then=then)


def _user(uri: str) -> str | None:
    """Return the user that MLflow's client sends, in backticks: from the address or the environment."""
    name = urlsplit(uri).username or (os.environ.get(USER) if os.environ.get(PASSWORD) else None)
    return f"`{name}`" if name else None
