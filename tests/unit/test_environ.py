"""A variable is set for a while, and is then what it was, whatever happens."""

from __future__ import annotations

import os

import pytest

from mtlv import environ
from mtlv.cli import main
from mtlv.environ import SPIN_COUNT, let_waiting_threads_sleep, variable

NAME = "MTLV_TEST_VARIABLE"


@pytest.mark.parametrize("before", [None, "", "old"])
@pytest.mark.parametrize("fails", [False, True])
def test_it_is_what_it_was(before: str | None, fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if before is None:
        monkeypatch.delenv(NAME, raising=False)
    else:
        monkeypatch.setenv(NAME, before)
    try:
        with variable(NAME, "new"):
            assert os.environ[NAME] == "new"
            if fails:
                raise ValueError
    except ValueError:
        assert fails
    assert os.environ.get(NAME) == before


WAITING = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


@pytest.mark.parametrize(
    ("load", "given", "expected"),
    [
        (4.0, {}, (SPIN_COUNT, None)),
        (9.0, {}, (SPIN_COUNT, None)),
        (3.9, {}, (None, None)),
        (9.0, {"GOMP_SPINCOUNT": "7"}, ("7", None)),
        (0.0, {"GOMP_SPINCOUNT": "7"}, ("7", None)),
        (9.0, {"OMP_WAIT_POLICY": "active"}, (None, "active")),
    ],
)
def test_waiting_threads_sleep_on_a_busy_machine_unless_the_user_says_otherwise(
    load: float,
    given: dict[str, str],
    expected: tuple[str | None, str | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(environ, "cores", lambda: 8)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 20.0))
    for name in WAITING:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    let_waiting_threads_sleep()
    assert tuple(os.environ.get(name) for name in WAITING) == expected


def test_the_command_says_so_before_it_does_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in WAITING:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getloadavg", lambda: (1000.0, 1000.0, 1000.0))
    assert main(["check", "no-such-config.yml"]) == 2
    assert os.environ["GOMP_SPINCOUNT"] == SPIN_COUNT


def test_where_the_system_knows_no_load_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in WAITING:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delattr(os, "getloadavg")
    let_waiting_threads_sleep()
    assert "GOMP_SPINCOUNT" not in os.environ
