"""Reads runs from any MLflow store: an SQLite file, a database or a server."""

from __future__ import annotations

import posixpath
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtlv.errors import TrackingError, mask_credentials, shorten
from mtlv.tracking import address
from mtlv.tracking.mlflow_access import open_client, translate_errors
from mtlv.tracking.mlflow_moved import ARTIFACTS, local_folder
from mtlv.tracking.mlflow_user import store_uri
from mtlv.tracking.reader import StoredRun

if TYPE_CHECKING:
    from mlflow.entities import Run

RUNS_PER_REQUEST = 500  # runs per request: a run has hundreds of metrics
MAX_DOWNLOADS = 8  # artifacts downloaded in parallel from a server
MAX_BYTES = {".parquet": 500_000_000}  # maximum bytes of an artifact
MAX_OTHER_BYTES = 50_000_000
MAX_POINTS = 100_000  # maximum points of a metric
RUN_ID = re.compile(r"[\w-]{1,100}")
MISSING = re.compile(r"\b404\b|No such file|does not exist|NoSuchKey|Not Found")  # ids may hold 404


class MlflowReader:
    """Reads from the MLflow store at `uri` without writing; None is as for `store_uri`.

    Artifacts of a server are downloaded into a temporary folder of the reader.

    Raises:
        TrackingError: the store does not exist or cannot be read; also raised by all methods.
    """

    def __init__(self, uri: str | None) -> None:
        self.uri = store_uri(uri)
        file = address.sqlite_file(self.uri)
        if file is not None and not file.exists():
            raise TrackingError(
                f"there are no runs yet: the tracking store `{self.uri}` does not exist",
                then="run `mtlv run CONFIG` first, use its working folder, or give a store with `--uri` (in "
                "Python `uri=`)",
            )
        if file is None:
            address.check_answers(self.uri)  # for a file, it would check that it can be written
        self._fetched = tempfile.TemporaryDirectory(prefix="mtlv-read-")
        with translate_errors(self.uri):
            self._client = open_client(self.uri)

    def experiments(self) -> Mapping[str, str]:
        """Return name to id of every experiment that is not deleted, most recently changed first."""
        with translate_errors(self.uri):
            newest_first = self._client.search_experiments(order_by=["last_update_time DESC"])
        return {experiment.name: experiment.experiment_id for experiment in newest_first}

    def runs(
        self, experiments: Sequence[str], tags: Mapping[str, str], *, most: int | None = None
    ) -> list[StoredRun]:
        """Return runs of experiments (ids) with all of these tags, newest first, at most `most`."""
        query = " and ".join(f"tags.`{key}` = '{_quote(value)}'" for key, value in tags.items())
        out: list[StoredRun] = []
        token: str | None = None
        with translate_errors(self.uri):
            while most is None or len(out) < most:
                page = self._client.search_runs(
                    list(experiments),
                    filter_string=query,
                    max_results=RUNS_PER_REQUEST if most is None else min(RUNS_PER_REQUEST, most - len(out)),
                    order_by=["attributes.start_time DESC", "attributes.run_id ASC"],
                    page_token=token,
                )
                out += [_to_stored_run(run) for run in page]
                token = page.token
                if not token:
                    break
        return out

    def run(self, run_id: str) -> StoredRun | None:
        """Return the run with this id, or None if it does not exist or is deleted."""
        from mlflow.exceptions import MlflowException

        with translate_errors(self.uri):
            try:
                stored = self._client.get_run(run_id)
            except MlflowException as error:
                if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                    return None
                raise
        return _to_stored_run(stored) if stored.info.lifecycle_stage == "active" else None

    def history(self, run_id: str, key: str) -> list[tuple[int, float]]:
        """Return all points (step, value) of a metric, by step."""
        with translate_errors(self.uri):  # the client would request all points, without a limit
            store = self._client._tracking_client.store
            points = store.get_metric_history(run_id, key, max_results=MAX_POINTS + 1)
        if len(points) > MAX_POINTS:
            raise TrackingError(
                f"metric `{key}` of run {run_id} has too many points",
                allowed=f"up to {MAX_POINTS:,}",
                then="leave out that run",
            )
        return sorted((point.step, point.value) for point in points)

    def files(self, artifacts: Iterable[tuple[StoredRun, str]]) -> list[Path | None]:
        """Return local copies of artifacts, in the requested order; None for a missing one."""
        pairs = list(artifacts)
        with translate_errors(self.uri), ThreadPoolExecutor(MAX_DOWNLOADS) as hands:
            folders = {(run.id, posixpath.dirname(name)): run for run, name in pairs}
            listed = hands.map(lambda place: self._listing(folders[place], place[1]), folders)
            sizes = dict(zip(folders, listed, strict=True))
            return list(hands.map(lambda pair: self._file(pair[0], pair[1], sizes), pairs))

    def page(self, run: StoredRun) -> str | None:
        """Return the address of a run's page, if the store is a server; otherwise None."""
        if address.scheme(self.uri) not in address.SERVER_SCHEMES:
            return None
        return address.page_url(self.uri, run.experiment).replace("/runs?", f"/runs/{run.id}?")

    def _listing(self, run: StoredRun, folder: str) -> Mapping[str, int | None]:
        """Return the sizes of the artifacts in a folder of a run, by full name; empty for a local folder."""
        if local_folder(run.artifacts) is not None:
            return {}
        try:
            files = self._repository(run).list_artifacts(folder or None)
        except Exception as error:  # each kind of repository has its own error for a missing folder
            if MISSING.search(str(error)):
                return {}
            raise
        return {file.path: file.file_size for file in files if not file.is_dir}

    def _file(
        self, run: StoredRun, name: str, sizes: Mapping[tuple[str, str], Mapping[str, int | None]]
    ) -> Path | None:
        place = local_folder(run.artifacts)
        if place is not None:
            if not (place / name).is_file():
                _need_folder(place.parent.parent, self.uri)  # of the experiment: a run may have no files
                return None
            _need_size(run, name, (place / name).stat().st_size)
            return place / name
        there = sizes[run.id, posixpath.dirname(name)]
        if name not in there:
            return None
        _need_size(run, name, there[name])
        path = Path(self._fetched.name) / run.id / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self._repository(run)._download_file(name, str(path))  # the public method would list the folder
        _need_size(run, name, path.stat().st_size)
        return path

    def _repository(self, run: StoredRun) -> Any:
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        return get_artifact_repository(run.artifacts, tracking_uri=self.uri)


def _need_folder(place: Path, uri: str) -> None:
    """Refuse a store without the artifacts of a whole experiment: only its database was moved."""
    if not place.is_dir():
        file = address.sqlite_file(uri)
        beside = place if file is None else file.parent / ARTIFACTS / place.name
        raise TrackingError(
            f"the artifacts of the store `{mask_credentials(uri)}` are not where its database says",
            got=str(place),
            then=f"copy the folder `{ARTIFACTS}` there as well: `{beside}` is used if it exists",
        )


def _need_size(run: StoredRun, name: str, size: int | None) -> None:
    most = MAX_BYTES.get(posixpath.splitext(name)[1], MAX_OTHER_BYTES)
    if size is not None and size > most:
        raise TrackingError(
            f"the artifact `{name}` of run `{shorten(run.name)}` ({run.id}) is too large",
            got=f"{size:,} bytes",
            allowed=f"up to {most:,}",
            then="leave out that run",
        )


def _to_stored_run(run: Run) -> StoredRun:
    info, data = run.info, run.data
    if not RUN_ID.fullmatch(info.run_id):  # used as a folder name and in filters
        raise TrackingError(
            "the store has a run with an invalid id", got=info.run_id, allowed="letters, digits, - _"
        )
    return StoredRun(
        id=info.run_id,
        experiment=info.experiment_id,
        name=info.run_name or info.run_id[:8],
        status=str(info.status),
        started_ms=info.start_time or 0,
        artifacts=info.artifact_uri or "",
        params=dict(data.params),
        tags=dict(data.tags),
        metrics=dict(data.metrics),
    )


def _quote(value: str) -> str:
    """Return a value for single quotes; MLflow's filters have no escape for quotes."""
    if "'" in value or "\\" in value:
        raise TrackingError(f"`{value}` contains a quote or a backslash, which MLflow cannot search for")
    return value
