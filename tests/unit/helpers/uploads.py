"""Uploads to MLflow in a thread, as a process takes seconds to import it; stores without its migrations."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mtlv.processes import Connection
from mtlv.tracking import upload_process


class InThread(Connection):
    """The upload process as a thread: it sees what a test patches."""

    def __init__(self, _: str) -> None:
        requests, answers = os.pipe(), os.pipe()
        super().__init__(os.fdopen(answers[0], "rb"), os.fdopen(requests[1], "wb"))
        self.process = self
        self.thread = threading.Thread(target=self.work, args=(requests[0], answers[1]), daemon=True)
        self.thread.start()

    @staticmethod
    def work(requests: int, answers: int) -> None:
        with os.fdopen(requests, "rb") as incoming, os.fdopen(answers, "wb") as outgoing:
            upload_process.serve(Connection(incoming, outgoing))

    def kill(self) -> None:
        self.outgoing.close()

    def end(self) -> None:
        self.thread.join(10)


class ToMLflow(InThread):
    """Such a thread for a store of MLflow, whose tables are copied."""

    def __init__(self, module: str) -> None:
        copy_tables()
        super().__init__(module)


@pytest.fixture(scope="module", autouse=True)
def uploads_here() -> Iterator[None]:
    """Suites of this process upload in a thread; a file that tests the upload process has its own fixture."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upload_process, "ChildProcess", ToMLflow)
        yield


@cache
def copy_tables() -> None:
    """Let MLflow make its tables once, in two seconds, and copy them to all later SQLite files."""
    from mlflow.store.db import utils
    from mlflow.store.model_registry import sqlalchemy_store

    make, folder = utils._initialize_tables, tempfile.TemporaryDirectory(prefix="mtlv-tables-")

    def make_or_copy(engine: Any) -> None:
        tables = Path(folder.name) / "mlflow.db"
        if engine.dialect.name != "sqlite" or not utils._is_empty_database(engine):
            make(engine)
        elif tables.exists():
            copy_database(tables, engine.url.database)
        else:
            make(engine)
            copy_database(engine.url.database, tables)

    for module in (utils, sqlalchemy_store):
        module._initialize_tables = make_or_copy
    utils._get_latest_schema_revision = cache(utils._get_latest_schema_revision)  # it reads 50 files


def copy_database(source: Path | str, target: Path | str) -> None:
    """Copy an SQLite file."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
