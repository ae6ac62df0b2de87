"""Fonts and files of all figures."""

from __future__ import annotations

import logging
import warnings

import pytest

from mtlv.figures import canvas
from mtlv.figures.per_task import draw_per_task

BEYOND = "\U00012000"  # cuneiform


@pytest.fixture(autouse=True)
def nothing_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canvas, "REPORTED", set())


def drawn(path, *names: str):
    return draw_per_task(names, [0.5] * len(names), [3] * len(names), path, title="Tasks")


def test_a_letter_that_no_font_has_is_logged_once(tmp_path, caplog: pytest.LogCaptureFixture):
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        for _ in range(2):
            drawn(tmp_path / "a.png", "Ещё", BEYOND, BEYOND * 2)
    assert [each.getMessage().split(":")[1] for each in caplog.records] == [
        f" no font of this machine has {BEYOND}"
    ]


def test_other_warnings_are_kept():
    with pytest.warns(UserWarning, match="something else"), canvas.style():
        warnings.warn("something else", UserWarning, stacklevel=1)


def test_a_picture_has_the_same_bytes_every_time(tmp_path):
    first, second = (drawn(tmp_path / name, "a").read_bytes() for name in ("1.png", "2.png"))
    assert first == second
    assert first.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(first) < 100_000
