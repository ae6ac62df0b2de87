"""Rules of the shared server that MLflow lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import guard
import pytest


class Rights:
    """Ada reads experiment 1, with run `r1` and model `m-1`; `r2`, `m-2` and experiment 2 are others'."""

    def __init__(self, *, admin: bool = False) -> None:
        self.admin = admin

    def is_admin(self) -> bool:
        return self.admin

    def can_read_experiment(self, experiment: str) -> bool:
        return experiment == "1"

    def can_read_run(self, run: str) -> bool:
        return run == "r1"

    def can_read_model(self, model: str) -> bool:
        return model == "m-1"


@pytest.mark.parametrize(
    ("content", "is_allowed"),
    [
        ({"source": "mlflow-artifacts:/1/r1/artifacts/model", "run_id": "r1"}, True),
        ({"source": "mlflow-artifacts:/2/r2/artifacts/model", "run_id": "r2"}, False),
        ({"source": "mlflow-artifacts:/2/r2/artifacts/model", "run_id": "r1"}, False),
        ({"source": "mlflow-artifacts:/1/r1/artifacts/model", "run_id": "r2"}, False),
        ({"source": "mlflow-artifacts:///2/r2/artifacts/model"}, False),
        ({"source": "mlflow-artifacts://host/2/r2/artifacts/model"}, False),
        ({"source": "runs:/r1/model"}, True),
        ({"source": "runs:/r2/model"}, False),
        ({"source": "models:/m-1"}, True),
        ({"source": "models:/m-2"}, False),
        ({"source": "models:/m-1", "model_id": "m-2"}, False),
        ({"source": "models:/other/3"}, True),
        ({"source": "s3://mlflow/1/r1/artifacts/model"}, False),
        ({"source": "file:///etc"}, False),
        ({"source": "/etc"}, False),
        ({"source": "prompt-template"}, True),
        ({}, False),
    ],
)
def test_a_model_version_is_of_what_its_user_may_read(content: Mapping[str, Any], is_allowed: bool) -> None:
    for path in ("/api/2.0/mlflow/model-versions/create", "/ajax-api/2.0/mlflow/model-versions/create"):
        assert (guard.refused(path, content, Rights()) == "") == is_allowed


def test_only_the_admin_chooses_where_artifacts_are_and_lists_users() -> None:
    create, users = "/api/2.0/mlflow/experiments/create", "/api/2.0/mlflow/users/list"
    for location in ("file:///tmp/x", "s3://other/x", "mlflow-artifacts:/2", "/tmp"):
        assert guard.refused(create, {"artifact_location": location}, Rights())
        assert not guard.refused(create, {"artifact_location": location}, Rights(admin=True))
    assert not guard.refused(create, {"name": "a"}, Rights())
    assert guard.refused(users, {}, Rights())
    assert not guard.refused(users, {}, Rights(admin=True))
    assert not guard.refused("/api/2.0/mlflow/runs/create", {"source": "file:///x"}, Rights())


def test_wrong_passwords_lock_a_user_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(guard.time, "monotonic", lambda: now[0])
    failures = guard.Failures()
    for _ in range(guard.ATTEMPTS - 1):
        failures.add("ada")
        now[0] += 1
    assert failures.wait("ada") == 0
    failures.add("ada")
    assert failures.wait("ada") == guard.SECONDS - guard.ATTEMPTS + 1
    assert failures.wait("bob") == 0
    now[0] += guard.SECONDS - guard.ATTEMPTS + 1
    assert failures.wait("ada") == 0, "the first attempt is old"
    failures.add("ada")
    assert failures.wait("ada") > 0
    failures.forget("ada")
    assert failures.wait("ada") == 0


def test_names_that_nobody_has_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(guard.time, "monotonic", lambda: now[0])
    failures = guard.Failures()
    for number in range(10_001):
        failures.add(f"user {number}")
        now[0] += 1
    assert len(failures._times) <= guard.SECONDS + 1


class Call:
    """A request to `guard.authenticate`, where MLflow knows one user."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        from flask import Flask, Response, request
        from mlflow.server import auth

        self.app = Flask("test")

        def basic() -> Any:
            login = request.authorization
            right = login is not None and (login.username, login.password) == ("ada", "right")
            return login if right else Response("no", 401)

        patch.setattr(auth, "authenticate_request_basic_auth", basic)
        patch.setattr(guard, "FAILURES", guard.Failures())
        patch.setattr(guard, "Permissions", lambda user: Rights())

    def __call__(self, password: str, path: str = "/api/2.0/mlflow/runs/get", **json: Any) -> Any:
        more = {"method": "POST", "json": json} if json else {}
        with self.app.test_request_context(path, auth=("ada", password), **more):
            return guard.authenticate()


def test_mlflow_decides_on_the_password_and_the_rules_on_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call(monkeypatch)
    assert call("right").username == "ada"
    assert call("wrong").status_code == 401
    refused = call("right", "/api/2.0/mlflow/experiments/create", artifact_location="file:///x")
    assert (refused.status_code, "artifact_location" in refused.get_data(as_text=True)) == (403, True)
    for _ in range(guard.ATTEMPTS):
        assert call("wrong").status_code == 401
    locked = call("right")
    assert (locked.status_code, int(locked.headers["Retry-After"]) > 200) == (429, True)
