"""A server that answers and refuses: the message says who, what and the next step, and no password."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mtlv.errors import TrackingError
from mtlv.tracking.mlflow_tracker import MlflowTracker
from mtlv.tracking.refusal import refusal

ANSWERS = {
    "unknown": (401, "You are not authenticated. Please see https://www.mlflow.org/ on how to authenticate."),
    "forbidden": (403, "Permission denied"),
    "host": (403, "Invalid Host header - possible DNS rebinding attack detected"),
    "json": (403, '{"error_code": "PERMISSION_DENIED", "message": "Permission denied"}'),
}
"""What MLflow 3.17.2 with basic authentication answers; the integration test asks a real server."""


@pytest.fixture(scope="module")
def server():
    """Address of a server that answers `/KEY/...` as `ANSWERS` says."""

    class Refuses(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = ANSWERS[self.path.split("/")[1]]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

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
            "does not know `ada` with the password it got; correct MLFLOW_TRACKING_USERNAME and "
            "MLFLOW_TRACKING_PASSWORD.",
        ),
        (
            "forbidden",
            "does not let `ada` do this; set another `experiment`, or ask who manages this one for the "
            "permission EDIT.",
        ),
        (
            "json",
            "does not let `ada` do this; set another `experiment`, or ask who manages this one for the "
            "permission EDIT.",
        ),
        (
            "host",
            "does not answer to the name in this address; let its keeper add `{host}` to its "
            "`--allowed-hosts` (`MTLV_HOSTS` of docker-compose.yml), or use a name that it knows.",
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
    with pytest.raises(TrackingError, match="wants a user and a password; set MLFLOW_TRACKING_USERNAME and"):
        MlflowTracker(f"{server}/unknown", "any")


def test_artifacts_and_addresses_with_a_password(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_USERNAME", raising=False)
    uri = "https://ada:secret@host/mlflow"
    error = refusal(uri, "401 Client Error: Unauthorized for url: https://host/x. Response text: ...")
    assert str(error).startswith("the tracking server `https://***@host/mlflow` does not know `ada`")
    error = refusal(uri, "error code 403 != 200. Response body: 'Invalid Host header'")
    assert "`host` to its `--allowed-hosts`" in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    "said", ["error code 500 != 200", "404 Client Error: Not Found", "key a401 or 403 things", ""]
)
def test_other_failures_are_none_of_its_business(said):
    assert refusal("http://host", said) is None
