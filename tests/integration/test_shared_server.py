"""The shared server of docker-compose.yml without Docker: two users at once, a restart, a restore."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bucket
import pytest
from make_env import filled
from services import ROOT, Site, programs, settings_of, site

from mtlv.errors import TrackingError
from mtlv.tracking.mlflow_tracker import MlflowTracker

pytestmark = pytest.mark.slow
EXPERIMENT = "reports"
SUITE = f"""\
experiment: {EXPERIMENT}
seed: 0
data: {{name: synthetic, documents: 90, labels: [Enlarged heart, Congestion, Catheter], max_length: 32}}
encoder: tiny
training: {{epochs: 2, learning_rate: 1e-3, precision: fp32}}
architecture: gmhl
grouping: {{features: document_centroid, k: 2}}
"""
PASSWORDS = {"ada": "ada's own password", "bob": "bob's own password"}
STABLE = ("plan.json", "tasks.json", "groups.json", ".parquet", "predictions.csv", ".safetensors")
"""Ends of artifacts that hold no clock time and no address: byte for byte the same wherever they are kept."""
CURVES = ("train/loss", "val/f1_macro")
DATABASES = ("mlflow", "mlflow_auth")
DUMP = "pg_dump --username=postgres --format=custom {}"
RESTORE = "pg_restore --username=postgres --exit-on-error --no-owner --role=mlflow --dbname={}"


def test_the_example_starts_nothing():
    example = settings_of((ROOT / ".env.example").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, site(Path(folder), example) as here:
        for service in ("check-secrets", "mlflow"):
            done = here.run(service)
            said = done.stderr.decode()
            assert done.returncode == 2
            assert "mtlv: `MTLV_ADMIN_PASSWORD` is still the example's" in said
            assert "change-me" not in said


@dataclass
class Shared:
    """A running site with two users who have both written to one experiment at the same time.

    Args:
        site: its services.
        local: an SQLite store with what `ada` wrote.
        said: what `mtlv` printed for each user.
        saved: what the experiment held when both were done.
        files: the artifacts of the runs that the local store has too, by the runs' names.
        stored: the bucket then.
    """

    site: Site
    local: str
    said: dict[str, str]
    saved: dict[str, dict[str, Any]]
    files: dict[str, dict[str, str]]
    stored: dict[str, bytes]

    def unchanged(self) -> bool:
        """Whether the server holds now what it held then, and gives out the files of a child."""
        child = next(name for name in self.files if name.startswith("fold"))
        there = files(self.saved[child]["id"], self.site.address)
        return contents(self.site.address) == self.saved and there == self.files[child]


@pytest.fixture(scope="module")
def shared(mtlv, tmp_path_factory) -> Iterator[Shared]:
    if programs() is None:
        pytest.skip("no PostgreSQL 15 or newer is installed (Debian: apt-get install postgresql)")
    settings = settings_of(filled((ROOT / ".env.example").read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory(prefix="mtlv-server-") as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL runs as another user, who has to pass through
        alone = tmp_path_factory.mktemp("alone")
        with site(folder, settings) as here, begun(mtlv, alone) as reference:
            here.start("database", "objects")
            assert here.run("bucket").returncode == 0
            here.start("mlflow")
            add_users(here)
            login(patch, "ada")
            share(here, MlflowTracker(here.address, EXPERIMENT).experiment_id)
            said = run_both(mtlv, here, tmp_path_factory)
            assert finish(reference)
            yield read_back(here, f"sqlite:///{alone}/mlflow.db", said, patch)


def read_back(here: Site, local: str, said: dict[str, str], patch: pytest.MonkeyPatch) -> Shared:
    for name, value in here.environment("bucket").items():
        if name.startswith(("AWS_", "MLFLOW_S3_")):
            patch.setenv(name, value)
    saved = contents(here.address)
    artifacts = {name: files(saved[name]["id"], here.address) for name in contents(local)}
    return Shared(here, local, said, saved, artifacts, objects())


@contextmanager
def begun(
    mtlv: Any, folder: Path, uri: str = "sqlite:///mlflow.db", *changes: str, **environment: str
) -> Iterator[subprocess.Popen[str]]:
    """`mtlv run` of the suite in `folder`; ended with the block, should it still run."""
    (folder / "c.yml").write_text(SUITE, encoding="utf-8")
    running = subprocess.Popen(
        [*mtlv.start, "run", "c.yml", f"tracking.uri={uri}", *changes],
        cwd=folder,
        env=mtlv.env | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


def finish(running: subprocess.Popen[str]) -> str:
    """What a run that went well printed."""
    said = running.communicate(timeout=600)[0]
    assert running.returncode == 0, said
    return said


def credentials(user: str) -> dict[str, str]:
    return {"MLFLOW_TRACKING_USERNAME": user, "MLFLOW_TRACKING_PASSWORD": PASSWORDS[user]}


def login(patch: pytest.MonkeyPatch, user: str) -> None:
    """Let MLflow's client in this process be `user`."""
    for name, value in credentials(user).items():
        patch.setenv(name, value)


def add_users(here: Site) -> None:
    admin = ("admin", here.settings["MTLV_ADMIN_PASSWORD"])
    for user, password in PASSWORDS.items():
        answer = here.request("/api/2.0/mlflow/users/create", admin, {"username": user, "password": password})
        assert answer[0] == 200


def share(here: Site, experiment: str) -> None:
    """`ada`, who made the experiment, lets `bob` write to it."""
    grant = {
        "username": "bob",
        "resource_type": "experiment",
        "resource_id": experiment,
        "permission": "EDIT",
    }
    assert here.request("/api/3.0/mlflow/users/permissions/grant", ("ada", PASSWORDS["ada"]), grant)[0] == 200


def run_both(mtlv: Any, here: Site, folders: pytest.TempPathFactory) -> dict[str, str]:
    """Run the suite as both users at once, each with a seed of their own."""
    with ExitStack() as stack:
        started = {
            user: stack.enter_context(
                begun(mtlv, folders.mktemp(user), here.address, f"seed={seed}", **credentials(user))
            )
            for seed, user in enumerate(PASSWORDS)
        }
        return {user: finish(running) for user, running in started.items()}


def contents(uri: str) -> dict[str, dict[str, Any]]:
    """Every run of the experiment but for its files, by kind, name and content."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri, registry_uri=uri)
    experiment = client.get_experiment_by_name(EXPERIMENT)
    runs = {run.info.run_id: run for run in client.search_runs([experiment.experiment_id], max_results=1000)}
    found = {}
    for run in runs.values():
        tags = run.data.tags
        parent = runs.get(tags.get("mlflow.parentRunId", ""))
        name = f"{tags['mtlv.kind']}: {parent.info.run_name if parent else ''} > {run.info.run_name}"
        found[f"{name} ({tags['mtlv.uid']})"] = {
            "id": run.info.run_id,
            "status": run.info.status,
            "params": run.data.params,
            "metrics": run.data.metrics,
            "curves": [history(client, run.info.run_id, key) for key in CURVES if key in run.data.metrics],
        }
    return found


def history(client: Any, run: str, key: str) -> list[tuple[int, float]]:
    return [(point.step, point.value) for point in client.get_metric_history(run, key)]


def files(run: str, uri: str) -> dict[str, str]:
    """Digest of each artifact of a run."""
    from mlflow.artifacts import download_artifacts

    with tempfile.TemporaryDirectory() as folder:
        download_artifacts(run_id=run, dst_path=folder, tracking_uri=uri)
        return {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(Path(folder).rglob("*"))
            if path.is_file()
        }


def objects() -> dict[str, bytes]:
    """What is in the bucket, past MLflow."""
    store = bucket.client()
    pages = store.get_paginator("list_objects_v2").paginate(Bucket=bucket.BUCKET)
    keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
    return {key: store.get_object(Bucket=bucket.BUCKET, Key=key)["Body"].read() for key in keys}


def measured(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics without clock times and what follows from them."""
    return {key: points for key, points in metrics.items() if not key.startswith(("time/", "cost/"))}


def test_both_users_wrote_everything(shared):
    statuses = [run["status"] for run in shared.saved.values()]
    kinds = [name.split(":")[0] for name in shared.saved]
    assert set(statuses) == {"FINISHED"}
    assert kinds.count("suite member") == kinds.count("fold") == 2  # one of each user
    assert all(
        f"The runs are at {shared.site.address}/#/experiments/" in said for said in shared.said.values()
    )


def test_the_server_holds_what_a_local_store_holds(shared):
    local, kept = contents(shared.local), []
    for name, run in local.items():
        there = shared.saved[name]
        assert measured(there["metrics"]) == measured(run["metrics"])
        assert there["curves"] == run["curves"]
        assert there["params"] | {"tracking.uri": "-"} == run["params"] | {"tracking.uri": "-"}
        here, there = files(run["id"], shared.local), shared.files[name]
        assert set(there) == set(here)
        stable = [file for file in here if file.endswith(STABLE)]
        kept += stable
        assert [there[file] for file in stable] == [here[file] for file in stable]
    assert any(file.endswith(".parquet") for file in kept)


def test_artifacts_are_in_the_bucket_and_not_on_the_servers_disk(shared):
    names = {file for run in shared.files.values() for file in run}
    assert len(names) > 10
    assert all(any(key.endswith(f"/artifacts/{name}") for key in shared.stored) for name in names)
    assert [path for path in shared.site.scratch.rglob("*") if path.is_file()] == []


def test_clients_reach_artifacts_through_the_server_alone(shared):
    asked = (shared.site.folder / "objects.log").read_text(errors="replace")
    assert " /mlflow/" in asked
    assert "X-Amz-Signature" not in asked  # an address that lets its bearer in, made for a client


def test_no_secret_is_written_anywhere(shared):
    secrets = [value for name, value in shared.site.settings.items() if name.startswith("MTLV_")]
    secrets += PASSWORDS.values()
    logs = "".join(path.read_text(errors="replace") for path in shared.site.folder.glob("*.log"))
    written = repr(shared.saved) + repr(shared.files) + repr(shared.said) + logs
    artifacts = shared.stored.values()
    assert len(secrets) == 8
    for secret in secrets:
        assert secret not in written
        assert not any(secret.encode() in artifact for artifact in artifacts)


def test_who_may_do_what(shared, monkeypatch):
    list_all = "/api/2.0/mlflow/experiments/search?max_results=9"
    assert shared.site.request(list_all, None)[0] == 401
    assert shared.site.request(list_all, ("ada", PASSWORDS["bob"]))[0] == 401
    assert shared.site.request(list_all, ("ada", PASSWORDS["ada"]))[0] == 200
    assert shared.site.request("/api/2.0/mlflow-artifacts/artifacts", None)[0] == 401
    refused = shared.site.request(list_all, ("ada", PASSWORDS["ada"]), Host="elsewhere.example")
    assert refused == (403, "Invalid Host header - possible DNS rebinding attack detected")

    login(monkeypatch, "ada")
    MlflowTracker(shared.site.address, "ada's")
    login(monkeypatch, "bob")
    MlflowTracker(shared.site.address, "bob's")
    with pytest.raises(
        TrackingError, match="does not allow `bob` to do this; set another `experiment`, or ask"
    ):
        MlflowTracker(shared.site.address, "ada's")
    monkeypatch.delenv("MLFLOW_TRACKING_USERNAME")
    with pytest.raises(TrackingError, match="requires a user and a password; set MLFLOW_TRACKING_USERNAME"):
        MlflowTracker(shared.site.address, EXPERIMENT)


def test_a_user_gets_no_files_of_others_and_chooses_no_place(shared):
    ada, bob = (("ada", PASSWORDS["ada"]), ("bob", PASSWORDS["bob"]))

    def post(user: tuple[str, str], path: str, **content: str) -> tuple[int, Any]:
        return shared.site.request(f"/api/2.0/mlflow/{path}", user, content)

    assert post(bob, "experiments/create", name="elsewhere", artifact_location="file:///tmp/x")[0] == 403
    assert post(ada, "experiments/create", name="hidden")[0] == 200
    assert post(bob, "registered-models/create", name="taken")[0] == 200
    run = shared.saved[next(iter(shared.saved))]["id"]
    source = {"source": f"runs:/{run}/model", "run_id": run}
    assert post(bob, "model-versions/create", name="taken", **source)[0] != 403, "everyone may read here"
    for source in ("file:///etc", "s3://mlflow/1/x/artifacts"):
        assert post(bob, "model-versions/create", name="taken", source=source)[0] == 403
    assert shared.site.request("/api/2.0/mlflow/users/list", bob, None)[0] == 403


def test_a_wrong_password_ends_a_run_before_it_trains(shared, mtlv, tmp_path):
    wrong = credentials("ada") | {"MLFLOW_TRACKING_PASSWORD": PASSWORDS["bob"]}
    with begun(mtlv, tmp_path, shared.site.address, **wrong) as running:
        said = running.communicate(timeout=300)[0]
    assert running.returncode == 2
    assert "does not accept `ada` with the given password; correct MLFLOW_TRACKING_USERNAME" in said
    assert "Traceback" not in said
    assert not any(password in said for password in PASSWORDS.values())


@pytest.mark.chaos
def test_a_backup_a_restart_and_a_restore_lose_nothing(shared, monkeypatch):
    login(monkeypatch, "ada")
    here = shared.site
    here.stop("mlflow")
    dumps = {name: here.postgres(*DUMP.format(name).split()) for name in DATABASES}
    before, archive = objects(), here.run("bucket", "save").stdout
    here.stop("database")
    here.start("database", "mlflow")
    assert shared.unchanged()

    here.stop("mlflow", "objects")  # moto forgets its objects when it ends
    for name in DATABASES:
        here.postgres("dropdb", "--username=postgres", name)
    here.postgres("dropuser", "--username=postgres", "mlflow")
    here.make_databases()
    here.start("objects")
    assert here.run("bucket").returncode == 0
    assert objects() == {}
    for name, dump in dumps.items():
        here.postgres(*RESTORE.format(name).split(), input=dump)
    assert here.run("bucket", "load", input=archive).returncode == 0
    assert objects() == before
    here.start("mlflow")
    assert shared.unchanged()
    MlflowTracker(here.address, EXPERIMENT)  # who may write is restored too


def test_the_manual_gives_the_commands_that_were_tested():
    manual = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
    for name in DATABASES:
        assert DUMP.format(name) in manual
        assert RESTORE.format(name) in manual
    for words in ("bucket save >", "bucket load <", "server/make_env.py"):
        assert words in manual
