"""Progress with a terminal and without, the time left, and names that must not drive a terminal."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from mtlv.display.download import DownloadBar
from mtlv.display.suite import Display
from mtlv.display.tables import plain_table, table
from mtlv.events import (
    BatchTrained,
    EpochEnded,
    NoteGiven,
    SuiteStarted,
    UnitEnded,
    UnitFailed,
    UnitResumed,
    UnitStarted,
    UnitTime,
    WarningGiven,
)

EVIL = "a [red]b[/red] \x1b[31mc\nd"
SHOWN = "a [red]b[/red] \\x1b[31mc\\nd"


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def console(*, terminal: bool = False, width: int = 80) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=terminal, width=width, highlight=False, color_system=None
    )


def text(target: Console) -> str:
    assert isinstance(target.file, io.StringIO)
    return target.file.getvalue()


def times(**documents: int) -> dict[str, UnitTime]:
    """Times that are not measured, by documents times epochs, of units of one epoch each."""
    return {name: UnitTime("", 1, count) for name, count in documents.items()}


def run_two_units(display: Display, clock: Clock) -> None:
    """Two units of 200 documents x epochs; the first takes 10 s, the second is halfway after 5 s."""
    two_epochs = {name: UnitTime("", 2, 100.0) for name in ("first", "second", "third")}
    display(SuiteStarted(3, 600, times=two_epochs))
    display(UnitStarted("first", 1, 2, 200))
    display(BatchTrained("first", 100))
    clock.now += 5
    display(EpochEnded("first", 1, 2, 0.6931, {"f1_macro": 0.5}, 20.0))
    display(BatchTrained("first", 100))
    clock.now += 5
    display(EpochEnded("first", 2, 2, 0.35, {"f1_macro": 0.75}, 20.0))
    display(UnitEnded("first", False, 200, 1))
    display(UnitStarted("second", 2, 2, 200))
    display(BatchTrained("second", 100))
    clock.now += 5
    display(EpochEnded("second", 1, 2, 0.5, {}, 20.0))


def test_a_line_per_epoch_without_a_terminal() -> None:
    target, clock = console(), Clock()
    with Display(target, clock=clock) as display:
        run_two_units(display, clock)
    assert text(target).splitlines() == [
        "[1/3] first: epoch 1/2, loss 0.6931, f1_macro 0.500, 20 documents/s, 25 s left",
        "[1/3] first: epoch 2/2, loss 0.3500, f1_macro 0.750, 20 documents/s, 20 s left",
        "[2/3] second: epoch 1/2, loss 0.5000, 20 documents/s, 15 s left",
    ]


def run_two_at_once(display: Display, clock: Clock) -> None:
    """Of four units of 100 documents each, two after 10 s: one done, one halfway; 10 documents/s together."""
    of_two_epochs = {"second": UnitTime("", 2, 50.0)}
    display(SuiteStarted(4, 400, times=times(first=100, third=100, fourth=100) | of_two_epochs, processes=2))
    display(UnitStarted("first", 1, 1, 100))
    display(UnitStarted("second", 2, 2, 100))
    clock.now += 10
    display(BatchTrained("first", 100))
    display(BatchTrained("second", 50))
    display(EpochEnded("second", 1, 2, 0.5, {}, 5.0))


def test_time_left_counts_units_at_once_together() -> None:
    target, clock = console(), Clock()
    with Display(target, clock=clock) as display:
        run_two_at_once(display, clock)
        display(EpochEnded("first", 1, 1, 0.25, {}, 10.0))
        display(UnitEnded("first", False, 100, 1))
        display(UnitStarted("third", 3, 1, 100))
        display(UnitFailed("second"))
        clock.now += 5
        display(BatchTrained("third", 75))
        display(EpochEnded("third", 1, 1, 0.25, {}, 15.0))
    assert text(target).splitlines() == [
        "[2/4] second: epoch 1/2, loss 0.5000, 5 documents/s, 17 s left",
        "[1/4] first: epoch 1/1, loss 0.2500, 10 documents/s, 17 s left",
        "[3/4] third: epoch 1/1, loss 0.2500, 15 documents/s, 10 s left",
    ]


def test_time_left_is_without_the_units_in_the_store() -> None:
    target, clock = console(), Clock()
    with Display(target, clock=clock) as display:
        stored = dict.fromkeys(("stored", "retrained", "last"), 100)
        of_two_epochs = {"retrained": UnitTime("", 2, 50.0)}
        display(SuiteStarted(5, 500, stored, times(new=100, fifth=100, **stored) | of_two_epochs))
        display(UnitStarted("new", 1, 1, 100))
        clock.now += 10
        display(BatchTrained("new", 100))
        display(EpochEnded("new", 1, 1, 0.5, {}, 10.0))  # the fifth unit is left
        display(UnitEnded("new", False, 100, 1))
        display(UnitEnded("stored", True, 100, 2))
        display(UnitStarted("retrained", 3, 1, 100))  # its weights were asked for
        clock.now += 5
        display(BatchTrained("retrained", 50))
        display(EpochEnded("retrained", 1, 2, 0.5, {}, 10.0))  # half of it is left, too
    assert text(target).splitlines() == [
        "[1/5] new: epoch 1/1, loss 0.5000, 10 documents/s, 10 s left",
        "[2/5] stored: taken from the store",
        "[3/5] retrained: epoch 1/2, loss 0.5000, 10 documents/s, 15 s left",
    ]


def test_a_unit_that_begins_anew_is_counted_once() -> None:
    display = Display(console(), clock=Clock())
    run_two_at_once(display, Clock())
    display(UnitStarted("second", 2, 2, 100))
    assert display.progress.done == 100


@pytest.mark.parametrize("width", [40, 100])
def test_units_at_once_have_a_line_each_on_a_terminal(width: int) -> None:
    target, clock = console(terminal=True, width=width), Clock()
    display = Display(target, clock=clock)
    run_two_at_once(display, clock)
    display(EpochEnded("first", 1, 1, 0.25, {"AP": 0.5}, 10.0))
    with target.capture() as captured:
        target.print(display._live.get_renderable())  # type: ignore[union-attr]
    lines = captured.get().splitlines()
    assert all(cell_len(line) <= width for line in lines)
    if width == 100:
        assert lines == [
            "unit 1 of 4  first  epoch 1/1  loss 0.2500  10 documents/s  AP 0.500",
            "unit 2 of 4  second  epoch 2/2  loss 0.5000  5 documents/s",
            "━━━━────────  38%  17 s left  2 units at once  15 documents/s",
        ]


def run_a_stack(display: Display) -> None:
    """Three of four units in a stack: the last ends its first epoch after the first has ended two."""
    display(SuiteStarted(4, 800, times=times(a=100, b=100, c=100, d=100)))
    for number, name in enumerate("abc", start=1):
        display(UnitStarted(name, number, 2, 200, 3))
    display(EpochEnded("a", 1, 2, 0.75, {"AP": 0.5, "accuracy": 0.5}, 30.0))
    display(EpochEnded("b", 1, 2, 0.25, {"AP": 0.25}, 60.0))
    display(EpochEnded("a", 2, 2, 0.5, {"AP": 0.5, "accuracy": 0.5}, 30.0))
    display(EpochEnded("c", 1, 2, 0.0, {"AP": 0.0}, 90.0))


def test_a_stack_has_one_line_per_epoch_when_its_last_unit_has_ended_it() -> None:
    target = console()
    with Display(target, clock=Clock()) as display:
        run_a_stack(display)
        display(UnitEnded("a", False, 200, 1))
        display(UnitFailed("b"))
        display(EpochEnded("c", 2, 2, 0.125, {"AP": 0.75}, 90.0))
    assert [line.partition(" documents/s")[0] for line in text(target).splitlines()] == [
        "[3/4] 3 models: epoch 1/2, loss 0.2500, AP 0.250, 60",
        "[3/4] c: epoch 2/2, loss 0.1250, AP 0.750, 90",
    ]


def test_a_stack_is_shown_as_one_on_a_terminal() -> None:
    target = console(terminal=True, width=100)
    display = Display(target, clock=Clock())
    run_a_stack(display)
    first, second = map(str, display.__rich__().renderables)
    assert first == "3 models at once  a, b, c"
    assert second.endswith("epoch 2/2  loss 0.2500  60 documents/s  AP 0.250")


def resumed() -> tuple[Display, Console, Clock]:
    """Of two units of 10 epochs of 100 documents the first goes on at 760; it has loaded for 20 s."""
    target, clock = console(), Clock()
    display = Display(target, clock=clock)
    display(SuiteStarted(2, 2000, times={name: UnitTime("", 10, 100.0) for name in ("first", "second")}))
    display(UnitStarted("first", 1, 10, 1000))
    clock.now += 20
    display(UnitResumed("first", 760))
    return display, target, clock


def test_time_left_after_a_resume_is_that_of_whole_epochs() -> None:
    display, target, clock = resumed()
    assert display._left() == ""
    display(BatchTrained("first", 16))
    assert display._left() == "", "one batch tells no speed"
    display(BatchTrained("first", 24))
    clock.now += 15  # of these most is validation
    display(EpochEnded("first", 8, 10, 0.5, {}, 20.0))
    assert "7 min 30 s left" in text(target), "1,200 documents; 40 took 15 s"
    display(BatchTrained("first", 100))
    clock.now += 6
    display(EpochEnded("first", 9, 10, 0.5, {}, 20.0))
    assert text(target).splitlines()[-1].endswith("2 min 45 s left"), "1,100 documents; 140 took 21 s"


@pytest.mark.parametrize("terminal", [False, True])
def test_a_resume_tells_its_epoch_and_the_time_left_at_once(terminal: bool) -> None:
    target = console(terminal=terminal)
    display = Display(target)
    display(SuiteStarted(2, 2000, times={name: UnitTime("", 10, 100.0) for name in ("first", "second")}))
    display(UnitStarted("first", 1, 10, 1000))
    display(UnitResumed("first", 760, 7, 20.0))
    shown = "\n".join(map(str, display.__rich__().renderables)) if terminal else text(target)
    assert "1 min 02 s left" in shown, "1,240 documents, 20 a second"
    assert "epoch 8/10" in shown


def test_a_resumed_unit_that_begins_anew_is_counted_once() -> None:
    display, _, _ = resumed()
    display(BatchTrained("first", 40))
    display(UnitStarted("first", 1, 10, 1000))
    assert display.progress.done == 0


def test_units_from_the_store_count_as_done_but_not_as_speed() -> None:
    target, clock = console(), Clock()
    display = Display(target, clock=clock)
    display(SuiteStarted(3, 600, times=times(found=200, second=200, third=200)))
    display(UnitEnded("found", True, 200, 1))
    display(UnitStarted("second", 2, 1, 200))
    display(BatchTrained("second", 200))
    clock.now += 10
    display(EpochEnded("second", 1, 1, 0.1, {}, 20.0))
    display(UnitEnded("second", False, 200, 2))
    display(UnitEnded("third", True, 200, 3))
    assert text(target).splitlines() == [
        "[1/3] found: taken from the store",
        "[2/3] second: epoch 1/1, loss 0.1000, 20 documents/s, 10 s left",
        "[3/3] third: taken from the store",
    ]
    assert display.progress.done == 600


def test_a_unit_from_the_store_has_its_own_number_whatever_started_last() -> None:
    target = console()
    display = Display(target, clock=Clock())
    display(SuiteStarted(3, 600))
    display(UnitStarted("third", 3, 1, 200))
    display(UnitEnded("second", True, 200, 2))
    display(UnitEnded("third", False, 200, 3))
    assert text(target).splitlines() == ["[2/3] second: taken from the store"]


def test_batches_that_are_not_told_of_are_made_up_for_at_the_end() -> None:
    display = Display(console(), clock=Clock())
    display(SuiteStarted(1, 200))
    display(UnitStarted("a", 1, 1, 200))
    display(BatchTrained("a", 150))
    display(UnitEnded("a", False, 200, 1))
    assert display.progress.done == 200


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_live_lines_fit_the_terminal(width: int) -> None:
    target, clock = console(terminal=True, width=width), Clock()
    display = Display(target, clock=clock)
    run_two_units(display, clock)
    with target.capture() as captured:
        target.print(display._live.get_renderable())  # type: ignore[union-attr]
    lines = captured.get().splitlines()
    assert len(lines) == 2
    assert all(cell_len(line) <= width for line in lines)
    assert lines[0].startswith("unit 2 of 3  second")
    if width >= 80:
        assert lines[1] == "━━━━━━──────  50%  15 s left  epoch 2/2  loss 0.5000  20 documents/s"


def test_the_live_line_says_what_goes_on_before_the_first_unit() -> None:
    target = console(terminal=True)
    with Display(target):
        pass
    assert "preparing ..." in text(target)


def test_a_finished_unit_leaves_a_line_on_a_terminal() -> None:
    target, clock = console(terminal=True), Clock()
    with Display(target, clock=clock) as display:
        run_two_units(display, clock)
    assert "[1/3] first: loss 0.3500, f1_macro 0.750, 10 s" in text(target)


def test_names_are_shown_and_not_obeyed() -> None:
    target = console()
    display = Display(target, clock=Clock())
    display(SuiteStarted(1, 10))
    display(UnitStarted(EVIL, 1, 1, 10))
    display(EpochEnded(EVIL, 1, 1, 0.5, {EVIL: 0.5}, 1.0))
    display(UnitEnded(EVIL, True, 10, 1))
    display(NoteGiven(EVIL))
    display(WarningGiven(EVIL))
    table(target, ["run", EVIL], [[EVIL, "1"]], title=EVIL)
    assert "\x1b" not in text(target)
    assert all(SHOWN in line for line in text(target).splitlines())


def test_a_table_is_whole_in_a_file_and_folds_by_rows_on_a_narrow_terminal() -> None:
    header = ["run", "F1 macro", "training s"]
    rows = [["gmtl · k=5 · label_description · minilm", "0.91", "12.0"], ["肺炎", "0.8", "1.0"]]
    wide = console(width=20)
    table(wide, header, rows)
    assert text(wide).splitlines() == [
        "run                                      F1 macro  training s",
        "gmtl · k=5 · label_description · minilm      0.91        12.0",
        "肺炎                                          0.8         1.0",
    ]
    narrow = console(terminal=True, width=45)
    table(narrow, header, rows)
    assert text(narrow).splitlines() == [
        "  F1 macro  training s",
        "gmtl · k=5 · label_description · minilm",
        "      0.91        12.0",
        "肺炎",
        "       0.8         1.0",
    ]
    assert plain_table(["a", "b"], []) == ["a  b"]


def test_a_download_tells_each_tenth_once() -> None:
    target = console()
    with DownloadBar(target, "openi") as download:
        for done in range(0, 1_000_001, 50_000):
            download.update(done, 1_000_000)
    lines = text(target).splitlines()
    assert len(lines) == 11
    assert lines[0] == "openi: 0.0 of 1.0 MB"
    assert lines[-1] == "openi: 1.0 of 1.0 MB"
    unknown = console()
    with DownloadBar(unknown, "x") as download:
        download.update(5_000_000, None)
    assert text(unknown) == "x: 5.0 MB\n"
