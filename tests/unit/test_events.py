"""Events reach every callback, in order, and travel between processes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import get_args

import pytest
from listening import METHODS
from rich.console import Console

from mtlv import events
from mtlv.display.suite import Display
from mtlv.store.progress import SuiteProgress, SuiteState, UnitState

EACH = (
    events.SuiteStarted(2, 10),
    events.UnitPlaced("u", "host/1a2b3c"),
    events.UnitStarted("u", 1, 2, 10),
    events.UnitResumed("u", 5),
    events.BatchTrained("u", 8),
    events.EpochEnded("u", 1, 2, 0.5, {"AP": 0.1}, 9.0),
    events.UnitEnded("u", False, 10, 1),
    events.UnitFailed("u"),
    events.NoteGiven("n"),
    events.WarningGiven("w"),
)


def test_there_is_one_of_each() -> None:
    assert {type(event) for event in EACH} == set(get_args(events.Event)) == set(METHODS)


@pytest.mark.parametrize("event", EACH, ids=lambda event: type(event).__name__)
def test_together_calls_all_in_their_order(event: events.Event) -> None:
    heard: list[tuple[int, events.Event]] = []
    events.together(*(lambda got, n=n: heard.append((n, got)) for n in range(3)))(event)
    assert heard == [(0, event), (1, event), (2, event)]
    assert pickle.loads(pickle.dumps(event)) == event


def test_the_display_and_the_status_file_take_every_event(tmp_path: Path) -> None:
    state = SuiteState("e", "c.yml", units=[UnitState("key", "u", "m")])
    with Display(Console(quiet=True)) as display, SuiteProgress(tmp_path, state) as progress:
        for event in EACH:
            events.together(display, progress)(event)


def test_a_warner_gives_warnings_and_a_noter_notes() -> None:
    heard: list[events.Event] = []
    events.warner(heard.append)("careful")
    events.noter(heard.append)("by the way")
    assert heard == [events.WarningGiven("careful"), events.NoteGiven("by the way")]
