"""What tells a file that is not there from a store that cannot be read."""

from __future__ import annotations

import pytest

from mtlv.tracking.mlflow_reader import _is_missing


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("404 Client Error: NOT FOUND for url: http://h/api/x", True),
        ("API request failed with error code 404 != 200", True),
        ("[Errno 2] No such file or directory: 'x'", True),
        ("500 Server Error for url: http://h/artifacts/1/ab404c0ffee/artifacts/tasks.json", False),
        ("Connection refused", False),
    ],
)
def test_an_id_with_the_digits_404_does_not_make_a_failure_a_missing_file(said: str, missing: bool) -> None:
    assert _is_missing(RuntimeError(said)) is missing
