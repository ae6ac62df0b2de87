"""What reading and writing MLflow share: its client, its silence, one clear error of whatever it raises."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.environ import variable
from mtlv.errors import RefusedError, TrackingError
from mtlv.tracking import address
from mtlv.tracking.refusal import refusal

if TYPE_CHECKING:
    from mlflow import MlflowClient

CHATTY = ("mlflow", "alembic", "urllib3.connectionpool", "sqlalchemy")
FINAL = frozenset(("INVALID_PARAMETER_VALUE", "RESOURCE_DOES_NOT_EXIST", "NOT_IMPLEMENTED"))
"""Codes of MLflow's own answers that the same request will get again. Not `BAD_REQUEST`: a busy database."""
FOREIGN = "API request to endpoint"  # how MLflow's client words an answer that MLflow's server did not write
SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # MLflow's own 7 block for 4 minutes
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    # Through the server only: MLflow would fetch from an S3 store at the address that the server knows it by.
    "MLFLOW_ENABLE_PROXY_MULTIPART_DOWNLOAD": "false",
    "MLFLOW_ENABLE_PROXY_MULTIPART_UPLOAD": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}


def open_client(uri: str) -> MlflowClient:
    """MLflow's client on `uri`, by `SETTINGS` where the environment says nothing else."""
    from mlflow import MlflowClient

    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)

    # The registry is not used, but MLflow opens it with the client: on the same store, or it makes a file.
    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def load_mlflow() -> None:
    """Import MLflow now: it takes a second, in which a thread that does it later would hold up the others."""
    with quiet():
        import mlflow.tracking  # noqa: F401


def check_access(uri: str) -> None:
    """As `address.check_answers`; a server must also know the user, before anything is prepared for it.

    Raises:
        TrackingError: as `address.check_answers`, or the server refuses.
    """
    address.check_answers(uri)
    if address.scheme(uri) in address.SERVERS:
        with guarded(uri):
            open_client(uri).search_experiments(max_results=1)


def local_folder(location: str) -> Path | None:
    """The folder that an artifact location names; None where it is elsewhere, as behind a server's proxy."""
    from mlflow.utils.file_utils import local_file_uri_to_path
    from mlflow.utils.uri import is_local_uri

    if not is_local_uri(location, is_tracking_or_registry_uri=False):
        return None
    return Path(local_file_uri_to_path(location))


def _reason(error: Exception) -> str:
    """The innermost cause, such as `[Errno 111] Connection refused`."""
    text = str(error)
    text = text.rsplit("Caused by", 1)[-1].rsplit(": ", 1)[-1].strip(" ()'\"")
    return text + ")" * (text.count("(") - text.count(")"))


@contextmanager
def guarded(uri: str) -> Iterator[None]:
    """Keep MLflow quiet, and make one clear TrackingError of whatever it raises."""
    with quiet():
        try:
            yield
        except TrackingError:
            raise
        except Exception as error:  # MLflow raises its own, SQLAlchemy's, requests' and OS errors
            raise store_error(uri, error) from error


def store_error(uri: str, error: Exception) -> TrackingError:
    """One clear error of whatever MLflow raised."""
    said = address.masked(str(error).strip().split("\n")[0]) or type(error).__name__
    if address.scheme(uri) in address.SERVERS and "Max retries exceeded" in said:
        return address.unreachable(uri, _reason(error))
    refused = refusal(uri, str(error))
    if refused is not None:
        return refused
    where = address.masked(uri)
    if "out-of-date database schema" in str(error):
        then = f"make a copy of it and run `mlflow db upgrade {where}`"
    else:
        then = "correct `tracking.uri`, or leave it out to write to `mlflow.db` here"
    final = getattr(error, "error_code", "") in FINAL and FOREIGN not in str(error)
    kind = RefusedError if final else TrackingError
    return kind(f"the tracking store `{where}` failed: {said[:300]}", then=then)


@contextmanager
def quiet() -> Iterator[None]:
    """No log lines and no warnings of MLflow and the libraries below it on the terminal."""
    import mlflow  # noqa: F401 - the import sets the loggers' levels, so it has to come first

    loggers = [logging.getLogger(name) for name in CHATTY]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)  # what they log as errors is raised too, and told once
    try:
        with _no_warnings():
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _no_warnings() -> Iterator[None]:
    """No Python warnings: all of them, or in a thread beside others, who want theirs, those of `CHATTY`."""
    if threading.current_thread() is not threading.main_thread():
        for name in CHATTY:
            warnings.filterwarnings("ignore", module=rf"{name.partition('.')[0]}\b")
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def once() -> AbstractContextManager[None]:
    """Let MLflow send each request once: if an answer is lost, it would make what it asks for twice."""
    return variable("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")  # MLflow reads it at each request


@contextmanager
def one_at_a_time(file: Path) -> Iterator[None]:
    """Let one process after the other open the SQLite file: two that make its tables together both crash."""
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
        os.close(folder)  # this gives the lock back
