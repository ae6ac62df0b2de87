"""Progress in a notebook is one output that is replaced."""

from __future__ import annotations

import sys
import time
from types import ModuleType, SimpleNamespace

import pytest

from mtlv.api.notebook import progress
from mtlv.events import BatchTrained, EpochEnded, Event, NoteGiven, SuiteStarted, UnitEnded, UnitStarted


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The states of each output of a notebook."""
    found: list[list[str]] = []

    def display(content: str, **_: object) -> SimpleNamespace:
        found.append([content])
        return SimpleNamespace(update=found[-1].append)

    shell, shown = ModuleType("IPython"), ModuleType("IPython.display")
    shell.__dict__["get_ipython"] = lambda: SimpleNamespace(kernel=object())
    shown.__dict__.update(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return found


def test_all_epochs_are_one_output_that_is_empty_at_the_end(
    outputs: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress(None) as call:
        call(SuiteStarted(1, 20))
        call(UnitStarted("STL · <heart>", 1, 2, 20))
        call(BatchTrained("STL · <heart>", 10))
        call(EpochEnded("STL · <heart>", 1, 2, 0.5, {}, 10.0))
        call._live.refresh()  # as it does four times a second
        call(NoteGiven("a note"))
        call(UnitEnded("STL · <heart>", cached=False, documents=20, index=1))
    (states,) = outputs
    assert any("STL · &lt;heart&gt;" in state and "50%" in state and "epoch 2/2" in state for state in states)
    assert all(state.startswith("<pre>") for state in states[1:-1])
    assert (states[0], states[-1]) == ("", "")
    out, err = capsys.readouterr()
    assert out == ""
    assert "a note\n" in err
    assert "50%" not in err


def test_outputs_are_replaced_while_a_unit_trains(outputs: list[list[str]]) -> None:
    with progress(None) as call:
        call(SuiteStarted(1, 20))
        wait_until = time.monotonic() + 10
        while len(outputs[0]) < 3 and time.monotonic() < wait_until:
            time.sleep(0.05)
        assert len(outputs[0]) >= 3


def test_without_a_notebook_lines_are_written(
    outputs: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules["IPython"].__dict__, "get_ipython", lambda: None)
    with progress(None) as call:
        call(SuiteStarted(1, 10))
        call(UnitStarted("STL · <heart>", 1, 1, 10))
        call(BatchTrained("STL · <heart>", 10))
        call(EpochEnded("STL · <heart>", 1, 1, 0.5, {}, 10.0))
    assert not outputs
    assert "STL · <heart>: epoch 1/1, loss 0.5" in capsys.readouterr().err


def test_a_callback_of_the_user_takes_the_place_of_the_display(outputs: list[list[str]]) -> None:
    events: list[Event] = []
    with progress(events.append) as call:
        call(NoteGiven("a note"))
    assert events == [NoteGiven("a note")]
    assert not outputs
