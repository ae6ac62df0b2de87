"""Writes runs to MLflow. Imported inside functions, because the import takes a second."""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtlv.errors import RefusedError, TrackingError
from mtlv.plan.names import ascii_slug
from mtlv.tracking import address
from mtlv.tracking.checks import check_key, check_metrics, check_name, check_params, check_tags
from mtlv.tracking.mlflow_access import once, one_at_a_time, open_client, translate_errors
from mtlv.tracking.mlflow_model import keep_model
from mtlv.tracking.mlflow_moved import ARTIFACTS
from mtlv.tracking.mlflow_pages import keep_data, keep_image, keep_table, served_release, with_links
from mtlv.tracking.mlflow_user import store_uri
from mtlv.tracking.mlflow_views import PREFIX, reads_views, view_tags
from mtlv.tracking.reader import KIND, PARENT, UID
from mtlv.tracking.tracker import DataPart, Metric, RunSpec, Status, TableFile, TrackedModel
from mtlv.tracking.views import View

if TYPE_CHECKING:
    from mlflow.entities import Run

MAX_PER_REQUEST = {"metrics": 1000, "params": 100, "tags": 100}  # per request, MLflow's limits
ALL_RUNS = "mtlv-runs"
OPEN = ("RUNNING", "SCHEDULED")  # states of a run that is not closed
NOTE = "mlflow.note.content"  # description of a run or an experiment in the UI


class MlflowTracker:
    """Writes to an MLflow store with explicit run ids, never to the active run.

    Args:
        uri: an MLflow tracking address; None is as for `store_uri`. For an SQLite file,
            artifacts go to `mlruns/` in its folder; for a server, to the server's artifact store.
        experiment: name of the experiment; created if it does not exist.

    Raises:
        TrackingError: the store cannot be reached or written.
    """

    def __init__(self, uri: str | None, experiment: str) -> None:
        self.uri = store_uri(uri)
        self.experiment = experiment
        address.check_address(self.uri)
        self._ended: dict[str, int] = {}
        self._made: dict[str, str] = {}
        file = address.sqlite_file(self.uri)
        with translate_errors(self.uri), one_at_a_time(file) if file else nullcontext():
            self._client = open_client(self.uri)
            self.experiment_id = self._open_experiment(file)

    @property
    def page(self) -> str:
        """Address of the experiment in MLflow's UI."""
        return address.page_url(self.uri, self.experiment_id, self.view_of_runs)

    @property
    def view_of_runs(self) -> str:
        """Id of the experiment's view of all runs; empty if there is none."""
        with translate_errors(self.uri):
            tags = self._client.get_experiment(self.experiment_id).tags
        return ALL_RUNS if f"{PREFIX}{ALL_RUNS}" in tags else ""

    def open_run(self, spec: RunSpec) -> str:
        from mlflow.entities import Param

        uid = check_key(spec.uid, "run")
        params, tags = check_params(spec.params), check_tags(self._tags(spec))
        with translate_errors(self.uri):
            run = next(iter(self._runs(uid, most=1)), None)
            if run is None:
                run = self._create(spec, tags)
            else:
                if run.info.status == "FINISHED":
                    self._ended[run.info.run_id] = run.info.end_time
                self._set_tags(run.info.run_id, tags)
            status = "SCHEDULED" if spec.waiting else "RUNNING"
            if run.info.status != status:
                self._client.update_run(run.info.run_id, status=status)
            # Params cannot change in MLflow, so existing ones stay unchanged.
            new = [Param(key, value) for key, value in params.items() if key not in run.data.params]
            self._log(run.info.run_id, "params", new)
        return run.info.run_id

    def metrics(self, run: str, metrics: Sequence[Metric]) -> None:
        from mlflow.entities import Metric as Point

        points = [Point(m.key, m.value, m.timestamp_ms, m.step) for m in check_metrics(metrics)]
        with translate_errors(self.uri):
            self._log(run, "metrics", points)

    def artifact(self, run: str, local: Path, folder: str = "") -> None:
        check_name(f"{folder}/{local.name}" if folder else local.name)
        if not local.exists():
            raise TrackingError(f"the file `{local}` does not exist")
        log = self._client.log_artifacts if local.is_dir() else self._client.log_artifact
        with translate_errors(self.uri):
            log(run, str(local), folder or None)

    def text(self, run: str, text: str, name: str) -> None:
        with translate_errors(self.uri):
            self._client.log_text(run, text, check_name(name))

    def model(self, run: str, model: TrackedModel) -> None:
        with translate_errors(self.uri):
            keep_model(self._client, self.experiment_id, run, model)

    def tags(self, run: str, tags: Mapping[str, str]) -> None:
        with translate_errors(self.uri):
            self._set_tags(run, check_tags(tags))

    def describe(self, run: str, text: str) -> None:
        self.tags(run, {NOTE: with_links(text, self.experiment_id, run)})

    def describe_all(self, text: str, views: Sequence[View]) -> None:
        with translate_errors(self.uri):
            shown = view_tags(views, self._id_of) if reads_views(served_release(self.uri)) else {}
            tags = {NOTE: with_links(text, self.experiment_id, run_id=self._id_of), **shown}
            for key, value in tags.items():
                self._client.set_experiment_tag(self.experiment_id, key, value)

    def data(self, run: str, parts: Sequence[DataPart]) -> None:
        with translate_errors(self.uri):
            keep_data(self._client, run, parts)

    def table(self, run: str, table: TableFile) -> None:
        check_name(table.name)
        with translate_errors(self.uri):
            keep_table(self._client, run, table)

    def image(self, run: str, local: Path, key: str) -> None:
        with translate_errors(self.uri):
            keep_image(self._client, run, local, key)

    def close(self, run: str, status: Status = "FINISHED", ended_ms: int = 0) -> None:
        with translate_errors(self.uri):
            # A finished run that is closed again keeps its end time, or its duration would grow.
            end = self._ended.get(run) if status == "FINISHED" else None
            self._client.set_terminated(run, status, end or ended_ms or None)
            if run in self._made:
                self._drop_twins(run, self._made[run])

    def end_if_running(self, run: str, ended_ms: int) -> bool:
        with translate_errors(self.uri):
            state = self._client.get_run(run).info
            if state.status not in OPEN or state.lifecycle_stage != "active":
                return False
            self._client.set_terminated(run, "KILLED", ended_ms)
        return True

    def _open_experiment(self, file: Path | None) -> str:
        """Return the id of the experiment, which is marked as one of training runs (not traces)."""
        from mlflow.entities import LifecycleStage

        existing = self._client.get_experiment_by_name(self.experiment)
        if existing is not None and existing.lifecycle_stage == LifecycleStage.DELETED:
            raise RefusedError(
                f"the experiment `{self.experiment}` was deleted in MLflow",
                then=f"run `mlflow experiments restore -x {existing.experiment_id}`, or set another name",
            )
        if existing is not None:
            identity = existing.experiment_id
        else:
            place = (file.parent / ARTIFACTS / ascii_slug(self.experiment)).as_uri() if file else None
            identity = self._client.create_experiment(self.experiment, artifact_location=place)
        self._client.set_experiment_tag(identity, "mlflow.experimentKind", "custom_model_development")
        return identity

    def _create(self, spec: RunSpec, tags: Mapping[str, str]) -> Run:
        with once():
            run = self._client.create_run(
                self.experiment_id, spec.began_ms or None, tags=dict(tags), run_name=spec.name
            )
        self._made[run.info.run_id] = spec.uid
        return run

    def _runs(self, uid: str, most: int) -> Sequence[Run]:
        """Return runs of this experiment with the tag `mtlv.uid`, the oldest first, without deleted runs."""
        return self._client.search_runs(
            [self.experiment_id],
            filter_string=f"tags.`mtlv.uid` = '{uid}'",
            order_by=["attributes.start_time ASC"],
            max_results=most,
        )

    def _id_of(self, uid: str) -> str:
        return next((run.info.run_id for run in self._runs(uid, most=1)), "")

    def _drop_twins(self, run: str, uid: str) -> None:
        """Delete empty duplicates of `run`, created by requests whose responses were lost.

        A slow server may process such a request after the next one.
        """
        for twin in self._runs(uid, most=20):
            empty = not twin.data.metrics and not twin.data.params
            if twin.info.run_id != run and empty and twin.info.status == "RUNNING":
                self._client.delete_run(twin.info.run_id)

    def _tags(self, spec: RunSpec) -> dict[str, str]:
        shown = {
            "mlflow.user": _user(),
            "mlflow.source.name": "mtlv",
            "mlflow.source.type": "LOCAL",
            "mlflow.runName": spec.name,
        }
        if spec.parent is not None:
            shown[PARENT] = spec.parent
        if spec.description:
            shown[NOTE] = spec.description
        if spec.colour:
            shown["mlflow.runColor"] = spec.colour
        return {**shown, **spec.tags, UID: spec.uid, KIND: spec.kind}

    def _set_tags(self, run: str, tags: Mapping[str, str]) -> None:
        from mlflow.entities import RunTag

        self._log(run, "tags", [RunTag(key, value) for key, value in tags.items()])

    def _log(self, run: str, what: str, entries: Sequence[Any]) -> None:
        """Log metrics, params or tags, in as many requests as they need."""
        for start in range(0, len(entries), MAX_PER_REQUEST[what]):
            some: dict[str, Any] = {what: entries[start : start + MAX_PER_REQUEST[what]]}
            self._client.log_batch(run, **some)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, e.g. in a container
        return "unknown"
