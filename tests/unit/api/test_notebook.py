"""Progress in a notebook is one output that is replaced."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from mtlv.api.notebook import progress
from mtlv.events import BatchTrained, EpochEnded, NoteGiven, SuiteStarted, UnitEnded, UnitStarted


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


def train(epochs: int) -> None:
    with progress(None) as call:
        call(SuiteStarted(1, 10 * epochs))
        call(UnitStarted("STL · <heart>", 1, epochs, 10 * epochs))
        for epoch in range(epochs):
            call(BatchTrained("STL · <heart>", 10))
            call(EpochEnded("STL · <heart>", epoch + 1, epochs, 0.5, {}, 10.0))
        call(NoteGiven("a note"))
        call(UnitEnded("STL · <heart>", cached=False, documents=10 * epochs, index=1))


def test_all_epochs_are_one_output_that_is_empty_at_the_end(
    outputs: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    train(91)
    (states,) = outputs
    assert any(
        "<progress value=910 max=910></progress> STL · &lt;heart&gt;: 100%" in state for state in states
    )
    assert any("epoch=91/91" in state for state in states)
    assert states[-1] == ""
    assert capsys.readouterr() == ("", "a note\n")


def test_units_in_the_store_are_done_from_the_start(outputs: list[list[str]]) -> None:
    with progress(None) as call:
        call(SuiteStarted(3, 30, {"first": 10, "second": 10}))
        call(UnitEnded("first", cached=True, documents=10, index=1))
        call(UnitStarted("second", 2, 1, 10))  # it is trained again
        call(BatchTrained("second", 5))
        call(EpochEnded("second", 1, 2, 0.5, {}, 10.0))
    ((*_, last),) = [[state for state in states if state] for states in outputs]
    assert "<progress value=15 max=30>" in last


def test_a_terminal_has_a_bar_of_text(
    outputs: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules["IPython"].__dict__, "get_ipython", lambda: None)
    train(3)
    assert not outputs
    assert "STL · <heart>: 100%" in capsys.readouterr().err
