"""Rules that the shared server adds to MLflow 3.17's users and permissions: its `authorization_function`.

- After 10 wrong passwords of a user within 5 minutes, the user is refused until the first is 5 minutes old.
- Experiments keep their artifacts where the server puts them; only the admin names another place.
- A model version is made only of a run or model that the user may read.
- Only the admin lists the users.

`basic_auth.ini` names it; MLflow calls it for each request of its REST API and of artifacts. Runs in MLflow's
image (see docker-compose.yml).
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

ATTEMPTS = 10
SECONDS = 300.0
PROMPTS = ("prompt-template", "dummy-source")  # sources of versions of prompts, which have no artifacts
EXPERIMENT_OF_PATH = re.compile(r"mlflow-artifacts:/+(?:[^/]*/)?(?P<experiment>\d+)/")


class Failures:
    """Times of wrong passwords by user."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def wait(self, user: str) -> float:
        """Return the seconds until a user may try again; 0 if now."""
        with self._lock:
            times = self._recent(user)
            return times[-ATTEMPTS] + SECONDS - time.monotonic() if len(times) >= ATTEMPTS else 0.0

    def add(self, user: str) -> None:
        with self._lock:
            self._times[user] = [*self._recent(user), time.monotonic()]
            if len(self._times) > 10_000:  # of names that nobody has
                self._times = {name: times for name in list(self._times) if (times := self._recent(name))}

    def forget(self, user: str) -> None:
        with self._lock:
            self._times.pop(user, None)

    def _recent(self, user: str) -> list[float]:
        return [at for at in self._times.get(user, ()) if time.monotonic() - at < SECONDS]


FAILURES = Failures()


def authenticate() -> Any:
    """Return the user's authorization, or the response that refuses the request."""
    from flask import Response, request
    from mlflow.server import auth

    login = request.authorization
    user = "" if login is None else str(login.username)
    if wait := FAILURES.wait(user):
        text = f"too many wrong passwords; try again in {wait:.0f} seconds\n"
        return Response(text, 429, {"Retry-After": f"{wait:.0f}"})
    authorization = auth.authenticate_request_basic_auth()
    if isinstance(authorization, Response):
        if login is not None:
            FAILURES.add(user)
        return authorization
    FAILURES.forget(user)
    content = request.get_json(silent=True) if request.method == "POST" else None
    content = content if isinstance(content, dict) else {}
    refusal = refused(request.path, content, Permissions(user))
    return Response(f"{refusal}\n", 403) if refusal else authorization


class Permissions:
    """What a user may do, as MLflow says."""

    def __init__(self, user: str) -> None:
        self.user = user

    def is_admin(self) -> bool:
        from mlflow.server.auth import store

        return bool(store.get_user(self.user).is_admin)

    def can_read_experiment(self, experiment: str) -> bool:
        from mlflow.server import auth

        return self.is_admin() or auth._get_experiment_permission(experiment, self.user).can_read

    def can_read_run(self, run: str) -> bool:
        from mlflow.server.handlers import _get_tracking_store

        return self.can_read_experiment(_get_tracking_store().get_run(run).info.experiment_id)

    def can_read_model(self, model: str) -> bool:
        from mlflow.server.handlers import _get_tracking_store

        return self.can_read_experiment(_get_tracking_store().get_logged_model(model).experiment_id)


def refused(path: str, content: Mapping[str, Any], permissions: Permissions) -> str:
    """Return why a request of a user is refused; empty if it is not."""
    if path.endswith("/users/list") and not permissions.is_admin():
        return "only the admin lists users"
    has_location = path.endswith("/experiments/create") and content.get("artifact_location")
    if has_location and not permissions.is_admin():
        return "leave out `artifact_location`: only the admin chooses it"
    if path.endswith("/model-versions/create") and not all(_sources(content, permissions)):
        return "a model version can be made only of a run or model that you may read"
    return ""


def _sources(content: Mapping[str, Any], permissions: Permissions) -> Iterator[bool]:
    """Yield, for each run or model that a request names, whether the user may read it."""
    source = str(content.get("source") or "")
    if run := content.get("run_id"):
        yield permissions.can_read_run(str(run))
    if model := content.get("model_id"):
        yield permissions.can_read_model(str(model))
    if match := re.match(r"models:/+(m-[^/]+)", source):
        yield permissions.can_read_model(match[1])
    elif match := re.match(r"runs:/+([^/]+)", source):
        yield permissions.can_read_run(match[1])
    elif match := EXPERIMENT_OF_PATH.match(source):
        yield permissions.can_read_experiment(match["experiment"])
    else:
        # MLflow itself checks other registered models, `models:/NAME/VERSION`.
        yield source.startswith("models:/") or source in PROMPTS
