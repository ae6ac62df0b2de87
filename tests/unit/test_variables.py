"""A variable is set for a while, and is then what it was, whatever happens."""

from __future__ import annotations

import os

import pytest

from mtlv.variables import variable

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
