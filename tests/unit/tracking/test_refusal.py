"""A server that answers and refuses: the message says who, what and the next step, and no password."""

from __future__ import annotations

import base64
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mtlv.errors import TrackingError
from mtlv.tracking.mlflow_access import refusal
from mtlv.tracking.mlflow_tracker import MlflowTracker

ANSWERS = {
    "unknown": (401, "You are not authenticated. Please see https://www.mlflow.org/ on how to authenticate."),
    "forbidden": (403, "Permission denied"),
    "host": (403, "Invalid Host header - possible DNS rebinding attack detected"),
    "json": (403, '{"error_code": "PERMISSION_DENIED", "message": "Permission denied"}'),
}
"""What MLflow 3.17.2 with basic authentication answers; the integration test asks a real server."""

STRANGE = {
    "bytes": b"\xff\xfe\x00",
    "latin-1": '{"experiment": {"name": "\u00e9"}}'.encode("latin-1"),
    "utf-16": '{"experiment": {"name": "e"}}'.encode("utf-16"),
    "a page": b"<html>Log in</html>",
    "nothing": b"",
    "a list": b"[]",
    "a number": b"3",
    "other fields": b'{"experiment": {"name": {"a": 1}, "tags": 7}}',
    "without end": b"[" * 100_000,
    "a long number": b'{"experiment": {"creation_time": ' + b"9" * 5000 + b"}}",
}
ANSWERS |= {name.replace(" ", "-"): (200, body) for name, body in STRANGE.items()}
ASKED: list[str] = []
"""Whom the last requests came from."""


@pytest.fixture(scope="module")
def server():
    """Address of a server that answers `/KEY/...` as `ANSWERS` says."""

    class Refuses(BaseHTTPRequestHandler):
        def do_GET(self):
            ASKED.append(self.headers.get("Authorization", ""))
            status, body = ANSWERS[self.path.split("/")[1]]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else body.encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refuses) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()


@pytest.fixture
def ada(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "ada")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "not for your eyes")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            "unknown",
            "does not accept `ada` with the given password; correct MLFLOW_TRACKING_USERNAME and "
            "MLFLOW_TRACKING_PASSWORD.",
        ),
        (
            "forbidden",
            "does not allow `ada` to do this; set another `experiment`, or ask its manager for the "
            "permission EDIT.",
        ),
        (
            "json",
            "does not allow `ada` to do this; set another `experiment`, or ask its manager for the "
            "permission EDIT.",
        ),
        (
            "host",
            "does not accept the host name in this address; ask its administrator to add `{host}` to its "
            "`--allowed-hosts` (`MTLV_HOSTS` of docker-compose.yml), or use a host name that it accepts.",
        ),
    ],
)
def test_refusals_of_a_server(server, ada, kind, said):
    with pytest.raises(TrackingError) as caught:
        MlflowTracker(f"{server}/{kind}", "any")
    host = server.removeprefix("http://")
    assert str(caught.value) == f"the tracking server `{server}/{kind}` {said.format(host=host)}"


def test_a_server_that_wants_a_user(server, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_USERNAME", raising=False)
    with pytest.raises(
        TrackingError, match="requires a user and a password; set MLFLOW_TRACKING_USERNAME and"
    ):
        MlflowTracker(f"{server}/unknown", "any")


def test_artifacts_and_addresses_with_a_password(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_USERNAME", raising=False)
    uri = "https://ada:secret@host/mlflow"
    error = refusal(uri, "401 Client Error: Unauthorized for url: https://host/x. Response text: ...")
    assert str(error).startswith("the tracking server `https://***@host/mlflow` does not accept `ada`")
    assert str(error).endswith(
        "correct both in `tracking.uri`, which takes precedence over MLFLOW_TRACKING_USERNAME."
    )
    error = refusal(uri, "error code 403 != 200. Response body: 'Invalid Host header'")
    assert "`host` to its `--allowed-hosts`" in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    "said", ["error code 500 != 200", "404 Client Error: Not Found", "key a401 or 403 things", ""]
)
def test_other_failures_are_none_of_its_business(said):
    assert refusal("http://host", said) is None


@pytest.mark.parametrize("kind", STRANGE)
def test_answers_that_are_none_of_mlflows(server, kind):
    with pytest.raises(TrackingError) as caught:
        MlflowTracker(f"{server}/{kind.replace(' ', '-')}", "any")
    assert str(caught.value).startswith(f"the tracking store `{server}/")
    assert "correct `tracking.uri`" in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("address", "environment", "user", "named"),
    [
        ("bob:pw@", {"USERNAME": "ada", "PASSWORD": "no"}, "bob:pw", "`bob`"),
        ("", {"USERNAME": "ada", "PASSWORD": "no", "TOKEN": "t"}, "ada:no", "`ada`"),
        ("", {"USERNAME": "ada", "TOKEN": "t"}, None, "this user"),
        ("", {"USERNAME": "ada"}, None, "this user"),
    ],
)
def test_of_contradicting_users_the_one_is_named_that_was_sent(
    server, monkeypatch, address, environment, user, named
):
    for name in ("USERNAME", "PASSWORD", "TOKEN"):
        monkeypatch.delenv(f"MLFLOW_TRACKING_{name}", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(f"MLFLOW_TRACKING_{name}", value)
    ASKED.clear()
    with pytest.raises(TrackingError, match=f"does not allow {named} to do this") as caught:
        MlflowTracker(server.replace("://", f"://{address}") + "/forbidden", "any")
    sent = {base64.b64decode(each[6:]).decode() if each.startswith("Basic ") else None for each in ASKED}
    assert sent == {user}
    assert "pw" not in str(caught.value)
