"""The page of `mtlv ui`: on this machine alone, unless somebody says twice that others may come in."""

from __future__ import annotations

import sqlite3
import subprocess
from pathlib import Path

import pytest

from mtlv.cli import main
from mtlv.errors import TrackingError
from mtlv.tracking.mlflow_server import ServerAddress, serve


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.9.1"])
def test_this_machine_needs_no_password(host: str) -> None:
    assert ServerAddress(5000, host).host == host


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "localhost.example.org", "", "\x1b[2J"]
)
def test_others_are_let_in_only_on_demand(host: str) -> None:
    with pytest.raises(TrackingError, match=r"requires no password.*`ssh -L`.*`--no-auth`") as caught:
        ServerAddress(5000, host)
    assert str(caught.value).isprintable()
    assert ServerAddress(5000, host, open_to_all=True).host == host


def test_addresses_for_a_browser() -> None:
    assert ServerAddress(5001).url == "http://127.0.0.1:5001"
    assert ServerAddress(5001, "0.0.0.0", open_to_all=True).url == "http://127.0.0.1:5001"
    assert ServerAddress(5001, "::1").url == "http://[::1]:5001"


def test_the_command_refuses_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sqlite3.connect("mlflow.db").close()
    started = []
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **rest: started.append(args))
    assert main(["ui", "--host", "0.0.0.0"]) == 2
    assert (
        "`--host 0.0.0.0` allows everyone with access to this machine to read and change the runs"
        in capsys.readouterr().err
    )
    assert not started


class Ended(subprocess.Popen):
    """A server that has ended before it answers."""

    def __init__(self, command: list[str], *, env: dict[str, str], **rest: object) -> None:
        self.asked = (command, env)
        super().__init__(["true"], start_new_session=True)
        self.wait()
        Ended.last = self

    last: Ended


def test_the_stores_password_stands_on_no_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", Ended)
    uri = "postgresql://me:s3cret@db.example.org/runs"
    with (
        pytest.raises(TrackingError, match="did not start"),
        serve(uri, ServerAddress(0), log=tmp_path / "log"),
    ):
        pass
    command, env = Ended.last.asked
    assert "s3cret" not in " ".join(command)
    assert env["MLFLOW_BACKEND_STORE_URI"] == uri
    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert command[command.index("--workers") + 1] == "1"


def test_what_a_failed_server_said_is_told_without_passwords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", Ended)
    log = tmp_path / "log"
    monkeypatch.setattr(
        Path, "read_text", lambda *args, **rest: "no answer from postgresql://me:s3cret@db/runs"
    )
    with pytest.raises(TrackingError) as caught, serve(None, ServerAddress(0), log=log):
        pass
    assert "got no answer from postgresql://***@db/runs" in str(caught.value)


def test_an_address_that_is_not_here(tmp_path: Path) -> None:
    door = ServerAddress(5000, "192.0.2.1", open_to_all=True)  # of no machine: kept for documentation
    with (
        pytest.raises(TrackingError, match=r"port 5000 of 192\.0\.2\.1 cannot be used"),
        serve(None, door, log=tmp_path / "l"),
    ):
        pass
