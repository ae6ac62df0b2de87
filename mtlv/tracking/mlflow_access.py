"""Access to MLflow for reading and writing: client, log output, and conversion of errors."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.answers import limit_answers
from mtlv.environ import variable
from mtlv.errors import RefusedError, TrackingError, mask_credentials
from mtlv.tracking import address
from mtlv.tracking.mlflow_moved import follow_move
from mtlv.tracking.refusal import refusal

if TYPE_CHECKING:
    from mlflow import MlflowClient

CHATTY_LOGGERS = ("mlflow", "alembic", "urllib3.connectionpool", "sqlalchemy")
FINAL_ERROR_CODES = frozenset(("INVALID_PARAMETER_VALUE", "RESOURCE_DOES_NOT_EXIST", "NOT_IMPLEMENTED"))
"""Error codes of MLflow that are final. Not `BAD_REQUEST`, which may be a busy database."""
FOREIGN_RESPONSE = "API request to endpoint"  # in the client's message if the response is not from MLflow
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
    from mlflow.utils import request_utils

    if limit_answers(request_utils.TCPKeepAliveHTTPAdapter):
        request_utils._cached_get_request_session.cache_clear()  # of sessions without limits
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
    """Let processes open the SQLite file in turn: two that create its tables together would both fail."""
    try:
        import fcntl
    except ImportError:  # Windows: open it once before starting workers
        yield
        return
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)  # this releases the lock
