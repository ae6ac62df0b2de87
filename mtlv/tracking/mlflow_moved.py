"""A local store that was moved or copied: MLflow's database has absolute places of artifacts."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from mtlv.tracking.address import LOCK_TIMEOUT_SECONDS, sqlite_file

ARTIFACTS = "mlruns"
"""Folder of the artifacts, beside the database."""
PLACE_COLUMNS = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
)


def follow_move(uri: str) -> None:
    """Update the artifact locations in an SQLite database after it was moved together with its artifacts.

    Nothing changes if an experiment's artifacts are not beside the database, or are the same files.
    """
    file = sqlite_file(uri)
    if file is None or not (file.parent / ARTIFACTS).is_dir() or not file.is_file():
        return
    try:
        with closing(sqlite3.connect(file, timeout=LOCK_TIMEOUT_SECONDS)) as database, database:
            places = [place for (place,) in database.execute("SELECT artifact_location FROM experiments")]
            for old, new in {pair for place in places if place and (pair := _find_move(place, file.parent))}:
                for table, column in PLACE_COLUMNS:
                    database.execute(
                        f"UPDATE {table} SET {column} = ? || substr({column}, ?) "
                        f"WHERE {column} = ? OR substr({column}, 1, ?) = ?",  # nosec B608 # names of this file
                        (new, len(old) + 1, old, len(old) + 1, f"{old}/"),
                    )
    except sqlite3.DatabaseError:
        return  # not MLflow's database, or one that cannot be written; MLflow says so itself


def local_folder(location: str) -> Path | None:
    """Return the local folder of an artifact location; None if it is elsewhere, such as behind a server."""
    from mlflow.utils.file_utils import local_file_uri_to_path
    from mlflow.utils.uri import is_local_uri

    if not is_local_uri(location, is_tracking_or_registry_uri=False):
        return None
    return Path(local_file_uri_to_path(location))


def _find_move(place: str, home: Path) -> tuple[str, str] | None:
    """Return the old and the new beginning of an experiment's artifact location; None if it has not moved."""
    root, separator, name = place.rpartition(f"/{ARTIFACTS}/")
    here, old = home / ARTIFACTS / name, local_folder(place)
    if not separator or old is None or not here.is_dir():
        return None
    if old.is_dir() and os.path.samefile(old, here):
        return None
    new = home.as_uri() if root.startswith("file:") else home.as_posix()
    return place, f"{new}/{ARTIFACTS}/{name}"
